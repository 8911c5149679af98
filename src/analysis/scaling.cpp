#include "analysis/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/intervals.h"
#include "analysis/scaling_checks.h"
#include "analysis/statistics.h"

namespace assay {
namespace {

std::vector<double> positive_values(std::span<const double> values) {
  std::vector<double> kept = finite_values(values);
  std::erase_if(kept, [](double value) { return value <= 0; });
  return kept;
}

/// The repeats of one point on the scale on which sizes are compared.
struct Repeats {
  std::vector<double> seconds;
  std::vector<double> throughput;
};

Repeats repeats_of(const ScalingPoint& point) {
  Repeats repeats{positive_values(point.seconds), positive_values(point.throughput)};
  if (repeats.throughput.empty() && point.samples) {
    for (const double seconds : repeats.seconds) repeats.throughput.push_back(*point.samples / seconds);
  }
  return repeats;
}

/// Work that differs by less is the same work: the last, incomplete batch is not the same at every size.
constexpr double kSameWorkPerRun = 0.02;

bool same_count(const std::optional<double>& a, const std::optional<double>& b) {
  if (!a || !b) return a == b;
  return std::fabs(*a - *b) <= kSameWorkPerRun * std::fabs(*b);
}

/// Times may be compared where every size did the same work; otherwise throughput must be.
bool same_work(std::span<const ScalingPoint> points) {
  return std::all_of(points.begin(), points.end(), [&](const ScalingPoint& point) {
    return same_count(point.samples, points.front().samples) && point.epochs == points.front().epochs &&
           !positive_values(point.seconds).empty();
  });
}

template <typename Pick>
std::optional<double> best_of(std::span<const double> values, const Pick& pick) {
  const auto kept = finite_values(values);
  if (kept.empty()) return std::nullopt;
  return *pick(kept.begin(), kept.end());
}

/// Rows with everything that needs no baseline.
ScalingRow plain_row(const ScalingPoint& point, const Repeats& repeats, std::size_t index,
                     const ScalingSettings& settings) {
  ScalingRow row{.point = index,
                 .configuration = configuration_name(point.ranks, point.nodes, point.device),
                 .ranks = point.ranks,
                 .nodes = point.nodes,
                 .repeats = std::max(repeats.seconds.size(), repeats.throughput.size()),
                 .ideal_speedup = static_cast<double>(point.ranks)};
  if (!repeats.seconds.empty()) {
    row.seconds = mean(repeats.seconds);
    row.seconds_interval = t_interval(repeats.seconds, settings.confidence);
    if (point.epochs && *point.epochs > 0) row.seconds_per_epoch = *row.seconds / *point.epochs;
  }
  if (!repeats.seconds.empty() && point.samples) {
    row.throughput = *point.samples / *row.seconds;
  } else if (!repeats.throughput.empty()) {
    row.throughput = mean(repeats.throughput);
  }
  const auto smallest = [](auto first, auto last) { return std::min_element(first, last); };
  const auto largest = [](auto first, auto last) { return std::max_element(first, last); };
  row.val_loss = best_of(point.val_loss, smallest);
  row.val_accuracy = best_of(point.val_accuracy, largest);
  const auto given = settings.expected.find({point.ranks, point.nodes});
  row.expected = given != settings.expected.end() ? given->second : expected_range(point.ranks, point.nodes);
  return row;
}

std::optional<std::size_t> find_baseline(std::span<const ScalingPoint> points, std::span<const Repeats> repeats,
                                         const ScalingSettings& settings, std::string& note) {
  const auto measured = [&](std::size_t i) { return !repeats[i].seconds.empty() || !repeats[i].throughput.empty(); };
  if (settings.baseline) {
    const std::size_t chosen = *settings.baseline;
    if (chosen >= points.size() || !measured(chosen)) {
      note = "The chosen baseline has no result, so no speed-up is given.";
      return std::nullopt;
    }
    note = fmt::format("Baseline: {}, as chosen.",
                       configuration_name(points[chosen].ranks, points[chosen].nodes, points[chosen].device));
    return chosen;
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].ranks != 1 || !measured(i)) continue;
    note = fmt::format("Baseline: one {}, measured in this study.", points[i].device);
    return i;
  }
  note = fmt::format("No run on one {} was measured, so no speed-up is given. Add size 1, or choose a baseline.",
                     points.front().device);
  return std::nullopt;
}

