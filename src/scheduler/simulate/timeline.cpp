#include "scheduler/simulate/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/units.h"
#include "report/chart/axis_scale.h"
#include "report/chart/palette.h"
#include "report/chart/svg_parts.h"

namespace assay {
namespace {

constexpr double kTimelineWidth = 960;
constexpr double kNameColumn = 74;
constexpr std::size_t kMostSpans = 20'000;

/// The class of each user's colour.
std::map<std::uint32_t, std::string> colours_of(const SimulatedRun& run) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const TimelineSpan& span : run.spans) ++counts[span.user];
  std::vector<std::pair<std::size_t, std::uint32_t>> order;
  for (const auto& [user, count] : counts) order.emplace_back(count, user);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::map<std::uint32_t, std::string> colours;
  for (std::size_t i = 0; i < order.size(); ++i) {
    colours[order[i].second] = i < kSeriesColours ? fmt::format("s{}", i + 1) : "neutral";
  }
  return colours;
}

/// Neighbours of one user in a row that cannot be told apart become one.
std::vector<TimelineSpan> drawable(const SimulatedRun& run, double pixel) {
  std::vector<TimelineSpan> spans = run.spans;
  std::stable_sort(spans.begin(), spans.end(), [](const TimelineSpan& a, const TimelineSpan& b) {
    return a.row != b.row ? a.row < b.row : a.start < b.start;
  });
  std::vector<TimelineSpan> drawn;
  for (const TimelineSpan& span : spans) {
    const bool small = span.end - span.start < pixel && !drawn.empty() && drawn.back().row == span.row;
    if (small && span.start - drawn.back().end < pixel) {
      drawn.back().end = std::max(drawn.back().end, span.end);
    } else {
      drawn.push_back(span);
    }
  }
  if (drawn.size() > kMostSpans) drawn.resize(kMostSpans);
  return drawn;
}

}  // namespace

std::string timeline_svg(const std::string& title, const Trace& trace, const std::vector<NodeOffer>& nodes,
                         const SimulatedRun& run) {
  SvgBody body;
  const double width = kTimelineWidth - kNameColumn - 14;
  std::vector<std::string> names;
  for (const NodeOffer& node : nodes) {
    for (const GpuOffer& gpu : node.gpus) {
      if (names.size() < kTimelineRows) names.push_back(gpu.uuid);
    }
  }
  const double pitch = names.size() > 32 ? 10 : 15;
  const double top = 6;
  const double bottom = top + pitch * static_cast<double>(names.size());
  ValueRange range;
  range.add(0);
  range.add(std::max(run.makespan, 1e-3));
  const AxisScale axis = fit_axis({.label = "Time", .unit = "s"}, range, {.most_ticks = 9, .padding = 0});
  const auto x_of = [&](double seconds) { return kNameColumn + axis.position(seconds) * width; };
  for (const AxisTick& tick : axis.ticks) {
    body.line({x_of(tick.value), top}, {x_of(tick.value), bottom}, "grid");
    body.text({x_of(tick.value), bottom + 14}, Anchor::middle, "", tick.label);
  }
  body.text({kNameColumn + width / 2, bottom + 30}, Anchor::middle, "", axis.title);
  for (std::size_t row = 0; row < names.size(); ++row) {
    // Names that would touch each other are left out.
    if (pitch < 12 && row % 2 == 1) continue;
    body.text({kNameColumn - 6, top + pitch * (static_cast<double>(row) + 0.78)}, Anchor::end, "",
              short_name(names[row], 10));
  }
  const auto colours = colours_of(run);
  for (const TimelineSpan& span : drawable(run, run.makespan / width)) {
    const double y = top + pitch * span.row;
    body.rect({x_of(span.start), y + 1}, {std::max(x_of(span.end), x_of(span.start) + 0.5), y + pitch - 1},
              "bar " + colours.at(span.user),
              fmt::format("job {} of {}: {} from {}", span.job + 1, trace.users[span.user],
                          format_value(span.end - span.start, "s"), format_value(span.start, "s")));
  }
  std::vector<LegendEntry> legend;
  for (const auto& [user, colour] : colours) {
    if (colour == "neutral") continue;
    legend.push_back({.kind = LegendEntry::Kind::mark,
                      .look = {.colour = colour},
                      .name = trace.users[user].empty() ? "(nobody)" : trace.users[user]});
  }
  const double height = legend.size() > 1 ? draw_legend(body, legend, kNameColumn, bottom + 40, width) : 0;
  return svg_file(title, {.body = body.content(),
                          .width = kTimelineWidth,
                          .height = std::ceil(bottom + 44 + height),
                          .description = fmt::format("{} jobs on {} GPUs over {}", trace.jobs.size(), names.size(),
                                                     format_value(run.makespan, "s"))});
}

}  // namespace assay
