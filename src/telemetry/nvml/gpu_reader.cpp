#include "telemetry/nvml/gpu_reader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "model/metric.h"
#include "telemetry/reading.h"
#include "telemetry/resolution.h"

namespace assay::nvml {
namespace {

constexpr double kPercent = 0.01;
constexpr double kMilli = 0.001;
constexpr double kKibibyte = 1024;
constexpr unsigned kMaxNvlinks = 36;

Sample prototype(std::string_view metric, std::map<std::string, std::string> labels) {
  const auto* info = find_metric(metric);
  return {.key = {.name = std::string(metric), .labels = std::move(labels)},
          .unit = std::string(info != nullptr ? info->unit : ""),
          .value = 0};
}

/// It will say the same next time.
bool is_lacking(Code code) {
  return code == kNotSupported || code == kFunctionNotFound || code == kNoPermission || code == kInvalidArgument ||
         code == kArgumentVersionMismatch || code == kDeprecated;
}

bool is_lost(Code code) { return code == kGpuIsLost || code == kResetRequired || code == kGpuNotFound; }

std::optional<double> number_in(const FieldValue& field) {
  if (field.code != kSuccess) return std::nullopt;
  switch (field.type) {
    case kDouble: return field.value.as_double;
    case kUnsignedInt: return field.value.as_unsigned;
    case kUnsignedLong: return static_cast<double>(field.value.as_unsigned_long);
    case kUnsignedLongLong: return static_cast<double>(field.value.as_unsigned_long_long);
    case kSignedLongLong: return static_cast<double>(field.value.as_long_long);
    case kSignedInt: return field.value.as_int;
    case kUnsignedShort: return field.value.as_unsigned_short;
    default: return std::nullopt;
  }
}

FieldValue field_request(unsigned field) {
  FieldValue value{};
  value.field = field;
  value.code = kUnknown;
  return value;
}

std::string_view compute_mode_name(int mode) {
  switch (mode) {
    case 0: return "default";
    case 2: return "prohibited";
    case 3: return "exclusive process";
    default: return "unknown";
  }
}

}  // namespace

GpuReader::GpuReader(const Api& api, GpuHandle handle)
    : api_(api),
      handle_(std::move(handle)),
      gpm_(GpmSampler::make(api, handle_.device, handle_.parent, handle_.gpu_instance)) {
  for (std::size_t i = 0; i < kFields; ++i) prototypes_[i] = prototype(kFieldMetrics[i], {{"gpu", handle_.uuid}});
  for (std::size_t i = 0; i < kThrottleReasons.size(); ++i) {
    throttle_prototypes_[i] =
        prototype("gpu.throttle", {{"gpu", handle_.uuid}, {"reason", std::string(kThrottleReasons[i].name)}});
  }
}

DeviceFacts GpuReader::facts(unsigned index, const std::string& driver) const {
  DeviceFacts facts{.id = handle_.uuid, .facts = {}};
  const auto put = [&](const char* key, std::string value) {
    if (!value.empty()) facts.facts[key] = std::move(value);
  };
  const auto number = [&](const char* key, auto* function, auto... arguments) {
    unsigned value = 0;
    if (function != nullptr && function(handle_.device, arguments..., &value) == kSuccess) {
      put(key, std::to_string(value));
    }
  };
  put("kind", handle_.parent != nullptr ? "mig" : "gpu");
  put("index", std::to_string(index));
  put(kNameFact, text_from(api_.name, handle_.device));
  Memory memory{};
  if (api_.memory != nullptr && api_.memory(handle_.device, &memory) == kSuccess) {
    put(kMemoryFact, std::to_string(memory.total));
  }
  put("serial", text_from(api_.serial, handle_.device));
  put("vbios", text_from(api_.vbios, handle_.device));
  put("driver", driver);
  if (handle_.parent != nullptr) put("parent", text_from(api_.uuid, handle_.parent));
  PciInfo pci{};
  if (api_.pci_info != nullptr && api_.pci_info(handle_.device, &pci) == kSuccess) {
    put("pci_bus_id", std::string(pci.bus_id, ::strnlen(pci.bus_id, sizeof pci.bus_id)));
  }
  number("max_sm_clock_mhz", api_.max_clock, kClockSm);
  number("max_memory_clock_mhz", api_.max_clock, kClockMemory);
  number("max_pcie_generation", api_.max_pcie_generation);
  number("max_pcie_width", api_.max_pcie_width);
  int mode = 0;
  if (api_.persistence_mode != nullptr && api_.persistence_mode(handle_.device, &mode) == kSuccess) {
    put("persistence_mode", mode != 0 ? "on" : "off");
  }
  if (api_.compute_mode != nullptr && api_.compute_mode(handle_.device, &mode) == kSuccess) {
    put("compute_mode", std::string(compute_mode_name(mode)));
  }
  return facts;
}

GpuReader::Outcome GpuReader::read(Depth depth, SteadyTime now, Reading& reading) {
  reading_ = &reading;
  outcome_ = {};
  read_usual();
  read_gpm(now);
  if (depth >= Depth::calm) read_calm();
  if (depth >= Depth::costly) read_costly();
  reading_ = nullptr;
  return outcome_;
}

template <typename... Parameters, typename... Arguments>
bool GpuReader::call(Call which, Field field, Code (*function)(Parameters...), Arguments... arguments) {
  if (outcome_.lost != kSuccess || lacks(which)) return false;
  const Code code = function != nullptr ? function(handle_.device, arguments...) : kFunctionNotFound;
  if (code == kSuccess) return true;
  if (is_lost(code)) {
    outcome_.lost = code;
  } else if (is_lacking(code)) {
    set_lacking(which);
  } else {
    auto& missing = reading_->missing;
    const std::string_view name = kFieldMetrics[static_cast<std::size_t>(field)];
    if (std::find(missing.begin(), missing.end(), name) == missing.end()) missing.emplace_back(name);
  }
  return false;
}

void GpuReader::add(Field field, double value) {
  reading_->samples.push_back(prototypes_[static_cast<std::size_t>(field)]);
  reading_->samples.back().value = at_resolution(value, reading_->samples.back().unit);
}

template <typename... Parameters, typename... Arguments>
std::optional<double> GpuReader::add_unsigned(Call which, Field field, double scale, Code (*function)(Parameters...),
                                              Arguments... arguments) {
  unsigned value = 0;
  if (!call(which, field, function, arguments..., &value)) return std::nullopt;
  add(field, value * scale);
  return value * scale;
}

void GpuReader::read_usual() {
  Utilization utilization{};
  if (call(Call::utilization, Field::util, api_.utilization, &utilization)) {
    add(Field::util, utilization.gpu * kPercent);
    add(Field::memory_util, utilization.memory * kPercent);
  }
  read_memory();
  add_unsigned(Call::temperature, Field::temperature, 1, api_.temperature, kTemperatureGpu);
  FieldValue memory_temperature = field_request(kFieldMemoryTemperature);
  if (call(Call::memory_temperature, Field::memory_temperature, api_.field_values, 1, &memory_temperature)) {
    const auto value = number_in(memory_temperature);
    if (value && *value > 0) add(Field::memory_temperature, *value);
    if (is_lacking(memory_temperature.code)) set_lacking(Call::memory_temperature);
  }
  add_unsigned(Call::power, Field::power, kMilli, api_.power);
  add_unsigned(Call::power_limit, Field::power_limit, kMilli, api_.power_limit);
  add_unsigned(Call::sm_clock, Field::sm_clock, 1, api_.clock, kClockSm);
  add_unsigned(Call::memory_clock, Field::memory_clock, 1, api_.clock, kClockMemory);
  read_throttle();
}

void GpuReader::read_memory() {
  MemoryV2 memory{};
  memory.version = kMemoryV2Version;
  if (call(Call::memory_v2, Field::memory_used, api_.memory_v2, &memory)) {
    add(Field::memory_used, static_cast<double>(memory.used));
    add(Field::memory_total, static_cast<double>(memory.total));
    add(Field::memory_reserved, static_cast<double>(memory.reserved));
    return;
  }
  // Older drivers, whose "used" has the reserved part in it.
  if (!lacks(Call::memory_v2)) return;
  Memory old{};
  if (!call(Call::memory, Field::memory_used, api_.memory, &old)) return;
  add(Field::memory_used, static_cast<double>(old.used));
  add(Field::memory_total, static_cast<double>(old.total));
}

void GpuReader::read_throttle() {
  unsigned long long reasons = 0;
  // Without a field of its own a failure is reported as one of the clock's.
  if (!call(Call::reasons, Field::sm_clock, api_.clock_reasons, &reasons)) return;
  outcome_.condition.throttle = reasons;
  for (std::size_t i = 0; i < kThrottleReasons.size(); ++i) {
    reading_->samples.push_back(throttle_prototypes_[i]);
    reading_->samples.back().value = (reasons & kThrottleReasons[i].bit) != 0 ? 1 : 0;
  }
}

void GpuReader::read_gpm(SteadyTime now) {
  if (!gpm_ || outcome_.lost != kSuccess) return;
  Code code = kSuccess;
  const auto ratios = gpm_->read(now, code);
  for (const auto& [field, value] : ratios) add(field, value);
  if (is_lost(code)) outcome_.lost = code;
  if (is_lacking(code)) gpm_.reset();
}

void GpuReader::read_calm() {
  auto& condition = outcome_.condition;
  add_unsigned(Call::fan, Field::fan, kPercent, api_.fan);
  unsigned long long errors = 0;
  if (call(Call::ecc_corrected, Field::ecc_corrected, api_.ecc_errors, kCorrected, kVolatileEcc, &errors)) {
    add(Field::ecc_corrected, *(condition.ecc_corrected = static_cast<double>(errors)));
  }
  if (call(Call::ecc_uncorrected, Field::ecc_uncorrected, api_.ecc_errors, kUncorrected, kVolatileEcc, &errors)) {
    add(Field::ecc_uncorrected, *(condition.ecc_uncorrected = static_cast<double>(errors)));
  }
  unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
  if (call(Call::remapped_rows, Field::remapped_corrected, api_.remapped_rows, &corrected, &uncorrected, &pending,
           &failed)) {
    add(Field::remapped_corrected, *(condition.remapped_corrected = corrected));
    add(Field::remapped_uncorrected, *(condition.remapped_uncorrected = uncorrected));
    add(Field::remap_pending, *(condition.remap_pending = pending));
    add(Field::remap_failed, *(condition.remap_failed = failed));
  }
  add_unsigned(Call::pcie_generation, Field::pcie_generation, 1, api_.pcie_generation);
  add_unsigned(Call::pcie_width, Field::pcie_width, 1, api_.pcie_width);
  add_unsigned(Call::pcie_replays, Field::pcie_replays, 1, api_.pcie_replays);
  read_nvlink();
}

void GpuReader::read_nvlink() {
  std::array fields = {field_request(kFieldNvlinkCrcFlit), field_request(kFieldNvlinkCrcData),
                       field_request(kFieldNvlinkReplay), field_request(kFieldNvlinkRecovery)};
  if (!call(Call::nvlink_fields, Field::nvlink_crc_errors, api_.field_values, static_cast<int>(fields.size()),
            fields.data())) {
    return;
  }
  const auto flit = number_in(fields[0]);
  const auto data = number_in(fields[1]);
  if (flit || data) add(Field::nvlink_crc_errors, flit.value_or(0) + data.value_or(0));
  if (const auto replays = number_in(fields[2])) add(Field::nvlink_replays, *replays);
  if (const auto recoveries = number_in(fields[3])) add(Field::nvlink_recoveries, *recoveries);
  const bool none =
      std::all_of(fields.begin(), fields.end(), [](const FieldValue& field) { return is_lacking(field.code); });
  if (none) set_lacking(Call::nvlink_fields);
}

void GpuReader::read_links() {
  if (lacks(Call::nvlink_state) || api_.nvlink_state == nullptr) return;
  unsigned links = 0;
  unsigned up = 0;
  for (; links < kMaxNvlinks; ++links) {
    int active = 0;
    if (api_.nvlink_state(handle_.device, links, &active) != kSuccess) break;  // no further link
    up += active != 0 ? 1 : 0;
  }
  if (links == 0) return set_lacking(Call::nvlink_state);
  add(Field::nvlink_links_up, up);
}

void GpuReader::read_retired_pages() {
  if (lacks(Call::retired_pages) || api_.retired_pages == nullptr) return;
  unsigned total = 0;
  for (const auto cause : {kRetiredSingleBit, kRetiredDoubleBit}) {
    unsigned count = 0;  // asking for none, we are told how many there are
    const Code code = api_.retired_pages(handle_.device, cause, &count, nullptr);
    if (is_lacking(code)) return set_lacking(Call::retired_pages);
    if (code != kSuccess && code != kInsufficientSize) return;
    total += count;
  }
  add(Field::retired_pages, total);
}

void GpuReader::read_costly() {
  add_unsigned(Call::max_sm_clock, Field::max_sm_clock, 1, api_.max_clock, kClockSm);
  add_unsigned(Call::max_memory_clock, Field::max_memory_clock, 1, api_.max_clock, kClockMemory);
  read_links();
  read_retired_pages();
  unsigned long long energy = 0;
  if (call(Call::energy, Field::energy, api_.total_energy, &energy)) {
    add(Field::energy, static_cast<double>(energy) * kMilli);
  }
  ViolationTime violation{};
  if (call(Call::power_violation, Field::power_violation, api_.violation, kPolicyPower, &violation)) {
    add(Field::power_violation, static_cast<double>(violation.violation_ns) * 1e-9);
  }
  if (call(Call::thermal_violation, Field::thermal_violation, api_.violation, kPolicyThermal, &violation)) {
    add(Field::thermal_violation, static_cast<double>(violation.violation_ns) * 1e-9);
  }
  if (gpm_) return;  // has the traffic in every reading, and cheaper
  add_unsigned(Call::pcie_throughput, Field::pcie_receive, kKibibyte, api_.pcie_throughput, kPcieReceive);
  add_unsigned(Call::pcie_throughput, Field::pcie_transmit, kKibibyte, api_.pcie_throughput, kPcieTransmit);
}

void GpuReader::read_processes(std::vector<GpuProcess>& processes) {
  if (lacks(Call::processes) || api_.processes == nullptr) return;
  std::array<ProcessInfo, kMaxProcesses> infos{};
  unsigned count = infos.size();
  const Code code = api_.processes(handle_.device, &count, infos.data());
  if (is_lacking(code)) set_lacking(Call::processes);
  // With more processes than there is room for NVML says only how many.
  if (code != kSuccess) return;
  for (unsigned i = 0; i < std::min<unsigned>(count, infos.size()); ++i) {
    GpuProcess process{.gpu = handle_.uuid, .pid = infos[i].pid, .memory_bytes = std::nullopt};
    if (infos[i].used_memory != kNotAvailable) process.memory_bytes = static_cast<std::int64_t>(infos[i].used_memory);
    processes.push_back(std::move(process));
  }
}

}  // namespace assay::nvml
