#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/statistics.h"
#include "base/text.h"
#include "report/build/baseline.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

/// The configuration without its size: "batch_size=64, ranks=4" → "batch_size=64".
std::string variant_beside_size(const Run& run) {
  std::vector<std::string> kept;
  for (const auto part : split(run.variant, ',')) {
    const auto text = trim(part);
    if (text.starts_with("ranks=") || text.starts_with("nodes=") || text.empty() || text == "baseline") continue;
    kept.emplace_back(text);
  }
  return join(kept, ", ");
}

/// Runs of which sizes may be compared: one configuration of one study, or loose runs of one name.
std::string family_of(const Run& run) {
  return run.study.empty() ? run.kind + '\n' + run.name : run.study + '\n' + variant_beside_size(run);
}

std::optional<double> seconds_of_work(const Run& run) {
  const auto training = metric_of(run, "train_seconds");
  return training ? training : metric_of(run, "duration_seconds");
}

std::optional<double> mean_of_metric(const Arm& arm, std::string_view name) {
  const auto values = values_of(arm.usable, name);
  return values.empty() ? std::nullopt : std::optional(mean(values));
}

std::optional<double> epochs_of(const Run& run) {
  if (const auto done = metric_of(run, "epochs_done")) return done;
  const auto* epochs = run.spec.if_contains("epochs");
  return epochs != nullptr && epochs->is_number() ? std::optional(epochs->to_number<double>()) : std::nullopt;
}

ScalingHints hints_of(const Arm& arm) {
  ScalingHints hints;
  hints.communication_share = mean_of_metric(arm, "communication_share");
  hints.input_wait_share = mean_of_metric(arm, "input_wait_share");
  std::vector<double> busy;
  std::vector<double> throttled;
  std::vector<double> host;
  for (const auto* one : arm.usable) {
    if (sampled_throughout(one->run, "host.cpu_util")) host.push_back(*mean_of_series(one->run, "host.cpu_util"));
    if (const auto value = mean_of_series(one->run, "gpu.util")) busy.push_back(*value);
    const auto held = metric_of(one->run, "gpu.throttled_seconds");
    const auto duration = metric_of(one->run, "duration_seconds");
    if (held && duration && *duration > 0) throttled.push_back(*held / *duration);
  }
  if (!busy.empty()) hints.gpu_utilisation = mean(busy);
  if (!host.empty()) hints.host_cpu = mean(host);
  if (!throttled.empty()) hints.throttled_share = mean(throttled);
  return hints;
}

std::string job_of(const Run& run) {
  const auto job = run.provenance.job.find("SLURM_JOB_ID");
  return job == run.provenance.job.end() ? run.id : job->second;
}

bool on_gpus(const Run& run) {
  if (!run.provenance.gpus.empty()) return true;
  const auto* device = run.spec.if_contains("device");
  const bool told = device != nullptr && device->is_string();
  // What was imported says nothing of devices; its ranks are GPUs, which is what such logs count.
  return told ? device->get_string() == "cuda" : run.kind == "train" && !run.provenance.cpu_cores;
}

std::string device_noun(const Run& run) { return on_gpus(run) ? "GPU" : "rank"; }

ScalingPoint point_of(const Arm& arm) {
  const Run& run = arm.any();
  ScalingPoint point{.job = job_of(run),
                     .group = variant_beside_size(run),
                     .ranks = run.ranks,
                     .nodes = run.nodes,
                     .device = device_noun(run)};
  for (const auto* one : arm.usable) {
    if (const auto seconds = seconds_of_work(one->run); seconds) point.seconds.push_back(*seconds);
    if (const auto rate = metric_of(one->run, "samples_per_second")) point.throughput.push_back(*rate);
    if (const auto loss = best_val_loss(one->run)) point.val_loss.push_back(*loss);
    if (const auto accuracy = best_val_accuracy(one->run)) point.val_accuracy.push_back(*accuracy);
  }
  point.epochs = epochs_of(run);
  point.samples = mean_of_metric(arm, "samples_done");
  point.effective_batch = effective_batch(run);
  point.settings = settings_beside_size(run);
  point.hints = hints_of(arm);
  return point;
}

std::optional<std::size_t> chosen_baseline(const ScalingAnswer& answer, const std::string& name) {
  if (name.empty()) return std::nullopt;
  const auto found =
      std::find_if(answer.arms.begin(), answer.arms.end(), [&](const Arm* arm) { return is_called(*arm, name); });
  if (found == answer.arms.end()) return std::nullopt;
  return static_cast<std::size_t>(found - answer.arms.begin());
}

