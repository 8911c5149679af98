#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "importers/csv/csv_names.h"
#include "importers/draft_study.h"
#include "model/metric.h"

namespace assay {
namespace {

/// Final values, as our own runs have them. The last value decides: a training that ended in NaN has no result.
void put_last_values(DraftRun& draft) {
  Run& run = draft.run();
  for (const auto& series : draft.recorded.series) {
    if (series.points.empty() || !series.key.labels.empty() || series.key.name.starts_with("sample.")) continue;
    const double last = series.points.back().value;
    put_metric(run, series.key.name, last);
    const auto strange = std::count_if(series.points.begin(), series.points.end(),
                                       [](const SeriesPoint& point) { return !std::isfinite(point.value); });
    if (std::isfinite(last)) {
      if (strange > 0) {
        run.flags.push_back({"non_finite_values", series.key.name,
                             fmt::format("{} of its {} values are not finite", strange, series.points.size())});
      }
      continue;
    }
    run.flags.push_back({"non_finite", series.key.name, fmt::format("the last value is {}", last)});
    draft.figures_unusable = true;
  }
}

/// One row per request is a distribution: what it comes to are percentiles, not its last value.
void put_distributions(DraftRun& draft) {
  for (auto& series : draft.recorded.series) {
    const auto times = sample_times(series.key.name);
    if (!times || series.points.size() < 2 || !series.key.labels.empty()) continue;
    std::vector<double> seconds;
    seconds.reserve(series.points.size());
    for (auto& point : series.points) seconds.push_back(point.value *= times->seconds);
    series.key.name = fmt::format("sample.{}_seconds", times->prefix);
    series.unit = "s";
    put_percentiles(draft.run(), times->prefix, std::move(seconds));
  }
}

/// How a run ended, by the word of the program that kept it.
void put_status(Run& run, const std::string& status) {
  static constexpr std::array<std::string_view, 8> kStopped = {"killed",  "canceled",   "cancelled", "preempted",
                                                               "stopped", "preempting", "aborted",   "interrupted"};
  static constexpr std::array<std::string_view, 9> kFailed = {
      "failed", "failure", "crashed", "error", "errored", "out_of_memory", "oom", "timeout", "diverged"};
  static constexpr std::array<std::string_view, 4> kGoesOn = {"running", "scheduled", "queued", "pending"};
  const std::string word = lower_case(status);
  const auto is_one_of = [&](const auto& words) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (is_one_of(kStopped)) {
    run.error = RunError{.kind = ErrorKind::interrupted, .message = fmt::format("its table says '{}'", status)};
  } else if (is_one_of(kGoesOn)) {
    run.error = RunError{.kind = ErrorKind::interrupted,
                         .message = fmt::format("its table says '{}': exported before its end", status)};
  } else if (is_one_of(kFailed)) {
    run.error = RunError{.kind = error_kind_in(status), .message = fmt::format("its table says '{}'", status)};
  }
}

/// What a table of runs says beside metrics. Columns with the name of a setting are settings there, not metrics.
void put_table_row(DraftRun& draft, const CsvRun& imported) {
  Run& run = draft.run();
  put_status(run, imported.status);
  if (imported.created_ns) run.created = run.started = WallTime(Nanos(*imported.created_ns));
  std::int64_t span = 0;
  if (imported.created_ns && imported.ended_ns &&
      !__builtin_sub_overflow(*imported.ended_ns, *imported.created_ns, &span) && span >= 0) {
    run.ended = WallTime(Nanos(*imported.ended_ns));
    put_duration(run, static_cast<double>(span) / 1e9);
  }
  auto settings = imported.settings;
  for (const auto& [column, text] : imported.texts) {
    if (is_setting_name(column)) settings.emplace(column, text);
  }
  std::erase_if(draft.recorded.series, [&](const SeriesWithPoints& series) {
    if (!is_setting_name(series.source_name) || series.points.empty()) return false;
    settings.emplace(series.source_name, fmt::format("{}", series.points.back().value));
    return true;
  });
  put_settings(run.spec, settings);
  // Its settings set it apart, where there are any; runs with the same ones are repeats.
  if (!settings.empty()) run.variant.clear();
}

void put_times(Run& run, const std::vector<SeriesWithPoints>& all, bool relative) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const auto& series : all) {
    for (const auto& point : series.points) {
      if (point.time_ns == 0 && !relative) continue;
      first = std::min(first, point.time_ns);
      last = std::max(last, point.time_ns);
    }
  }
  std::int64_t span = 0;
  if (first > last || __builtin_sub_overflow(last, relative ? 0 : first, &span)) return;
  if (!relative) {
    run.started = WallTime(Nanos(first));
    run.ended = WallTime(Nanos(last));
  }
  if (span > 0) put_duration(run, static_cast<double>(span) / 1e9);
}

