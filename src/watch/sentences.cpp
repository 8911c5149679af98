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
std::string clock_rate(double mhz) { return fmt::format("{:.0f} MHz", mhz); }
std::string bytes(double value) {
  return std::isfinite(value) ? format_bytes(Bytes{static_cast<std::int64_t>(value)}) : "an unknown amount";
}
std::string time(double seconds) {
  constexpr double kLongest = 1e9;  // decades; nanoseconds have room for no more than centuries
  if (!(std::abs(seconds) < kLongest)) return "an unknown time";
  return format_duration(std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(seconds)));
}

/// A value of a rule in its unit.
std::string level_text(RuleId rule, double value) {
  const std::string_view unit = info_of(rule).unit;
  return unit == "°C" ? temperature(value) : unit == "ratio" ? share(value) : time(value);
}

/// `118 GiB of 140 GiB are taken`.
std::string taken(const SentenceFacts& facts) {
  return fmt::format("{} of {} are taken", bytes(facts.own), bytes(facts.total));
}

std::string gpu_main_clause(RuleId rule, const SentenceFacts& facts) {
  const std::string& subject = facts.subject;
  const double value = facts.value;
  switch (rule) {
    case RuleId::overheating: return fmt::format("{} is at {}", subject, temperature(value));
    case RuleId::memory_overheating: return fmt::format("The memory of {} is at {}", subject, temperature(value));
    case RuleId::thermal_throttling:
      return fmt::format("{} is slowed by temperature for {} of the time", subject, share(value));
    case RuleId::hardware_throttling:
      return fmt::format("{} is slowed by the hardware or the power brake for {} of the time", subject, share(value));
    case RuleId::power_capping:
      return fmt::format("{} is at its power limit for {} of the time", subject, share(value));
    case RuleId::gpu_temperature_imbalance:
      return fmt::format("{} is at {}, {} hotter than the other busy GPUs of its node ({}) at no more power", subject,
                         temperature(facts.own), temperature(value), temperature(facts.own - value));
    case RuleId::gpu_clock_imbalance:
      return fmt::format("The SM clock of {} is {}, {} lower than that of the other busy GPUs of its node ({})",
                         subject, clock_rate(facts.own), share(value), clock_rate(facts.own / (1 - value)));
    case RuleId::gpu_use_imbalance:
      return fmt::format("{} is {} used, {} of full use less than the other GPUs of its node ({})", subject,
                         share(facts.own), share(value), share(facts.own + value));
    case RuleId::under_use: return fmt::format("{} is allocated, but only {} used", subject, share(value));
    case RuleId::allocated_but_idle:
      return fmt::format("{} is allocated ({}), but only {} used", subject, taken(facts), share(value));
    default:
      return fmt::format("The memory of {} rises steadily and will be full in {}: {}", subject, time(value),
                         taken(facts));
  }
}

std::string main_clause(RuleId rule, const SentenceFacts& facts) {
  if (static_cast<std::size_t>(rule) < kGpuRules) return gpu_main_clause(rule, facts);
  const std::string& subject = facts.subject;
  const double value = facts.value;
  switch (rule) {
    case RuleId::clock_skew:
      return fmt::format("The clock of {} is {} {} the leader's", subject, time(value),
                         facts.own < 0 ? "behind" : "ahead of");
    case RuleId::host_memory_leak:
      return fmt::format("The memory of {} rises steadily and will be full in {}: {}", subject, time(value),
                         taken(facts));
    case RuleId::node_temperature_imbalance:
      return fmt::format("The GPUs of {} are at {}, {} hotter than those of nodes like it ({}) at no more power",
                         subject, temperature(facts.own), temperature(value), temperature(facts.own - value));
    case RuleId::node_clock_imbalance:
      return fmt::format("The SM clocks of the GPUs of {} are {}, {} lower than those of nodes like it ({})", subject,
                         clock_rate(facts.own), share(value), clock_rate(facts.own / (1 - value)));
    case RuleId::disk_almost_full:
      return fmt::format("{} is {} full with {} left", subject, share(value), bytes(facts.total - facts.own));
    default:
      return fmt::format("{} fills steadily and will be full in {}: {} are left", subject, time(value),
                         bytes(facts.total - facts.own));
  }
}

