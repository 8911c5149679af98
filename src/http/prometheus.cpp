#include "http/prometheus.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "model/metric.h"

namespace assay {
namespace {

constexpr double kMebibyte = 1024 * 1024;
/// Some values are read once a minute.
constexpr Nanos kFresh = std::chrono::seconds(150);

struct DcgmName {
  std::string_view metric;
  std::string_view name;
  std::string_view type;
  double scale;
  std::string_view help;
};

/// In dcgm-exporter's units: percent, MiB, mJ.
constexpr std::array kDcgmNames = {
    DcgmName{"gpu.util", "DCGM_FI_DEV_GPU_UTIL", "gauge", 100, "GPU utilization (in %)."},
    DcgmName{"gpu.memory_util", "DCGM_FI_DEV_MEM_COPY_UTIL", "gauge", 100, "Memory utilization (in %)."},
    DcgmName{"gpu.memory_used_bytes", "DCGM_FI_DEV_FB_USED", "gauge", 1 / kMebibyte,
             "Framebuffer memory used (in MiB)."},
    DcgmName{"gpu.memory_total_bytes", "DCGM_FI_DEV_FB_TOTAL", "gauge", 1 / kMebibyte, "Framebuffer memory (in MiB)."},
    DcgmName{"gpu.memory_reserved_bytes", "DCGM_FI_DEV_FB_RESERVED", "gauge", 1 / kMebibyte,
             "Framebuffer memory reserved (in MiB)."},
    DcgmName{"gpu.temperature_c", "DCGM_FI_DEV_GPU_TEMP", "gauge", 1, "GPU temperature (in C)."},
    DcgmName{"gpu.memory_temperature_c", "DCGM_FI_DEV_MEMORY_TEMP", "gauge", 1, "Memory temperature (in C)."},
    DcgmName{"gpu.power_w", "DCGM_FI_DEV_POWER_USAGE", "gauge", 1, "Power draw (in W)."},
    DcgmName{"gpu.power_limit_w", "DCGM_FI_DEV_POWER_MGMT_LIMIT", "gauge", 1, "Power limit (in W)."},
    DcgmName{"gpu.energy_total_j", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", 1000,
             "Total energy consumption since boot (in mJ)."},
    DcgmName{"gpu.sm_clock_mhz", "DCGM_FI_DEV_SM_CLOCK", "gauge", 1, "SM clock frequency (in MHz)."},
    DcgmName{"gpu.memory_clock_mhz", "DCGM_FI_DEV_MEM_CLOCK", "gauge", 1, "Memory clock frequency (in MHz)."},
    DcgmName{"gpu.pcie_replays", "DCGM_FI_DEV_PCIE_REPLAY_COUNTER", "counter", 1, "Total number of PCIe retries."},
    DcgmName{"gpu.ecc_corrected", "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL", "counter", 1, "Corrected memory errors."},
    DcgmName{"gpu.ecc_uncorrected", "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL", "counter", 1, "Uncorrected memory errors."},
    DcgmName{"gpu.remapped_rows_corrected", "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS", "counter", 1,
             "Remapped rows for correctable errors."},
    DcgmName{"gpu.remapped_rows_uncorrected", "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS", "counter", 1,
             "Remapped rows for uncorrectable errors."},
    DcgmName{"gpu.row_remap_failed", "DCGM_FI_DEV_ROW_REMAP_FAILURE", "gauge", 1,
             "Whether remapping of rows has failed."},
    DcgmName{"gpu.sm_active", "DCGM_FI_PROF_SM_ACTIVE", "gauge", 1, "Ratio of cycles an SM has at least 1 warp."},
    DcgmName{"gpu.sm_occupancy", "DCGM_FI_PROF_SM_OCCUPANCY", "gauge", 1, "Ratio of resident warps on an SM."},
    DcgmName{"gpu.tensor_active", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "gauge", 1,
             "Ratio of cycles the tensor pipe is active."},
    DcgmName{"gpu.dram_active", "DCGM_FI_PROF_DRAM_ACTIVE", "gauge", 1,
             "Ratio of cycles the memory interface is active."},
    DcgmName{"gpu.fp64_active", "DCGM_FI_PROF_PIPE_FP64_ACTIVE", "gauge", 1,
             "Ratio of cycles the fp64 pipe is active."},
    DcgmName{"gpu.fp32_active", "DCGM_FI_PROF_PIPE_FP32_ACTIVE", "gauge", 1,
             "Ratio of cycles the fp32 pipe is active."},
    DcgmName{"gpu.fp16_active", "DCGM_FI_PROF_PIPE_FP16_ACTIVE", "gauge", 1,
             "Ratio of cycles the fp16 pipe is active."},
    DcgmName{"gpu.pcie_receive_bytes_per_second", "DCGM_FI_PROF_PCIE_RX_BYTES", "gauge", 1,
             "Bytes received over PCIe per second."},
    DcgmName{"gpu.pcie_transmit_bytes_per_second", "DCGM_FI_PROF_PCIE_TX_BYTES", "gauge", 1,
             "Bytes sent over PCIe per second."},
    DcgmName{"gpu.nvlink_receive_bytes_per_second", "DCGM_FI_PROF_NVLINK_RX_BYTES", "gauge", 1,
             "Bytes received over NVLink per second."},
    DcgmName{"gpu.nvlink_transmit_bytes_per_second", "DCGM_FI_PROF_NVLINK_TX_BYTES", "gauge", 1,
             "Bytes sent over NVLink per second."},
};

void put_label_value(std::string& out, std::string_view value) {
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

void put_label(std::string& out, std::string_view name, std::string_view value) {
  if (out.back() != '{') out += ',';
  fmt::format_to(std::back_inserter(out), "{}=\"", name);
  put_label_value(out, value);
  out += '"';
}

/// Letters, digits and '_' only, and no digit at the start.
std::string plain_name(std::string_view name) {
  std::string plain(name);
  if (!plain.empty() && plain[0] >= '0' && plain[0] <= '9') plain.insert(0, 1, '_');
  for (char& c : plain) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits) c = '_';
  }
  return plain;
}

/// One metric with its lines: all lines of a metric must stand together.
struct Family {
  std::string type = "gauge";
  std::string help;
  std::string lines;
};

void put_value(std::string& lines, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(lines), "}} {}\n", value);
  } else {
    lines += std::isnan(value) ? "} NaN\n" : value > 0 ? "} +Inf\n" : "} -Inf\n";
  }
}

