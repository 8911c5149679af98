#include "report/build/goals.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "model/metric_direction.h"

namespace assay {
namespace {

/// What says best how well a run learnt comes first; figures of the training data last.
constexpr std::array<std::string_view, 6> kQualityFirst = {"val_loss",      "val_accuracy",   "test_loss",
                                                           "test_accuracy", "val_perplexity", "eval_loss"};
constexpr std::array<std::string_view, 4> kQualityLast = {"final_loss", "loss", "accuracy", "perplexity"};
constexpr std::array<std::string_view, 4> kRates = {"samples_per_second", "tokens_per_second", "throughput",
                                                    "events_per_second"};

std::optional<Direction> direction_from(std::optional<MetricInfo::Better> better) {
  if (!better) return Direction::unknown;
  switch (*better) {
    case MetricInfo::Better::higher: return Direction::higher_is_better;
    case MetricInfo::Better::lower: return Direction::lower_is_better;
    case MetricInfo::Better::neither: return std::nullopt;
  }
  return std::nullopt;
}

std::set<std::string, std::less<>> metrics_in(std::span<const RecordedRun> runs) {
  std::set<std::string, std::less<>> names;
  for (const auto& one : runs) {
    if (!usable(one.run)) continue;
    for (const auto& [name, value] : one.run.metrics) names.insert(name);
  }
  return names;
}

template <std::size_t N>
std::optional<std::string> first_present(const std::array<std::string_view, N>& wanted,
                                         const std::set<std::string, std::less<>>& present) {
  const auto found = std::find_if(wanted.begin(), wanted.end(), [&](auto name) { return present.contains(name); });
  return found == wanted.end() ? std::nullopt : std::optional<std::string>(*found);
}

}  // namespace

bool is_validation(std::string_view metric) {
  if (metric.starts_with("epoch.")) metric.remove_prefix(6);
  return metric.starts_with("val") || metric.starts_with("test") || metric.starts_with("eval");
}

bool is_cross_entropy(std::string_view metric) {
  constexpr std::array<std::string_view, 5> kLosses = {"val_loss", "test_loss", "eval_loss", "loss", "final_loss"};
  return contains(kLosses, metric);
}

bool is_speed(std::string_view metric) {
  const MetricInfo* info = find_metric(metric);
  return names_speed(metric) || (info != nullptr && (info->unit == "s" || info->unit.ends_with("/s")));
}

bool decided_by_seed(std::string_view metric) {
  if (metric.starts_with("best ")) metric.remove_prefix(5);
  if (contains(kQualityFirst, metric) || contains(kQualityLast, metric)) return true;
  return find_metric(metric) == nullptr && !is_speed(metric);
}

Goals::Goals(std::span<const RecordedRun> runs, const ReportOptions& options) {
  std::vector<std::string> named;
  const auto state = [&](std::string name, Direction direction) {
    if (stated_.emplace(name, direction).second) named.push_back(std::move(name));
  };
  for (const auto& [name, direction] : options.goals) state(name, direction);
  for (const auto& one : runs) {
    const auto* goals = one.run.spec.if_contains("goals");
    if (goals == nullptr || !goals->is_object()) continue;
    for (const auto& [name, way] : goals->get_object())
      state(std::string(name), way == "higher" ? Direction::higher_is_better : Direction::lower_is_better);
  }
  const auto present = metrics_in(runs);
  const auto is_present = [&](const std::string& name) { return present.contains(name); };
  const auto own =
      std::find_if(named.begin(), named.end(), [&](const auto& name) { return is_present(name) && !is_speed(name); });
  quality_ = own != named.end() ? std::optional(*own) : first_present(kQualityFirst, present);
  if (!quality_) {
    const auto user = std::find_if(present.begin(), present.end(), [&](const auto& name) {
      const auto direction = direction_of(name);
      return find_metric(name) == nullptr && direction && *direction != Direction::unknown && !is_speed(name);
    });
    quality_ = user != present.end() ? std::optional(*user) : first_present(kQualityLast, present);
  }
  std::copy_if(named.begin(), named.end(), std::back_inserter(headlines_), is_present);
  if (!headlines_.empty()) return;
  if (auto rate = first_present(kRates, present)) headlines_.push_back(std::move(*rate));
  if (quality_) headlines_.push_back(*quality_);
  if (headlines_.empty()) headlines_.emplace_back("duration_seconds");
}

std::optional<Direction> Goals::direction_of(std::string_view metric) const {
  const auto stated = stated_.find(metric);
  return stated == stated_.end() ? direction_from(better_by_name(metric)) : std::optional(stated->second);
}

Direction Goals::direction_or_unknown(std::string_view metric) const {
  return direction_of(metric).value_or(Direction::unknown);
}

bool Goals::is_headline(std::string_view metric) const {
  return std::find(headlines_.begin(), headlines_.end(), metric) != headlines_.end();
}

}  // namespace assay