/// How things are now that they are good again.
std::string good_again(RuleId rule, const SentenceFacts& facts, const Rule& settings) {
  const std::string& subject = facts.subject;
  const std::string clear = level_text(rule, settings.clear);
  switch (rule) {
    case RuleId::gpu_temperature_imbalance:
      return fmt::format("{} is no longer hotter than the other busy GPUs of its node by more than {}", subject, clear);
    case RuleId::gpu_clock_imbalance:
      return fmt::format("The SM clock of {} is no longer more than {} lower than that of its node's other busy GPUs",
                         subject, clear);
    case RuleId::gpu_use_imbalance:
      return fmt::format("{} is no longer used less than the other GPUs of its node by more than {}", subject, clear);
    case RuleId::under_use:
      if (!std::isfinite(facts.value)) return fmt::format("{} is free or idle now", subject);
      return fmt::format("{} is {} used again", subject, share(facts.value));
    case RuleId::allocated_but_idle:
      if (!std::isfinite(facts.value)) return fmt::format("{} is free now", subject);
      return fmt::format("{} is {} used again", subject, share(facts.value));
    case RuleId::gpu_memory_leak:
    case RuleId::host_memory_leak:
      return fmt::format("The memory of {} no longer rises towards being full within {}", subject, clear);
    case RuleId::clock_skew: return fmt::format("The clock of {} is within {} of the leader's again", subject, clear);
    case RuleId::node_temperature_imbalance:
      return fmt::format("The GPUs of {} are no longer hotter than those of nodes like it by more than {}", subject,
                         clear);
    case RuleId::node_clock_imbalance:
      return fmt::format("The SM clocks of the GPUs of {} are no longer more than {} lower than those of nodes like it",
                         subject, clear);
    case RuleId::disk_filling: return fmt::format("{} no longer fills towards being full within {}", subject, clear);
    default: return main_clause(rule, facts) + " again";
  }
}

}  // namespace

std::string gpu_words(const NodeView& node, std::string_view uuid) {
  const auto gpu =
      std::find_if(node.gpus.begin(), node.gpus.end(), [&](const GpuView& one) { return one.uuid == uuid; });
  if (gpu != node.gpus.end()) return fmt::format("GPU {} of {}", gpu->index, node.name);
  return fmt::format("GPU {} of {}", printable(uuid.substr(0, 64)), node.name);
}

std::string sentence_of(RuleId rule, const SentenceFacts& facts, const Rule& settings) {
  const std::string note = facts.note.empty() ? "" : " " + facts.note;
  if (rule == RuleId::node_lost) {
    return fmt::format("{} has been silent for {}.{}", facts.subject, format_duration(facts.lasted), note);
  }
  // An open alert may be on its way out: it waits for a while before it is resolved.
  const bool below = info_of(rule).direction == RuleInfo::Direction::below;
  const bool is_good = below ? facts.value > settings.clear : facts.value < settings.clear;
  return fmt::format("{} (limit {}, worst {}, began {} ago).{}",
                     is_good ? good_again(rule, facts, settings) : main_clause(rule, facts),
                     level_text(rule, settings.level), level_text(rule, facts.worst), format_duration(facts.lasted),
                     note);
}

std::string resolved_sentence_of(RuleId rule, const SentenceFacts& facts, const Rule& settings) {
  const std::string lasted = format_duration(facts.lasted);
  if (rule == RuleId::node_lost) return fmt::format("{} is heard again; it was silent for {}.", facts.subject, lasted);
  const std::string now = good_again(rule, facts, settings);
  const std::string worst = level_text(rule, facts.worst);
  if (rule == RuleId::overheating || rule == RuleId::memory_overheating) {
    return fmt::format("{}; it was at up to {} for {}.", now, worst, lasted);
  }
  if (info_of(rule).level_key == "within") {
    return fmt::format("{}; at worst it would have been full in {}, and it lasted {}.", now, worst, lasted);
  }
  return fmt::format("{}; the worst was {}, and it lasted {}.", now, worst, lasted);
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