/// What the leader says of itself.
const std::set<std::string, std::less<>> kOwnNames = {
    "assay_node_up", "assay_samples_total", "assay_samples_refused_total", "assay_batches_total",
    "assay_series",  "assay_head_bytes",    "assay_live_clients"};

using DevicesById = std::map<std::string, const NodeRecord::Device*, std::less<>>;

void put_gpu_labels(std::string& lines, const NodeRecord& node, const DevicesById& devices, const std::string& gpu) {
  const auto device = devices.find(gpu);
  const auto fact = [&](const char* name) -> std::string_view {
    if (device == devices.end()) return {};
    const auto found = device->second->facts.find(name);
    return found == device->second->facts.end() ? std::string_view() : std::string_view(found->second);
  };
  put_label(lines, "gpu", fact("index"));
  put_label(lines, "UUID", gpu);
  put_label(lines, "pci_bus_id", fact("pci_bus_id"));
  put_label(lines, "device", fmt::format("nvidia{}", fact("index")));
  put_label(lines, "modelName", fact("name"));
  put_label(lines, "Hostname", node.name);
}

void put_live_value(std::map<std::string, Family>& families, const NodeRecord& node, const DevicesById& devices,
                    const LiveValue& live) {
  const SeriesKey& key = live.series.key;
  const auto gpu = key.labels.find("gpu");
  if (gpu != key.labels.end()) {
    for (const auto& known : kDcgmNames) {
      if (known.metric != key.name) continue;
      Family& family = families[std::string(known.name)];
      family.type = known.type;
      family.help = known.help;
      family.lines += fmt::format("{}{{", known.name);
      put_gpu_labels(family.lines, node, devices, gpu->second);
      put_value(family.lines, live.value * known.scale);
      return;
    }
  }
  const std::string name = "assay_" + plain_name(key.name);
  // A metric of an agent must not stand among what the leader says of itself.
  if (kOwnNames.contains(name)) return;
  Family& family = families[name];
  if (const auto* info = find_metric(key.name)) family.help = fmt::format("{} ({}).", info->description, info->unit);
  family.lines += name + '{';
  std::set<std::string> labels;
  for (const auto& [label, value] : key.labels) {
    const std::string plain = plain_name(label);
    if (labels.insert(plain).second) put_label(family.lines, plain, value);
  }
  put_value(family.lines, live.value);
}

