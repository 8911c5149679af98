#include "times_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "report/text/table.h"

namespace assay {
namespace {

/// In the order in which a request meets them; the client's own lateness last.
constexpr std::string_view kTimes[] = {"ttft", "tpot", "itl", "latency", "lateness"};

struct Share {
  std::string_view title;
  std::string_view metric;  ///< {}: which time
  int yields;               ///< see Column
};
constexpr Share kShares[] = {
    {"Mean", "mean_{}_seconds", 2}, {"Min", "{}_min_seconds", 5},     {"p50", "{}_p50_seconds", 0},
    {"p90", "{}_p90_seconds", 1},   {"p95", "{}_p95_seconds", 3},     {"p97", "{}_p97_seconds", 4},
    {"p99", "{}_p99_seconds", 0},   {"p99.9", "{}_p99_9_seconds", 0}, {"Max", "{}_max_seconds", 0}};

std::string metric_of(const Share& share, std::string_view time) {
  return fmt::format(fmt::runtime(share.metric), time);
}

}  // namespace

TimesView view_times(const std::map<std::string, double>& metrics, const TerminalStyle& style) {
  std::vector<std::string_view> times;
  for (const auto time : kTimes) {
    if (metrics.contains(fmt::format("{}_p50_seconds", time))) times.push_back(time);
  }
  if (times.empty()) return {};
  std::vector<Column> columns = {{"Time"}};
  std::vector<const Share*> shares;
  for (const auto& share : kShares) {
    const bool any = std::any_of(times.begin(), times.end(),
                                 [&](std::string_view time) { return metrics.contains(metric_of(share, time)); });
    if (!any) continue;
    shares.push_back(&share);
    columns.push_back({std::string(share.title), Align::right, false, share.yields});
  }
  Table table(std::move(columns));
  TimesView view;
  for (const auto time : times) {
    std::vector<Cell> row = {std::string(time)};
    for (const Share* share : shares) {
      const auto found = metrics.find(metric_of(*share, time));
      if (found != metrics.end()) view.shown.insert(found->first);
      row.emplace_back(found == metrics.end() ? std::string("-") : format_value(found->second, "s"),
                       share->title == "p99" ? Colour::bold : Colour::plain);
    }
    table.add(std::move(row));
  }
  view.table = table.render(style);
  return view;
}

}  // namespace assay
