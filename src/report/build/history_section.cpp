#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analysis/change_points.h"
#include "analysis/consistency.h"
#include "analysis/degradation.h"
#include "analysis/statistics.h"
#include "base/text.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

constexpr std::size_t kFewestRuns = 10;
/// Runs from which a host's own level is taken.
constexpr std::size_t kBaselineRuns = 10;

/// One host doing the same work again and again, oldest first.
struct History {
  std::string host;
  std::vector<const Run*> runs;
  std::vector<double> rates;
  double baseline = 0;
};

/// Hosts that did the same work often enough, with the work that most runs did.
std::vector<History> histories_of(std::span<const RecordedRun> runs) {
  std::map<std::string, std::map<std::string, std::vector<const Run*>>> by_work;
  for (const auto& one : runs) {
    const Run& run = one.run;
    if (!usable(run) || run.provenance.hostname.empty() || !metric_of(run, "samples_per_second")) continue;
    by_work[fmt::format("{} {} {}", work_of(run), run.ranks, run.nodes)][run.provenance.hostname].push_back(&run);
  }
  std::vector<History> best;
  std::size_t most = 0;
  for (auto& [work, hosts] : by_work) {
    std::vector<History> histories;
    std::size_t count = 0;
    for (auto& [host, list] : hosts) {
      if (list.size() < kFewestRuns) continue;
      std::sort(list.begin(), list.end(), [](const Run* a, const Run* b) { return a->created < b->created; });
      History history{.host = host, .runs = list};
      for (const Run* run : list) history.rates.push_back(*metric_of(*run, "samples_per_second"));
      history.baseline = median(std::span(history.rates).first(kBaselineRuns));
      count += list.size();
      histories.push_back(std::move(history));
    }
    if (count <= most) continue;
    most = count;
    best = std::move(histories);
  }
  return best;
}

struct Judged {
  DetectorState state = DetectorState::learning;
  std::optional<std::size_t> since;  ///< the run at which it was seen
  double effect_percent = 0;
  bool weak = false;  ///< too few peers: judged by its own past
};

/// Each run against the host's own past and against what its peers did at that time.
Judged judge(const std::vector<History>& all, std::size_t index) {
  const History& own = all[index];
  Judged judged{.weak = all.size() < 5};
  DetectorSettings settings = judged.weak ? weak_settings() : DetectorSettings{};
  // Stored runs cannot be asked for fresh ones: only what needs no confirmation counts.
  settings.confirms = false;
  DegradationDetector detector(settings);
  for (std::size_t k = 0; k < own.rates.size(); ++k) {
    std::vector<BaselinedValue> peers;
    for (std::size_t other = 0; other < all.size(); ++other) {
      if (other != index && k < all[other].rates.size()) peers.push_back({all[other].rates[k], all[other].baseline});
    }
    const auto residual = peer_residual({own.rates[k], own.baseline}, peers);
    if (!residual) continue;
    const auto answer = detector.add(residual->percent);
    judged.state = answer.state;
    if (answer.state == DetectorState::degraded && !judged.since) {
      judged.since = k;
      judged.effect_percent = answer.scan.effect_percent;
    }
  }
  return judged;
}

std::optional<Trend> trend_of(const History& history) {
  constexpr double kNanosPerDay = 86'400e9;
  std::vector<TrendPoint> points;
  points.reserve(history.runs.size());
  for (std::size_t i = 0; i < history.runs.size(); ++i) {
    const auto since = history.runs[i]->created - history.runs.front()->created;
    points.push_back({static_cast<double>(since.count()) / kNanosPerDay, history.rates[i]});
  }
  // Within an hour nothing can be said about a month.
  return points.back().day > 1.0 / 24 ? find_trend(points) : std::nullopt;
}

Figure trend_figure(const std::optional<Trend>& trend) {
  if (!trend) return {};
  const std::string interval =
      trend->interval ? fmt::format(" ({:+.1f} to {:+.1f})", trend->interval->low, trend->interval->high) : "";
  Figure figure(fmt::format("{:+.1f} %{}", trend->percent_per_30_days, interval), trend->percent_per_30_days);
  if (trend->interval) figure.parts = {{"low", trend->interval->low}, {"high", trend->interval->high}};
  return figure;
}

Figure verdict_of(const History& history, const Judged& judged) {
  if (!judged.since)
    return {std::string(name_of(judged.state)), judged.state == DetectorState::steady ? Tone::good : Tone::muted};
  return {fmt::format("degraded by {:.1f} % at run {}", -judged.effect_percent, history.runs[*judged.since]->id),
          Tone::bad};
}

ChartBlock history_chart(const std::vector<History>& histories) {
  XyChart chart{.x = {.label = "Run"},
                .y = {.label = "Against its first runs", .unit = "ratio"},
                .references = {{"first runs", 1}}};
  for (const auto& history : histories) {
    ChartSeries line{.name = history.host};
    for (std::size_t i = 0; i < history.rates.size(); ++i) {
      line.points.push_back({.x = static_cast<double>(i + 1), .y = history.rates[i] / history.baseline});
    }
    chart.series.push_back(std::move(line));
  }
  return {.id = "history", .title = "Throughput over time", .chart = std::move(chart)};
}

}  // namespace

std::vector<DegradedHost> degraded_hosts(std::span<const RecordedRun> runs) {
  const auto histories = histories_of(runs);
  std::vector<DegradedHost> degraded;
  for (std::size_t i = 0; i < histories.size(); ++i) {
    const Judged judged = judge(histories, i);
    if (!judged.since) continue;
    degraded.push_back({histories[i].host, -judged.effect_percent, histories[i].runs[*judged.since]->id});
  }
  return degraded;
}

std::optional<Section> history_section(const Answers& answers) {
  const auto histories = histories_of(answers.input.runs);
  if (histories.empty()) return std::nullopt;
  FigureTable table{
      .id = "history_table",
      .columns = {{"host", "Host", "", Align::left, false},
                  {"runs", "Runs", "", Align::right, false},
                  {"first_samples_per_second", "First runs", "", Align::right, false},
                  {"last_samples_per_second", "Last runs", "", Align::right, false},
                  {"trend_percent_per_30_days", "Trend in 30 days", "", Align::right, false},
                  {"verdict", "Verdict", "", Align::left, false},
                  {"hunter", "Hunter's change points", "", Align::right, false},
                  {"fixed_rule", "−5 % rule", "", Align::left, false}},
      .notes = {"Verdict: rolling and anchored scan of each run against the host's own past and its peers, without "
                "confirmation by fresh runs. Hunter's method and the fixed rule stand beside it to compare with."}};
  bool weak = false;
  for (std::size_t i = 0; i < histories.size(); ++i) {
    const History& history = histories[i];
    const Judged judged = judge(histories, i);
    weak |= judged.weak;
    const double last = median(std::span(history.rates).last(std::min<std::size_t>(5, history.rates.size())));
    const bool fixed = fixed_rule_alarm(100 * last / history.baseline);
    table.rows.push_back({history.host, count_figure(static_cast<double>(history.runs.size())),
                          rate_figure(history.baseline), rate_figure(last), trend_figure(trend_of(history)),
                          verdict_of(history, judged),
                          count_figure(static_cast<double>(hunter_change_points(history.rates).size())),
                          Figure(fixed ? "alarm" : "no alarm", fixed ? Tone::warning : Tone::plain)});
  }
  if (weak) table.notes.emplace_back("Fewer than five hosts: a change of all of them at once looks like one of each.");
  Section section{.blocks = {std::move(table)}};
  section.blocks.emplace_back(history_chart(histories));
  return section;
}

}  // namespace assay
