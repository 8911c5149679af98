#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// What assay knows about a metric by its name; the table behind docs/reference/metrics.md.
struct MetricInfo {
  std::string_view name;
  std::string_view unit;  ///< as `format_value` takes it: "", "ratio", "s", "B", "B/s", "tok/s", "W", "°C", "MHz", …
  std::string_view description;
  enum class Better { higher, lower, neither } better;
  /// A counter never falls while the machine is up: what it grew by is what it says.
  enum class Kind { gauge, counter } kind = Kind::gauge;
};

/// Every known metric, in the order in which tables show them.
std::span<const MetricInfo> known_metrics();

/// Null for names that only the workload knows.
const MetricInfo* find_metric(std::string_view name);

/// docs/reference/metrics.md, made from the same table.
std::string metric_reference();

}  // namespace assay