/// Speed-up and efficiency of `row` against the baseline, with intervals where both were repeated.
void add_speedup(ScalingRow& row, const Repeats& own, const Repeats& base, int base_ranks, bool by_time,
                 double confidence) {
  const auto& slower = by_time ? own.seconds : base.throughput;
  const auto& faster = by_time ? base.seconds : own.throughput;
  if (slower.empty() || faster.empty()) return;
  const double per_rank = static_cast<double>(base_ranks) / row.ranks;
  row.speedup = mean(faster) / mean(slower);
  row.efficiency = *row.speedup * per_rank;
  row.speedup_interval = ratio_interval(slower, faster, confidence);
  if (row.speedup_interval) {
    row.efficiency_interval =
        Interval{row.speedup_interval->low * per_rank, row.speedup_interval->high * per_rank, confidence};
  }
}

void judge_row(ScalingRow& row, bool strays, const ScalingSettings& settings) {
  if (!row.efficiency) return;
  const Topology topology = topology_of(row.ranks, row.nodes);
  const auto band = [&](double efficiency) { return band_of(efficiency, topology, settings.bands); };
  row.superlinear = row.efficiency_interval ? row.efficiency_interval->low > 1 : *row.efficiency > 1;
  if (strays || !row.differences.empty()) {
    row.band = ScalingBand::not_comparable;
    return;
  }
  row.band = band(*row.efficiency);
  row.band_uncertain = row.efficiency_interval && (band(row.efficiency_interval->low) != row.band ||
                                                   band(row.efficiency_interval->high) != row.band);
}

/// Everything that the rows of one analysis share.
struct Comparison {
  std::span<const ScalingPoint> points;
  std::span<const Repeats> repeats;
  std::size_t reference = 0;  ///< the baseline, or the first point where there is none
  bool has_baseline = false;
  bool by_time = false;
  const ScalingPoint* in_one_node = nullptr;
  const ScalingSettings& settings;
};

ScalingCause batch_cause(const ScalingPoint& point, const ScalingPoint& reference) {
  return {"effective_batch",
          fmt::format("The effective batch is {}, the baseline's {}.", point.effective_batch.value_or(0),
                      reference.effective_batch.value_or(0)),
          "Scale learning_rate and its warm-up with the batch, or keep the effective batch equal."};
}

/// How an effective batch is put together differs between sizes that keep it equal; that is what strong scaling is.
std::vector<std::string> differences_beside_batch(const ScalingPoint& reference, const ScalingPoint& point) {
  if (!point.effective_batch || point.effective_batch != reference.effective_batch)
    return setting_differences(reference.settings, point.settings);
  auto ours = reference.settings;
  auto theirs = point.settings;
  for (const char* part : {"batch_size", "gradient_accumulation"}) {
    ours.erase(part);
    theirs.erase(part);
  }
  return setting_differences(ours, theirs);
}

ScalingRow make_row(const Comparison& all, std::size_t i, bool strays) {
  const ScalingPoint& point = all.points[i];
  const ScalingPoint& reference = all.points[all.reference];
  ScalingRow row = plain_row(point, all.repeats[i], i, all.settings);
  row.differences = differences_beside_batch(reference, point);
  if (all.has_baseline) {
    row.ideal_speedup = static_cast<double>(row.ranks) / reference.ranks;
    // The expected ranges are against one GPU.
    if (reference.ranks != 1) row.expected.reset();
    add_speedup(row, all.repeats[i], all.repeats[all.reference], reference.ranks, all.by_time, all.settings.confidence);
    if (i == all.reference) {
      row.band = ScalingBand::baseline;
      row.speedup_interval.reset();
      row.efficiency_interval.reset();
    } else {
      judge_row(row, strays, all.settings);
    }
  }
  if (row.efficiency.value_or(1) < all.settings.bands.excellent) {
    row.causes =
        likely_causes(point, all.in_one_node, all.by_time ? all.repeats[i].seconds : all.repeats[i].throughput);
  }
  if (strays && point.effective_batch != reference.effective_batch) row.causes.push_back(batch_cause(point, reference));
  return row;
}

bool batch_changed(std::span<const ScalingPoint> points) {
  return std::any_of(points.begin(), points.end(), [&](const ScalingPoint& point) {
    return point.effective_batch && points.front().effective_batch &&
           point.effective_batch != points.front().effective_batch;
  });
}

