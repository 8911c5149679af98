#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cost.h"
#include "analysis/significance.h"
#include "base/units.h"
#include "model/load_profile.h"
#include "model/price_book.h"
#include "model/run.h"
#include "model/series.h"
#include "model/study.h"

namespace assay {

/// The course of one series, thinned out for drawing; the exact figures are in the run's summaries.
struct RunSeries {
  SeriesKey key;
  std::string unit;
  std::vector<SeriesPoint> points;
};

struct RecordedRun {
  Run run;
  std::vector<RunSeries> series;
  std::optional<LoadProfile> load = std::nullopt;  ///< of `kind: serve`, where it left one that can be read
};

struct ReportOptions {
  std::optional<Price> price;  ///< instead of the one in the specification
  PriceBook book;              ///< for what neither states
  std::optional<GridIntensity> grid;
  std::optional<double> production_samples;  ///< to price a job of this many samples
  int production_nodes = 1;
  std::string baseline;  ///< a variant or run to compare with; empty: one rank, or the first configuration
  std::map<std::string, Direction> goals;  ///< which way metrics are better, whatever name and specification say
};

/// One thing that was checked on a machine before its first run.
struct PreflightCheck {
  std::string host;
  std::string check;  ///< "CPU governor"
  std::string level;  ///< "ok", "note", "warning", "problem"
  std::string found;
};

/// Everything a report is made from.
struct ReportInput {
  std::string title;
  std::optional<Study> study;
  std::vector<RecordedRun> runs;  ///< by plan, or oldest first
  std::size_t deleted = 0;        ///< of those that were named: deleted since, so that nothing is known of them
  std::vector<PreflightCheck> preflight;
  ReportOptions options;
};

// What follows from one run's record.

/// Valid or flagged: its figures may be used. All others are shown with their mark, and nothing is computed from them.
bool usable(const Run& run);
/// "valid", "running", …: the verdict, or the state of a run that has not ended.
std::string_view verdict_name(const Run& run);
/// Why its figures must not be used, or what went wrong; empty for a valid run.
std::string trouble_of(const Run& run);

std::optional<double> metric_of(const Run& run, std::string_view name);
const SeriesSummary* summary_of(const Run& run, std::string_view name);
/// The mean over time and devices of a telemetry series; of an imported run, the figure its file states.
std::optional<double> mean_of_series(const Run& run, std::string_view name);
std::optional<double> highest_of_series(const Run& run, std::string_view name);
/// Of a run on several nodes: their names, as its system metrics have them.
std::vector<std::string> measured_nodes(const Run& run);
/// The run with the series of that node alone, and nothing else that it has measured.
Run part_of_node(const Run& run, const std::string& node);

/// Whether the series was read often enough to tell what the run used: single readings tell a moment.
bool sampled_throughout(const Run& run, std::string_view name);

/// The best point of its curve, or the final value where that is better or there is no curve.
std::optional<double> best_of(const Run& run, std::string_view metric, bool lowest);
std::optional<double> best_val_loss(const Run& run);
std::optional<double> best_val_accuracy(const Run& run);
std::optional<double> tokens_per_sample(const Run& run);
std::optional<std::int64_t> effective_batch(const Run& run);
/// Peak memory of the GPUs, or of the host where the run had none.
struct MemoryPeak {
  double bytes = 0;
  bool on_gpu = false;
};
std::optional<MemoryPeak> peak_memory(const Run& run);
/// A price and where it comes from.
struct StatedPrice {
  Price price;
  std::string origin;          ///< "price book, *H200*: a list of 2026"; empty: somebody named it for this run
  std::optional<double> spot;  ///< what the same is where it may be taken away
};
/// The price that was asked for, else that of the specification, else that of the book for its GPUs, where all are of
/// one model. A price of GPU hours that the specification states does not hold for a run without a GPU: who means it
/// says so on the command line.
std::optional<StatedPrice> stated_price(const Run& run, const ReportOptions& options);
std::optional<Price> price_of(const Run& run, const ReportOptions& options);
/// The grid that was asked for, else that of the book.
std::optional<GridIntensity> grid_of(const ReportOptions& options);
/// Of the whole run, start-up and evaluations included: all of it is paid for.
std::optional<double> seconds_paid_for(const Run& run);
/// Whether it is known to have used no GPU. Of imported runs nothing is known.
bool ran_without_gpu(const Run& run);
/// Whether this machine did the work that was measured: a load on a server elsewhere says nothing of the client's GPUs.
bool worked_here(const Run& run);
Allocation allocation_of(const Run& run);

/// Every setting by its dotted name ("lora.rank": "16"), without names, tags, prices and what says where and how often
/// it runs.
std::map<std::string, std::string> settings_of(const Run& run);
/// The same without sizes and what follows from them: what must be equal in a scaling study.
std::map<std::string, std::string> settings_beside_size(const Run& run);

/// Kind and settings as one text: equal where two runs of one size did the same work.
std::string work_of(const Run& run);

/// The usable ones' values of a metric, in order; those that did not report it are left out.
std::vector<double> values_of(std::span<const RecordedRun* const> runs, std::string_view metric);

/// One configuration of a study, or one side of a comparison: its runs are repeats of each other.
struct Arm {
  std::string name;
  std::vector<const RecordedRun*> usable;
  std::vector<const RecordedRun*> others;  ///< failed, invalid, interrupted, still running
  const Run& any() const { return (usable.empty() ? others : usable).front()->run; }
  bool has_result() const { return !usable.empty(); }
};
/// Over the usable ones that have it.
std::optional<double> mean_metric(const Arm& arm, std::string_view name);
/// The seed of all of these runs, where they are several of kind `train` and share it: their figures of learning are
/// one figure, repeated.
bool share_one_seed(const Arm& arm);

/// By variant, in the order of first appearance; runs of no study are told apart by name and settings.
std::vector<Arm> arms_of(std::span<const RecordedRun> runs);

/// The metric that says how fast these runs were: samples, tokens or events a second, or their duration.
std::string speed_metric(std::span<const RecordedRun> runs);

}  // namespace assay
