#include "analysis/device_catalogue.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace assay {
namespace {

using Kind = DeviceInfo::Kind;
constexpr std::nullopt_t kUnstated = std::nullopt;

// From the vendors' data sheets and product briefs. Where two of them contradict each other (the T4's bandwidth is 300
// in one, 320 in the other), the figure is left out.
constexpr std::array kDevices = {
    // kind, name, architecture, memory, FP32, FP16, bandwidth, power, cloud, reported
    DeviceInfo{Kind::gpu, "NVIDIA P100 SXM2 16 GB", "Pascal", 16, 10.6, 21.2, 732, 300, "", "Tesla P100-SXM2-16GB"},
    DeviceInfo{Kind::gpu, "NVIDIA V100 SXM2 16 GB", "Volta", 16, 15.7, 125, 900, 300, "AWS p3", "Tesla V100-SXM2-16GB"},
    DeviceInfo{Kind::gpu, "NVIDIA V100 SXM2 32 GB", "Volta", 32, 15.7, 125, 900, 300, "AWS p3dn.24xlarge",
               "Tesla V100-SXM2-32GB"},
    DeviceInfo{Kind::gpu, "NVIDIA V100 PCIe 16 GB", "Volta", 16, 14, 112, 900, 250, "", "Tesla V100-PCIE-16GB"},
    DeviceInfo{Kind::gpu, "NVIDIA V100 PCIe 32 GB", "Volta", 32, 14, 112, 900, 250, "", "Tesla V100-PCIE-32GB"},
    DeviceInfo{Kind::gpu, "NVIDIA T4", "Turing", 16, 8.1, 65, kUnstated, 70, "AWS g4dn, Google Cloud n1 with T4",
               "Tesla T4|NVIDIA T4"},
    DeviceInfo{Kind::gpu, "NVIDIA A100 40 GB SXM", "Ampere", 40, 19.5, 312, 1555, 400,
               "AWS p4d.24xlarge, Google Cloud a2-highgpu, Azure ND A100 v4", "NVIDIA A100-SXM4-40GB|A100-SXM4-40GB"},
    DeviceInfo{Kind::gpu, "NVIDIA A100 40 GB PCIe", "Ampere", 40, 19.5, 312, 1555, 250, "",
               "NVIDIA A100-PCIE-40GB|A100-PCIE-40GB"},
    DeviceInfo{Kind::gpu, "NVIDIA A100 80 GB SXM", "Ampere", 80, 19.5, 312, 2039, 400,
               "AWS p4de.24xlarge, Google Cloud a2-ultragpu, Azure NDm A100 v4",
               "NVIDIA A100-SXM4-80GB|A100-SXM4-80GB"},
    DeviceInfo{Kind::gpu, "NVIDIA A100 80 GB PCIe", "Ampere", 80, 19.5, 312, 1935, 300, "Azure NC A100 v4",
               "NVIDIA A100 80GB PCIe"},
    DeviceInfo{Kind::gpu, "NVIDIA A10", "Ampere", 24, 31.2, 125, 600, 150, "Azure NVadsA10 v5", "NVIDIA A10"},
    DeviceInfo{Kind::gpu, "NVIDIA A30", "Ampere", 24, 10.3, 165, 933, 165, "", "NVIDIA A30"},
    DeviceInfo{Kind::gpu, "NVIDIA A40", "Ampere", 48, 37.4, 149.7, 696, 300, "", "NVIDIA A40"},
    DeviceInfo{Kind::gpu, "NVIDIA RTX A6000", "Ampere", 48, 38.7, kUnstated, 768, 300, "", "NVIDIA RTX A6000"},
    DeviceInfo{Kind::gpu, "NVIDIA GeForce RTX 3090", "Ampere", 24, 35.6, 71, 936, 350, "", "NVIDIA GeForce RTX 3090"},
    DeviceInfo{Kind::gpu, "NVIDIA L4", "Ada Lovelace", 24, 30.3, 121, 300, 72, "AWS g6, Google Cloud g2-standard",
               "NVIDIA L4"},
    DeviceInfo{Kind::gpu, "NVIDIA L40", "Ada Lovelace", 48, 90.5, 181.05, 864, 300, "", "NVIDIA L40"},
    DeviceInfo{Kind::gpu, "NVIDIA L40S", "Ada Lovelace", 48, 91.6, 362.05, 864, 350, "AWS g6e", "NVIDIA L40S"},
    DeviceInfo{Kind::gpu, "NVIDIA RTX 6000 Ada", "Ada Lovelace", 48, 91.1, kUnstated, 960, 300, "",
               "NVIDIA RTX 6000 Ada Generation"},
    DeviceInfo{Kind::gpu, "NVIDIA GeForce RTX 4090", "Ada Lovelace", 24, 82.6, 165.2, 1008, 450, "",
               "NVIDIA GeForce RTX 4090"},
    DeviceInfo{Kind::gpu, "NVIDIA H100 80 GB SXM", "Hopper", 80, 67, 989.4, 3350, 700,
               "AWS p5.48xlarge, Google Cloud a3-highgpu-8g, Azure ND H100 v5", "NVIDIA H100 80GB HBM3"},
    DeviceInfo{Kind::gpu, "NVIDIA H100 80 GB PCIe", "Hopper", 80, 51, 756, 2000, 350, "", "NVIDIA H100 PCIe"},
    DeviceInfo{Kind::gpu, "NVIDIA H100 NVL", "Hopper", 94, 60, 835, 3900, kUnstated, "Azure NCads H100 v5",
               "NVIDIA H100 NVL"},
    DeviceInfo{Kind::gpu, "NVIDIA H200 SXM", "Hopper", 141, 67, 989.4, 4800, 700,
               "AWS p5e and p5en, Google Cloud a3-ultragpu-8g, Azure ND H200 v5", "NVIDIA H200"},
    DeviceInfo{Kind::gpu, "AMD Instinct MI210", "CDNA 2", 64, 22.6, 181, 1638, 300, "", "AMD Instinct MI210"},
    DeviceInfo{Kind::gpu, "AMD Instinct MI250X", "CDNA 2", 128, 47.9, 383, 3277, 560, "", "AMD Instinct MI250X"},
    DeviceInfo{Kind::gpu, "AMD Instinct MI300X", "CDNA 3", 192, 163.4, 1307.4, 5300, 750, "Azure ND MI300X v5",
               "AMD Instinct MI300X|AMD Instinct MI300X OAM"},

    // Bandwidth of one socket: channels × 8 bytes × transfers. Peaks depend on clocks that vendors do not promise.
    DeviceInfo{Kind::cpu, "Intel Xeon Platinum 8380", "Ice Lake", kUnstated, kUnstated, kUnstated, 204.8, 270, "",
               "Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz"},
    DeviceInfo{Kind::cpu, "Intel Xeon Platinum 8480+", "Sapphire Rapids", kUnstated, kUnstated, kUnstated, 307.2, 350,
               "", "Intel(R) Xeon(R) Platinum 8480+"},
    DeviceInfo{Kind::cpu, "AMD EPYC 7763", "Zen 3", kUnstated, kUnstated, kUnstated, 204.8, 280, "",
               "AMD EPYC 7763 64-Core Processor"},
    DeviceInfo{Kind::cpu, "AMD EPYC 9654", "Zen 4", kUnstated, kUnstated, kUnstated, 460.8, 360, "",
               "AMD EPYC 9654 96-Core Processor"},
};

std::string normalised(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (!std::isspace(static_cast<unsigned char>(c))) {
      plain.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
  }
  return plain;
}

/// Whether one of the names between the bars is `wanted`.
bool lists(std::string_view names, const std::string& wanted) {
  while (!names.empty()) {
    const std::size_t bar = names.find('|');
    if (normalised(names.substr(0, bar)) == wanted) return true;
    if (bar == std::string_view::npos) break;
    names.remove_prefix(bar + 1);
  }
  return false;
}

}  // namespace

std::span<const DeviceInfo> device_catalogue() { return kDevices; }

const DeviceInfo* find_device(std::string_view reported_name) {
  const std::string wanted = normalised(reported_name);
  if (wanted.empty()) return nullptr;
  const auto found = std::find_if(kDevices.begin(), kDevices.end(),
                                  [&](const DeviceInfo& device) { return lists(device.reported, wanted); });
  return found == kDevices.end() ? nullptr : &*found;
}

}  // namespace assay