const ScalingPoint* largest_in_one_node(std::span<const ScalingPoint> points) {
  const ScalingPoint* largest = nullptr;
  for (const auto& point : points) {
    if (topology_of(point.ranks, point.nodes) != Topology::one_node) continue;
    if (!largest || point.ranks > largest->ranks) largest = &point;
  }
  return largest;
}

void add_fits(ScalingAnalysis& analysis, std::span<const ScalingPoint> points, std::span<const Repeats> repeats,
              bool by_time) {
  if (!analysis.baseline) return;
  if (points[*analysis.baseline].ranks != 1) {
    analysis.notes.push_back(
        fmt::format("No scaling law is fitted: the laws need the figure of one {}.", points.front().device));
    return;
  }
  SpeedupPoint baseline;
  std::vector<SpeedupPoint> measured;
  for (const auto& row : analysis.rows) {
    if (!row.speedup || row.band == ScalingBand::not_comparable) continue;
    SpeedupPoint point{.ranks = static_cast<double>(row.ranks), .speedup = *row.speedup};
    const Repeats& own = repeats[row.point];
    const auto& values = by_time ? own.seconds : own.throughput;
    if (values.size() > 1) {
      point.relative_error = coefficient_of_variation(values) / std::sqrt(static_cast<double>(values.size()));
      point.degrees = static_cast<double>(values.size() - 1);
    }
    (row.point == *analysis.baseline ? baseline : measured.emplace_back()) = point;
  }
  const ScalingLaw law = fit_scaling_law(baseline, measured);
  analysis.amdahl = law.amdahl;
  analysis.universal = law.universal;
}

ScalingMode mode_of(std::span<const ScalingPoint> points) {
  bool weak = points.size() > 1;
  bool strong = points.size() > 1;
  const ScalingPoint& first = points.front();
  for (const auto& point : points) {
    if (!point.effective_batch || !first.effective_batch) return ScalingMode::unknown;
    strong = strong && *point.effective_batch == *first.effective_batch;
    weak = weak && *point.effective_batch * first.ranks == *first.effective_batch * point.ranks;
  }
  // Equal ranks on other nodes fit both.
  if (weak == strong) return ScalingMode::unknown;
  return weak ? ScalingMode::weak : ScalingMode::strong;
}

void add_notes(ScalingAnalysis& analysis, std::span<const ScalingPoint> points) {
  analysis.effective_batch_changed = batch_changed(points);
  analysis.mode = mode_of(points);
  if (analysis.mode == ScalingMode::strong) {
    analysis.notes.push_back(fmt::format(
        "Strong scaling: the effective batch of {} is kept. Ideal is the same training in 1/n of the time on n ranks.",
        *points.front().effective_batch));
  } else if (analysis.mode == ScalingMode::weak) {
    analysis.notes.emplace_back(
        "Weak scaling: each rank keeps its batch. Ideal is n times the samples a second on n ranks, with the time of a "
        "step unchanged.");
  }
  if (analysis.effective_batch_changed) {
    const auto [least, most] =
        std::minmax_element(points.begin(), points.end(), [](const ScalingPoint& a, const ScalingPoint& b) {
          return a.effective_batch.value_or(0) < b.effective_batch.value_or(0);
        });
    analysis.notes.push_back(fmt::format("The effective batch grows from {} to {}: sizes did not train the same way.",
                                         least->effective_batch.value_or(0), most->effective_batch.value_or(0)));
  }
  if (!analysis.by_time && analysis.baseline) {
    analysis.notes.push_back("Compared by throughput, since the sizes did not all do the same work in a known time.");
  }
  for (const auto& row : analysis.rows) {
    if (row.superlinear && row.band != ScalingBand::baseline) {
      analysis.notes.push_back(fmt::format(
          "{} is better than ideal ({:.1f} %). Look for a slow baseline, a cache that now fits, or less work "
          "per rank before believing it.",
          row.configuration, *row.efficiency * 100));
    }
    const bool falls_short = row.band == ScalingBand::fair || row.band == ScalingBand::poor;
    if (falls_short && row.causes.empty()) {
      analysis.notes.push_back(
          fmt::format("{} falls short, and nothing that was recorded says why.", row.configuration));
    }
  }
}