Tone tone_of(ScalingBand band) {
  switch (band) {
    case ScalingBand::excellent:
    case ScalingBand::good: return Tone::good;
    case ScalingBand::fair: return Tone::warning;
    case ScalingBand::poor:
    case ScalingBand::not_comparable: return Tone::bad;
    case ScalingBand::baseline: return Tone::plain;
    case ScalingBand::no_baseline: return Tone::muted;
  }
  return Tone::plain;
}

/// Of the runs that are used, or of those that cannot be.
Figure verdict_of(const Arm& arm) {
  const auto& runs = arm.has_result() ? arm.usable : arm.others;
  const auto worst = std::max_element(runs.begin(), runs.end(),
                                      [](const auto* a, const auto* b) { return a->run.verdict < b->run.verdict; });
  return {std::string(verdict_name((*worst)->run)), tone_of((*worst)->run.verdict)};
}

FigureTable summary_table(const ScalingAnswer& answer, const ScalingAnalysis& curve, const std::string& id) {
  FigureTable table{.id = id,
                    .title = curve.group,
                    .columns = {{"job_id", "Job ID", "", Align::left, false},
                                {"configuration", "Configuration", "", Align::left, true},
                                {"gpus", "GPUs", "", Align::right, false},
                                {"nodes", "Nodes", "", Align::right, false},
                                {"repeats", "Repeats", "", Align::right, false},
                                {"time_s", "Time (s)", "", Align::right, false},
                                {"time_per_epoch_s", "Time/Epoch (s)", "", Align::right, false},
                                {"val_loss", "Val Loss", "", Align::right, false},
                                {"val_acc", "Val Acc", "", Align::right, false},
                                {"verdict", "Runs", "", Align::left, false}}};
  if (!on_gpus(answer.arms.front()->any())) table.columns[2].title = "Ranks";
  for (const auto& row : curve.rows) {
    const Arm& arm = *answer.arms[row.point];
    std::optional<double> seconds = row.seconds;
    if (!seconds) seconds = mean_of_metric(arm, "train_seconds");
    table.rows.push_back({answer.points[row.point].job, size_name(arm.any()), count_figure(row.ranks),
                          count_figure(row.nodes), count_figure(static_cast<double>(row.repeats)),
                          seconds_figure(seconds), seconds_figure(row.seconds_per_epoch), fixed_figure(row.val_loss, 4),
                          fixed_figure(row.val_accuracy, 4), verdict_of(arm)});
  }
  for (const Arm* arm : answer.unusable) {
    const Run& run = arm->any();
    if (variant_beside_size(run) != curve.group) continue;
    table.rows.push_back({job_of(run),
                          size_name(run),
                          count_figure(run.ranks),
                          count_figure(run.nodes),
                          count_figure(static_cast<double>(arm->others.size())),
                          {},
                          {},
                          {},
                          {},
                          verdict_of(*arm)});
  }
  return table;
}

Figure band_figure(const ScalingRow& row) {
  std::string text(name_of(row.band));
  if (row.band_uncertain) text += " (uncertain)";
  return {text, tone_of(row.band)};
}

FigureTable speedup_table(const ScalingAnswer& answer, const ScalingAnalysis& curve, const std::string& id) {
  FigureTable table{.id = id,
                    .title = "",
                    .columns = {{"configuration", "Configuration", "", Align::left, true},
                                {"throughput_samples_per_s", "Throughput (samples/s)", "", Align::right, false},
                                {"speedup", "Speed-up", "×", Align::right, false},
                                {"speedup_interval", "95 % interval", "", Align::right, false},
                                {"ideal", "Ideal", "×", Align::right, false},
                                {"expected", "Expected", "×", Align::right, false},
                                {"efficiency_percent", "Efficiency", " %", Align::right, false},
                                {"effective_batch", "Effective batch", "", Align::right, false},
                                {"verdict", "Verdict", "", Align::left, false}}};
  for (const auto& row : curve.rows) {
    const ScalingPoint& point = answer.points[row.point];
    const auto batch = point.effective_batch;
    table.rows.push_back({size_name(answer.arms[row.point]->any()), rate_figure(row.throughput),
                          fixed_figure(row.speedup, 2), range_figure(row.speedup_interval, 2),
                          fixed_figure(row.ideal_speedup, 0),
                          row.expected ? range_figure(Interval{row.expected->low, row.expected->high}, 1) : Figure(),
                          percent_figure(row.efficiency), batch ? count_figure(static_cast<double>(*batch)) : Figure(),
                          band_figure(row)});
  }
  table.notes.push_back(curve.baseline_note);
  return table;
}

ChartSeries series_of(std::string name, Stroke stroke) { return {.name = std::move(name), .stroke = stroke}; }

