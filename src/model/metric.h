#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// What assay knows about a metric by its name; the table behind docs/reference/metrics.md.
struct MetricInfo {
  std::string_view name;
  std::string_view unit;  ///< as `format_value` takes it: "", "ratio", "s", "B", "B/s", "tok/s", "W", "°C", "MHz", …
  std::string_view description;
  enum class Better { higher, lower, neither } better;
  /// A counter never falls while the machine is up: what it grew by is what it says.
  enum class Kind { gauge, counter } kind = Kind::gauge;
  /// Where it is shown without being asked for: its place in the order there, 1 first; 0: not shown.
  struct Places {
    int curve = 0;         ///< reports draw it over steps or time
    int resource = 0;      ///< the section of a report that says what runs used
    int study = 0;         ///< the table of runs at the end of a study, which has room for four
    bool outcome = false;  ///< it says what came out of a run: reports compare it between configurations
  } places = {};
};

/// Every known metric, in the order in which tables show them.
std::span<const MetricInfo> known_metrics();

/// Those that are shown there, in the order of their places.
std::vector<std::string_view> metrics_shown(int MetricInfo::Places::* where);

/// Null for names that only the workload knows.
const MetricInfo* find_metric(std::string_view name);

/// docs/reference/metrics.md, made from the same table.
std::string metric_reference();

}  // namespace assay