void sort_rows(std::vector<ScalingRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const ScalingRow& a, const ScalingRow& b) {
    return std::pair(a.ranks, a.nodes) < std::pair(b.ranks, b.nodes);
  });
}

}  // namespace

Topology topology_of(int ranks, int nodes) {
  if (nodes > 1) return Topology::several_nodes;
  return ranks > 1 ? Topology::one_node : Topology::one_device;
}

std::string configuration_name(int ranks, int nodes, std::string_view device) {
  if (ranks == 1 && nodes == 1) return fmt::format("Single {}", device);
  return fmt::format("{} {}{} ({} node{})", ranks, device, ranks == 1 ? "" : "s", nodes, nodes == 1 ? "" : "s");
}

std::string_view name_of(ScalingBand band) {
  switch (band) {
    case ScalingBand::no_baseline: return "no baseline";
    case ScalingBand::not_comparable: return "not comparable";
    case ScalingBand::baseline: return "baseline";
    case ScalingBand::excellent: return "excellent";
    case ScalingBand::good: return "good";
    case ScalingBand::fair: return "fair";
    case ScalingBand::poor: return "poor";
  }
  return "";
}

std::optional<ExpectedRange> expected_range(int ranks, int nodes) {
  switch (topology_of(ranks, nodes)) {
    case Topology::one_device: return std::nullopt;
    case Topology::one_node: return ExpectedRange{0.875 * ranks, 0.95 * ranks};
    case Topology::several_nodes: return ExpectedRange{0.75 * ranks, 0.8125 * ranks};
  }
  return std::nullopt;
}

ScalingBand band_of(double efficiency, Topology topology, const BandEdges& edges) {
  const double good = topology == Topology::several_nodes ? edges.good_several_nodes : edges.good_one_node;
  if (efficiency >= edges.excellent) return ScalingBand::excellent;
  if (efficiency >= good) return ScalingBand::good;
  return efficiency >= edges.fair ? ScalingBand::fair : ScalingBand::poor;
}

ScalingAnalysis analyse_scaling(std::span<const ScalingPoint> points, const ScalingSettings& settings) {
  ScalingAnalysis analysis;
  if (points.empty()) {
    analysis.baseline_note = "There is no run to analyse.";
    return analysis;
  }
  analysis.group = points.front().group;
  std::vector<Repeats> repeats;
  for (const auto& point : points) repeats.push_back(repeats_of(point));
  analysis.baseline = find_baseline(points, repeats, settings, analysis.baseline_note);
  const Comparison comparison{.points = points,
                              .repeats = repeats,
                              .reference = analysis.baseline.value_or(0),
                              .has_baseline = analysis.baseline.has_value(),
                              .by_time = same_work(points),
                              .in_one_node = largest_in_one_node(points),
                              .settings = settings};
  // Accuracy is compared even where speed cannot be.
  const auto findings = check_accuracy(points, comparison.reference, settings);
  analysis.accuracy = findings.check;
  for (std::size_t i = 0; i < points.size(); ++i) {
    analysis.rows.push_back(make_row(comparison, i, findings.strays[i]));
    if (findings.strays[i] || !analysis.rows.back().differences.empty()) analysis.comparable = false;
  }
  sort_rows(analysis.rows);
  add_fits(analysis, points, repeats, comparison.by_time);
  analysis.by_time = comparison.by_time;
  add_notes(analysis, points);
  return analysis;
}

std::vector<ScalingAnalysis> analyse_scaling_sweep(std::span<const ScalingPoint> points,
                                                   const ScalingSettings& settings) {
  std::vector<std::string> groups;
  for (const auto& point : points) {
    if (std::find(groups.begin(), groups.end(), point.group) == groups.end()) groups.push_back(point.group);
  }
  std::vector<ScalingAnalysis> analyses;
  for (const auto& group : groups) {
    std::vector<ScalingPoint> members;
    std::vector<std::size_t> places;
    ScalingSettings own = settings;
    own.baseline.reset();
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i].group != group) continue;
      if (settings.baseline == i) own.baseline = members.size();
      members.push_back(points[i]);
      places.push_back(i);
    }
    ScalingAnalysis analysis = analyse_scaling(members, own);
    if (analysis.baseline) analysis.baseline = places[*analysis.baseline];
    for (auto& row : analysis.rows) row.point = places[row.point];
    analyses.push_back(std::move(analysis));
  }
  return analyses;
}

}  // namespace assay
