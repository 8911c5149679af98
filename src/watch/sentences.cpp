#include "watch/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace assay {
namespace {

std::string temperature(double value) { return fmt::format("{:.0f} °C", value); }
std::string share(double value) { return fmt::format("{:.0f}%", 100 * value); }
std::string time(double seconds) {
  return format_duration(std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(seconds)));
}

std::string gpu_sentence(RuleId rule, std::string_view subject, double value, const Rule& settings) {
  const std::string hold = format_duration(settings.hold);
  switch (rule) {
    case RuleId::overheating:
      return fmt::format("{} is at {}, and above {} for {}.", subject, temperature(value), temperature(settings.level),
                         hold);
    case RuleId::memory_overheating:
      return fmt::format("The memory of {} is at {}, and above {} for {}.", subject, temperature(value),
                         temperature(settings.level), hold);
    case RuleId::thermal_throttling:
      return fmt::format("{} is slowed by temperature, {} of the last minute.", subject, share(value));
    case RuleId::hardware_throttling:
      return fmt::format("{} is slowed by the hardware or the power brake, {} of the last minute.", subject,
                         share(value));
    case RuleId::power_capping:
      return fmt::format("{} is at its power limit, {} of the last minute.", subject, share(value));
    case RuleId::gpu_temperature_imbalance:
      return fmt::format("{} is {} hotter than the other busy GPUs of its node, at no more power.", subject,
                         temperature(value));
    case RuleId::gpu_clock_imbalance:
      return fmt::format("The clock of {} is {} lower than that of the other busy GPUs of its node.", subject,
                         share(value));
    case RuleId::gpu_use_imbalance:
      return fmt::format("{} is used less than the other GPUs of its node, by {} of full use.", subject, share(value));
    case RuleId::under_use:
      return fmt::format("{} is allocated, but only {} used for {}.", subject, share(value), hold);
    case RuleId::allocated_but_idle: return fmt::format("{} is allocated, but has done nothing for {}.", subject, hold);
    default: return fmt::format("The memory of {} rises steadily and will be full in {}.", subject, time(value));
  }
}

}  // namespace

std::string gpu_words(const NodeView& node, std::string_view uuid) {
  const auto gpu =
      std::find_if(node.gpus.begin(), node.gpus.end(), [&](const GpuView& one) { return one.uuid == uuid; });
  if (gpu != node.gpus.end()) return fmt::format("GPU {} of {}", gpu->index, node.name);
  return fmt::format("GPU {} of {}", printable(uuid.substr(0, 64)), node.name);
}

std::string sentence_of(RuleId rule, std::string_view subject, double value, const Rule& settings) {
  if (static_cast<std::size_t>(rule) < kGpuRules) return gpu_sentence(rule, subject, value, settings);
  switch (rule) {
    case RuleId::node_lost: return fmt::format("{} is silent.", subject);
    case RuleId::clock_skew: return fmt::format("The clock of {} is {} away from the leader's.", subject, time(value));
    case RuleId::host_memory_leak:
      return fmt::format("The memory of {} rises steadily and will be full in {}.", subject, time(value));
    case RuleId::node_temperature_imbalance:
      return fmt::format("The GPUs of {} are {} hotter than those of nodes like it, at no more power.", subject,
                         temperature(value));
    case RuleId::node_clock_imbalance:
      return fmt::format("The clocks of the GPUs of {} are {} lower than those of nodes like it.", subject,
                         share(value));
    case RuleId::disk_almost_full: return fmt::format("{} is {} full.", subject, share(value));
    case RuleId::disk_filling: return fmt::format("{} fills steadily and will be full in {}.", subject, time(value));
    default: return fmt::format("{}.", subject);
  }
}

std::map<std::string, double> values_of(const GpuView& gpu) {
  static constexpr std::array kShown = {
      std::pair{"util", GpuField::util},
      std::pair{"temperature_c", GpuField::temperature_c},
      std::pair{"memory_temperature_c", GpuField::memory_temperature_c},
      std::pair{"power_w", GpuField::power_w},
      std::pair{"power_limit_w", GpuField::power_limit_w},
      std::pair{"sm_clock_mhz", GpuField::sm_clock_mhz},
      std::pair{"memory_used_bytes", GpuField::memory_used_bytes},
      std::pair{"memory_total_bytes", GpuField::memory_total_bytes},
  };
  std::map<std::string, double> values;
  for (const auto& [name, field] : kShown) {
    if (!std::isnan(gpu[field])) values[name] = gpu[field];
  }
  return values;
}

}  // namespace assay