void add_fits(XyChart& chart, const ScalingAnalysis& curve, int most) {
  const auto add = [&](std::string name, const auto& fit) {
    ChartSeries line = series_of(std::move(name), Stroke::dashed);
    for (int ranks = 1; ranks <= most; ++ranks) line.points.push_back({.x = double(ranks), .y = fit.predict(ranks)});
    chart.series.push_back(std::move(line));
  };
  if (curve.universal) {
    add("Universal Scalability Law", *curve.universal);
  } else if (curve.amdahl) {
    add("Amdahl's law", *curve.amdahl);
  }
}

ChartBlock speedup_chart(const ScalingAnswer& answer) {
  XyChart chart{.x = {.label = on_gpus(answer.arms.front()->any()) ? "GPUs" : "Ranks", .unit = ""},
                .y = {.label = "Speed-up", .unit = "", .from_zero = true}};
  int most = 1;
  for (const auto& curve : answer.curves) {
    ChartSeries measured = series_of(curve.group.empty() ? "measured" : curve.group, Stroke::line);
    for (const auto& row : curve.rows) {
      most = std::max(most, row.ranks);
      if (!row.speedup) continue;
      ChartPoint point{.x = double(row.ranks), .y = *row.speedup, .marked = row.band == ScalingBand::not_comparable};
      if (row.speedup_interval) point.range = std::pair(row.speedup_interval->low, row.speedup_interval->high);
      measured.points.push_back(point);
    }
    chart.series.push_back(std::move(measured));
  }
  ChartSeries ideal = series_of("ideal", Stroke::dashed);
  ideal.points = {{.x = 1, .y = 1}, {.x = double(most), .y = double(most)}};
  chart.series.push_back(std::move(ideal));
  if (answer.curves.size() == 1) {
    const ScalingAnalysis& curve = answer.curves.front();
    ChartSeries expected = series_of("expected range", Stroke::expected_range);
    expected.points.push_back({.x = 1, .y = 1, .range = std::pair(1.0, 1.0)});
    for (const auto& row : curve.rows) {
      if (!row.expected) continue;
      expected.points.push_back({.x = double(row.ranks),
                                 .y = (row.expected->low + row.expected->high) / 2,
                                 .range = std::pair(row.expected->low, row.expected->high)});
    }
    if (expected.points.size() > 1) chart.series.push_back(std::move(expected));
    add_fits(chart, curve, most);
  }
  return {.id = "speedup", .title = "Speed-up", .chart = std::move(chart)};
}

ChartBlock efficiency_chart(const ScalingAnswer& answer) {
  XyChart chart{.x = {.label = on_gpus(answer.arms.front()->any()) ? "GPUs" : "Ranks", .unit = ""},
                .y = {.label = "Efficiency", .unit = "ratio", .from_zero = true},
                .references = {{"75 %", 0.75}}};
  for (const auto& curve : answer.curves) {
    ChartSeries measured = series_of(curve.group.empty() ? "measured" : curve.group, Stroke::line);
    for (const auto& row : curve.rows) {
      if (!row.efficiency) continue;
      ChartPoint point{.x = double(row.ranks), .y = *row.efficiency, .marked = row.band == ScalingBand::not_comparable};
      if (row.efficiency_interval) point.range = std::pair(row.efficiency_interval->low, row.efficiency_interval->high);
      measured.points.push_back(point);
    }
    chart.series.push_back(std::move(measured));
  }
  return {.id = "efficiency",
          .title = "Efficiency",
          .caption = "Speed-up over the ideal one.",
          .chart = std::move(chart),
          .in_terminal = false};
}

std::string share_range(const std::optional<Interval>& interval) {
  return interval ? fmt::format(" (95 % interval {:.1f}–{:.1f} %)", interval->low * 100, interval->high * 100) : "";
}

std::string plain_range(const std::optional<Interval>& interval) {
  return interval ? fmt::format(" ({:.4f}–{:.4f})", interval->low, interval->high) : "";
}

std::string amdahl_sentence(const AmdahlFit& fit) {
  std::string text =
      fmt::format("Amdahl's law: {} serial{}", percent_text(fit.serial_share), share_range(fit.serial_share_interval));
  if (fit.limit) text += fmt::format(", so never more than about {:.1f}×", *fit.limit);
  const auto& interval = fit.serial_share_interval;
  if (fit.limit && interval && interval->high > 0)
    text += interval->low > 0 ? fmt::format(" ({:.1f}–{:.1f}×)", 1 / interval->high, 1 / interval->low)
                              : fmt::format(" (at least {:.1f}×; no upper bound can be told)", 1 / interval->high);
  return text + fmt::format("; it fits within {}.", percent_text(fit.relative_error));
}

