#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/alert_severity.h"

namespace assay {

/// Every rule. The order is that of the reference; those about the same kind of thing stand together.
enum class RuleId : std::uint8_t {
  // of a GPU
  overheating,
  memory_overheating,
  thermal_throttling,
  hardware_throttling,
  power_capping,
  gpu_temperature_imbalance,
  gpu_clock_imbalance,
  gpu_use_imbalance,
  under_use,
  allocated_but_idle,
  gpu_memory_leak,
  // of a node
  node_lost,
  clock_skew,
  host_memory_leak,
  node_temperature_imbalance,
  node_clock_imbalance,
  // of a file system
  disk_almost_full,
  disk_filling,
  // of events
  gpu_lost,
  xid,
  ecc_uncorrected,
  row_remap,
  source_failing,
  // of the leader itself
  leader_problem,
  count,
};
inline constexpr std::size_t kRules = static_cast<std::size_t>(RuleId::count);
inline constexpr std::size_t kGpuRules = static_cast<std::size_t>(RuleId::node_lost);
inline constexpr std::size_t kNodeRules = static_cast<std::size_t>(RuleId::disk_almost_full) - kGpuRules;
inline constexpr std::size_t kDiskRules = 2;
/// Rules of what somebody reports, which is waited for by nobody.
constexpr bool is_of_events(RuleId rule) { return rule >= RuleId::gpu_lost && rule <= RuleId::source_failing; }

/// The settings of one rule. A value must be beyond `level` for as long as `hold` before an alert is raised, and on
/// the good side of `clear` for as long as `clear_for` before it is resolved; then the rule is silent about that thing
/// for another `clear_for`.
struct Rule {
  double level = 0;
  double clear = 0;
  Nanos hold{};
  Nanos clear_for{};
  AlertSeverity severity = AlertSeverity::warning;
  bool enabled = true;
  bool operator==(const Rule&) const = default;
};

struct RuleInfo {
  enum class Direction {
    above,  ///< bad above its level
    below,  ///< bad below its level
    yes_no  ///< has no level
  };
  RuleId id = RuleId::count;
  std::string_view name;       ///< as in the file of rules and in `Alert::rule`
  std::string_view watches;    ///< what the rule looks at, and when it keeps out of it
  std::string_view remedy;     ///< what to do about it
  std::string_view level_key;  ///< "above", "below", "within"; empty without a level
  std::string_view unit;       ///< of the level: "°C", "ratio", "s" (a duration)
  Direction direction = Direction::above;
  Rule standard;
};

/// By RuleId.
std::span<const RuleInfo, kRules> known_rules();
const RuleInfo& info_of(RuleId id);
std::optional<RuleId> rule_from(std::string_view name);

/// The settings of every rule, by RuleId.
class WatchRules {
 public:
  WatchRules();  ///< the standard ones
  const Rule& operator[](RuleId id) const { return rules_[static_cast<std::size_t>(id)]; }
  Rule& operator[](RuleId id) { return rules_[static_cast<std::size_t>(id)]; }
  bool operator==(const WatchRules&) const = default;

 private:
  std::array<Rule, kRules> rules_;
};

/// docs/reference/watch-rules.md, made from the table of rules.
std::string rules_reference();

}  // namespace assay
