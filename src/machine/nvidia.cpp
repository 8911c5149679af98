#include "machine/nvidia.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "machine/facts.h"

namespace assay {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;

bool is_absent(std::string_view field) { return field.empty() || field.front() == '[' || field == "N/A"; }

std::optional<std::int64_t> number_field(std::string_view field) {
  return is_absent(field) ? std::nullopt : whole_number(field);
}

std::string_view field_at(const std::vector<std::string_view>& fields, std::size_t index) {
  return index < fields.size() ? trim(fields[index]) : std::string_view();
}

bool is_uuid(std::string_view text) { return text.starts_with("GPU-") || text.starts_with("MIG-"); }

}  // namespace

std::vector<SmiGpu> gpus_from(std::string_view csv) {
  std::vector<SmiGpu> gpus;
  for (const auto line : split(csv, '\n')) {
    const auto fields = split(line, ',');
    if (!is_uuid(field_at(fields, 0))) continue;
    SmiGpu gpu;
    gpu.info.uuid = field_at(fields, 0);
    if (!is_absent(field_at(fields, 1))) gpu.info.name = field_at(fields, 1);
    gpu.info.memory_bytes = number_field(field_at(fields, 2)).value_or(0) * kMebibyte;
    if (!is_absent(field_at(fields, 3))) gpu.driver = field_at(fields, 3);
    if (const auto mode = field_at(fields, 4); !is_absent(mode)) gpu.persistence = mode == "Enabled";
    gpu.uncorrected_errors = number_field(field_at(fields, 5));
    gpu.temperature_c = number_field(field_at(fields, 6));
    gpu.utilization_percent = number_field(field_at(fields, 7));
    gpus.push_back(std::move(gpu));
  }
  return gpus;
}

std::vector<SmiProcess> gpu_processes_from(std::string_view csv) {
  std::vector<SmiProcess> processes;
  for (const auto line : split(csv, '\n')) {
    // The name is a command line and may hold commas, so it is what lies between the second and the last one.
    const auto first = line.find(',');
    const auto second = first == std::string_view::npos ? first : line.find(',', first + 1);
    const auto last = line.rfind(',');
    if (second == std::string_view::npos || last == second || !is_uuid(trim(line))) continue;
    const auto pid = whole_number(trim(line.substr(first + 1, second - first - 1)));
    if (!pid) continue;
    SmiProcess process{.gpu_uuid = std::string(trim(line.substr(0, first))), .pid = *pid};
    if (const auto name = trim(line.substr(second + 1, last - second - 1)); !is_absent(name) && name != "-") {
      process.name = name;
    }
    process.memory_bytes = number_field(trim(line.substr(last + 1)));
    if (process.memory_bytes) *process.memory_bytes *= kMebibyte;
    processes.push_back(std::move(process));
  }
  return processes;
}

std::string driver_version_from(std::string_view proc_driver_version) {
  const auto lines = split(proc_driver_version, '\n');
  if (lines.empty() || !lines[0].starts_with("NVRM version:")) return {};
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb …": the first word of digits and dots.
  for (const auto word : split(lines[0], ' ')) {
    const bool only_digits = word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (only_digits && word.find('.') != std::string_view::npos) return std::string(word);
  }
  return {};
}

bool may_have_nvidia(const MachineView& view) {
  return view.exists("/proc/driver/nvidia/version") || view.exists("/dev/nvidiactl") || view.has_program("nvidia-smi");
}

Result<CommandOutput> query_nvidia(const MachineView& view, std::string_view what, std::string_view fields) {
  return view.run({"nvidia-smi", fmt::format("--query-{}={}", what, fields), "--format=csv,noheader,nounits"},
                  CommandOptions{.deadline = std::chrono::seconds(10)});
}

}  // namespace assay