/// Adds what another file says about the same run.
void join_run(DraftRun& into, DraftRun from) {
  Run& run = into.run();
  Run& added = from.run();
  run.metrics.merge(added.metrics);
  run.flags.insert(run.flags.end(), added.flags.begin(), added.flags.end());
  std::move(from.recorded.series.begin(), from.recorded.series.end(), std::back_inserter(into.recorded.series));
  into.figures_unusable |= from.figures_unusable;
  if (added.started != WallTime{} && (run.started == WallTime{} || added.started < run.started))
    run.started = added.started;
  run.ended = std::max(run.ended, added.ended);
  const Nanos duration = run.started == WallTime{} ? std::max(run.duration, added.duration) : run.ended - run.started;
  if (duration > Nanos::zero()) put_duration(run, seconds_of(duration));
}

bool has_common_series(const std::vector<SeriesWithPoints>& a, const std::vector<SeriesWithPoints>& b) {
  std::set<SeriesKey> keys;
  for (const auto& series : a) keys.insert(series.key);
  return std::any_of(b.begin(), b.end(), [&](const auto& series) { return keys.contains(series.key); });
}

/// Adds a run of a file and returns its place. Trackers export one file per metric: what two files say about other
/// metrics of a run of the same name is one run.
std::size_t add_run(DraftStudy& draft, const CsvRun& imported, const NamedCsv& file) {
  const std::string name = imported.name.empty() ? fs::path(file.name).stem().string() : imported.name;
  DraftRun added = draft_run(ImportFormat::csv, "import", name);
  // The file says nothing of settings: its name is all that sets the run apart.
  added.run().variant = name;
  added.recorded.series = imported.series;
  for (auto& series : added.recorded.series) {
    const MetricInfo* info = find_metric(series.key.name);
    if (series.unit.empty() && info) series.unit = info->unit;
  }
  put_distributions(added);
  put_times(added.run(), added.recorded.series, file.metrics.relative_time);
  if (imported.from_table) put_table_row(added, imported);
  put_last_values(added);
  if (added.run().created == WallTime{}) added.run().created = added.run().started;
  const auto known =
      std::find_if(draft.runs.begin(), draft.runs.end(), [&](DraftRun& one) { return one.run().name == name; });
  if (known == draft.runs.end() || imported.from_table) {
    draft.runs.push_back(std::move(added));
    return draft.runs.size() - 1;
  }
  if (imported.name.empty() || has_common_series(known->recorded.series, added.recorded.series)) {
    added.run().variant = fmt::format("{} ({})", name, file.name);
    draft.runs.push_back(std::move(added));
    return draft.runs.size() - 1;
  }
  join_run(*known, std::move(added));
  return static_cast<std::size_t>(known - draft.runs.begin());
}

}  // namespace

ImportedStudy study_from_csv(std::span<const NamedCsv> files) {
  DraftStudy draft;
  for (const auto& file : files) {
    std::size_t place = 0;
    for (const auto& imported : file.metrics.runs) place = add_run(draft, imported, file);
    auto& flags = file.metrics.runs.size() == 1 ? draft.runs[place].run().flags : draft.flags;
    flags.insert(flags.end(), file.metrics.flags.begin(), file.metrics.flags.end());
  }
  settle_variants(draft);
  return finish_study(std::move(draft));
}

}  // namespace assay