/// One law, that which the sizes support: the bounds of two would contradict each other.
std::string fit_sentence(const ScalingAnalysis& curve) {
  if (curve.amdahl) return amdahl_sentence(*curve.amdahl);
  if (!curve.universal) return "";
  const UniversalFit& fit = *curve.universal;
  return fmt::format(
      "Universal Scalability Law: contention {:.4f}{}, coherence {:.5f}{}; speed-up peaks at about {:.0f} "
      "ranks with {:.1f}×, and falls beyond; it fits within {}{}.",
      fit.contention, plain_range(fit.contention_interval), fit.coherence, plain_range(fit.coherence_interval),
      *fit.best_ranks, fit.predict(*fit.best_ranks), percent_text(fit.relative_error),
      fit.exact ? " (two sizes for two parameters: a guide, not a test)" : "");
}

void add_causes(const ScalingAnswer& answer, const ScalingAnalysis& curve, FindingList& list) {
  for (const auto& row : curve.rows) {
    for (const auto& cause : row.causes) {
      list.findings.push_back({Severity::warning, "scaling_" + cause.kind, size_name(answer.arms[row.point]->any()),
                               cause.evidence, "", cause.remedy});
    }
    if (row.differences.empty()) continue;
    list.findings.push_back({Severity::problem, "scaling_not_comparable", size_name(answer.arms[row.point]->any()),
                             "It differs from the baseline in more than its size.", join(row.differences, "; "),
                             "Measure both with the same settings."});
  }
}

/// Logs do not say everything: what one of them leaves out is no difference.
void keep_common_settings(std::vector<ScalingPoint>& points) {
  std::map<std::string, std::size_t> count;
  for (const auto& point : points) {
    for (const auto& [name, value] : point.settings) ++count[name];
  }
  for (auto& point : points) {
    std::erase_if(point.settings, [&](const auto& setting) { return count[setting.first] < points.size(); });
  }
}

bool imported(const Run& run) { return std::find(run.tags.begin(), run.tags.end(), "imported") != run.tags.end(); }

}  // namespace

std::string size_name(const Run& run) { return configuration_name(run.ranks, run.nodes, device_noun(run)); }

std::optional<ScalingAnswer> scaling_answer(std::span<const Arm> arms, const ReportOptions& options) {
  std::map<std::string, std::set<std::pair<int, int>>> sizes;
  for (const auto& arm : arms) {
    if (arm.has_result()) sizes[family_of(arm.any())].emplace(arm.any().ranks, arm.any().nodes);
  }
  ScalingAnswer answer;
  for (const auto& arm : arms) {
    const auto family = sizes.find(family_of(arm.any()));
    if (family == sizes.end() || family->second.size() < 2) continue;
    (arm.has_result() ? answer.arms : answer.unusable).push_back(&arm);
  }
  if (answer.arms.empty()) return std::nullopt;
  for (const auto* arm : answer.arms) answer.points.push_back(point_of(*arm));
  const auto any_imported = [](const Arm* arm) { return imported(arm->any()); };
  if (std::any_of(answer.arms.begin(), answer.arms.end(), any_imported)) keep_common_settings(answer.points);
  ScalingSettings settings;
  settings.baseline = chosen_baseline(answer, options.baseline);
  answer.curves = analyse_scaling_sweep(answer.points, settings);
  return answer;
}

std::optional<Section> scaling_section(const Answers& answers) {
  if (!answers.scaling) return std::nullopt;
  const ScalingAnswer& answer = *answers.scaling;
  Section section;
  FindingList causes{.id = "scaling_causes", .if_empty = ""};
  std::vector<Paragraph> remarks;
  for (std::size_t i = 0; i < answer.curves.size(); ++i) {
    const auto& curve = answer.curves[i];
    const std::string suffix = i == 0 ? "" : fmt::format("_{}", i + 1);
    section.blocks.emplace_back(summary_table(answer, curve, "scaling" + suffix));
    section.blocks.emplace_back(speedup_table(answer, curve, "speedup_table" + suffix));
    if (auto fit = fit_sentence(curve); !fit.empty()) remarks.push_back({std::move(fit)});
    for (const auto& note : curve.notes) remarks.push_back({note});
    for (const auto& reason : curve.accuracy.reasons) remarks.push_back({reason, Tone::warning});
    if (curve.accuracy.outcome == AccuracyConsistency::consistent) {
      remarks.push_back({curve.accuracy.tested ? "Validation figures agree at all sizes (tested)."
                                               : "Validation figures agree within tolerance at all sizes; too few "
                                                 "repeats to test it."});
    }
    add_causes(answer, curve, causes);
  }
  const bool any_speedup = std::any_of(answer.curves.begin(), answer.curves.end(),
                                       [](const auto& curve) { return curve.baseline.has_value(); });
  if (any_speedup) {
    section.blocks.emplace_back(speedup_chart(answer));
    section.blocks.emplace_back(efficiency_chart(answer));
  }
  for (auto& remark : remarks) section.blocks.emplace_back(std::move(remark));
  if (!causes.findings.empty()) section.blocks.emplace_back(std::move(causes));
  return section;
}

}  // namespace assay