/// Each fault counted, where dcgm-exporter shows the number of the last one for ever.
void put_xids(std::map<std::string, Family>& families, const NodeStatus& node, const DevicesById& devices) {
  for (const auto& [fault, count] : node.xids) {
    Family& family = families["DCGM_FI_DEV_XID_ERRORS"];
    family.type = "counter";
    family.help = "XID errors, counted by number since the leader started.";
    family.lines += "DCGM_FI_DEV_XID_ERRORS{";
    put_gpu_labels(family.lines, node.record, devices, fault.first);
    put_label(family.lines, "xid", fmt::format("{}", fault.second));
    put_value(family.lines, static_cast<double>(count));
  }
}

void put_own(std::map<std::string, Family>& families, const json::object& status) {
  const auto put = [&](const char* name, const char* type, const char* field, const char* help) {
    families[name] = {
        .type = type, .help = help, .lines = fmt::format("{} {}\n", name, json::serialize(status.at(field)))};
  };
  put("assay_samples_total", "counter", "samples", "Samples stored since the leader started.");
  put("assay_samples_refused_total", "counter", "samples_refused", "Samples that were too old or from the future.");
  put("assay_batches_total", "counter", "batches", "Batches taken since the leader started.");
  put("assay_series", "gauge", "series", "Series in the store.");
  put("assay_head_bytes", "gauge", "head_bytes", "Memory for points that are not in chunks yet.");
  put("assay_live_clients", "gauge", "live_clients", "Clients of the live stream.");
}

}  // namespace

std::string prometheus_text(Leader& leader) {
  std::map<std::string, Family> families;
  const SteadyTime now = leader.clock().now();
  const std::int64_t oldest = (leader.clock().wall() - kFresh).time_since_epoch().count();
  families["assay_node_up"].help = "1 while the node is heard of, else 0.";
  for (const auto& node : leader.nodes().all()) {
    const NodeStatus status = node->status(now);
    const bool up = status.state != NodeState::offline;
    std::string& lines = families["assay_node_up"].lines;
    lines += "assay_node_up{";
    put_label(lines, "node", status.record.name);
    put_label(lines, "simulated", status.record.simulated ? "true" : "false");
    put_value(lines, up ? 1 : 0);
    if (!up) continue;
    DevicesById devices;
    for (const auto& device : status.record.devices) devices[device.id] = &device;
    put_xids(families, status, devices);
    node->for_each_value(0, [&](const LiveValue& live) {
      if (live.time_ns >= oldest) put_live_value(families, status.record, devices, live);
    });
  }
  put_own(families, leader.status());
  std::string text;
  for (const auto& [name, family] : families) {
    if (!family.help.empty()) text += fmt::format("# HELP {} {}\n", name, family.help);
    text += fmt::format("# TYPE {} {}\n", name, family.type);
    text += family.lines;
  }
  return text;
}

}  // namespace assay
