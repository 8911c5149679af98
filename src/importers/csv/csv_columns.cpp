#include "importers/csv/csv_columns.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/clock.h"
#include "base/text.h"
#include "importers/text/figure.h"

namespace assay {
namespace {

// In the order in which they are preferred where a file has several.
constexpr std::array<std::string_view, 7> kSteps = {"_step",     "step", "global_step", "trainer/global_step",
                                                    "iteration", "iter", "epoch"};
constexpr std::array<std::string_view, 8> kTimestamps = {"_timestamp", "timestamp", "wall time", "wall_time",
                                                         "datetime",   "date",      "time",      "walltime"};
constexpr std::array<std::string_view, 7> kRuntimes = {
    "_runtime", "relative time (process)", "relative time (wall)", "relative time", "elapsed", "duration", "runtime"};
constexpr std::array<std::string_view, 8> kRuns = {"run",           "run name", "run_name", "experiment",
                                                   "experimentkey", "name",     "run id",   "run_id"};
// A name for people before an id, since rows are told apart already.
constexpr std::array<std::string_view, 4> kTitles = {"tags.mlflow.runname", "run name", "run_name", "name"};
constexpr std::array<std::string_view, 3> kStatuses = {"status", "state", "run_state"};
constexpr std::array<std::string_view, 6> kCreated = {"created",    "created_at", "createdat",
                                                      "start_time", "start time", "started"};
constexpr std::array<std::string_view, 4> kEnded = {"end_time", "end time", "ended", "finished_at"};
constexpr std::array<std::string_view, 5> kMetricNames = {"metric", "metricname", "metric_name", "key", "metric name"};
constexpr std::array<std::string_view, 4> kMetricValues = {"value", "metricvalue", "metric_value", "metric value"};

using Names = std::vector<std::string>;

/// The first column whose title is one of `candidates`, the earlier candidate first.
template <typename Candidates>
std::optional<std::size_t> column_of(const Names& titles, const Candidates& candidates) {
  for (const auto candidate : candidates) {
    const auto found = std::find(titles.begin(), titles.end(), candidate);
    if (found != titles.end()) return static_cast<std::size_t>(found - titles.begin());
  }
  return std::nullopt;
}

template <typename Candidates>
bool is_one_of(std::string_view title, const Candidates& candidates) {
  return std::find(candidates.begin(), candidates.end(), title) != candidates.end();
}

/// Exact times before wall-clock times before times since the start.
void find_time(const Names& titles, CsvColumns& columns) {
  const auto take = [&](std::optional<std::size_t> column, CsvColumns::TimeKind kind) {
    if (columns.time || !column) return;
    columns.time = column;
    columns.time_kind = kind;
  };
  take(column_of(titles, std::array<std::string_view, 1>{"time_ns"}), CsvColumns::TimeKind::nanoseconds);
  take(column_of(titles, kTimestamps), CsvColumns::TimeKind::timestamp);
  take(column_of(titles, kRuntimes), CsvColumns::TimeKind::runtime);
}

/// True for a table of runs; its columns are found then. What has steps is no such table.
bool find_run_table(const Names& titles, CsvColumns& columns) {
  const auto has_prefix = [&](std::string_view prefix) {
    return std::any_of(titles.begin(), titles.end(), [&](const auto& title) { return title.starts_with(prefix); });
  };
  const bool mlflow = has_prefix("metrics.") || has_prefix("params.");
  columns.status = column_of(titles, kStatuses);
  columns.created = column_of(titles, kCreated);
  columns.run = column_of(titles, kTitles);
  if (!columns.run) columns.run = column_of(titles, kRuns);
  columns.row_per_run = !columns.step && columns.run && (mlflow || columns.status || columns.created);
  if (!columns.row_per_run) {
    columns.status.reset();
    columns.created.reset();
    columns.run = column_of(titles, kRuns);
    return false;
  }
  columns.ended = column_of(titles, kEnded);
  for (std::size_t i = 0; i < titles.size(); ++i) {
    if (i == columns.time || i == columns.run || i == columns.status || i == columns.created || i == columns.ended)
      continue;
    const bool metric = mlflow ? titles[i].starts_with("metrics.") : true;
    if (titles[i].starts_with("params.")) {
      columns.settings.push_back(i);
    } else if (!metric || is_one_of(titles[i], kRuns) || is_one_of(titles[i], kTimestamps)) {
      columns.ignored.push_back(i);
    } else {
      columns.metrics.push_back(i);
    }
  }
  return true;
}

}  // namespace

CsvColumns find_columns(const std::vector<std::string>& titles) {
  CsvColumns columns;
  // Our own: one run, or several with a column for the run in front.
  const std::size_t first = !titles.empty() && titles[0] == "run" ? 1 : 0;
  if (titles.size() >= first + 2 && titles[first] == "step" && titles[first + 1] == "time_ns") {
    columns.layout = CsvLayout::assay;
    if (first > 0) columns.run = 0;
    columns.step = first;
    columns.time = first + 1;
    columns.time_kind = CsvColumns::TimeKind::nanoseconds;
    for (std::size_t i = first + 2; i < titles.size(); ++i) columns.metrics.push_back(i);
    return columns;
  }
  Names lower;
  for (const auto& title : titles) lower.push_back(lower_case(trim(title)));
  columns.step = column_of(lower, kSteps);
  find_time(lower, columns);
  columns.metric = column_of(lower, kMetricNames);
  columns.value = column_of(lower, kMetricValues);
  if (columns.metric && columns.value) {
    columns.layout = CsvLayout::tall;
    columns.run = column_of(lower, kRuns);
    return columns;
  }
  columns.metric.reset();
  if (columns.value && columns.step && columns.time && titles.size() == 3) {
    columns.layout = CsvLayout::tensorboard;
    return columns;
  }
  columns.value.reset();
  if (find_run_table(lower, columns)) return columns;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    if (i == columns.step || i == columns.time || i == columns.run) continue;
    const bool second = (is_one_of(lower[i], kSteps) && lower[i] != "epoch") || is_one_of(lower[i], kTimestamps) ||
                        is_one_of(lower[i], kRuntimes);
    (second ? columns.ignored : columns.metrics).push_back(i);
  }
  columns.run_in_titles = !columns.run && !columns.metrics.empty() &&
                          std::all_of(columns.metrics.begin(), columns.metrics.end(),
                                      [&](std::size_t i) { return titles[i].find(" - ") != std::string::npos; });
  return columns;
}

std::optional<std::int64_t> time_from_cell(std::string_view cell) {
  cell = trim(cell);
  std::int64_t whole = 0;
  const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), whole);
  const bool is_whole = code == std::errc() && end == cell.data() + cell.size();
  if (const auto number = sole_number(cell)) {
    const double size = std::abs(number->value);
    if (!(size < 9e18)) return std::nullopt;
    // 9·10⁹ seconds since 1970 are the year 2255, and as much as 64 bits of nanoseconds hold.
    const std::int64_t scale = size < 9e9 ? 1'000'000'000 : size < 9e12 ? 1'000'000 : size < 9e15 ? 1'000 : 1;
    if (is_whole) return whole * scale;
    return static_cast<std::int64_t>(number->value) * scale +
           static_cast<std::int64_t>(
               std::llround((number->value - std::trunc(number->value)) * static_cast<double>(scale)));
  }
  if (cell.size() < 19 || cell.size() > 40) return std::nullopt;
  std::string text(cell);
  if (text[10] == ' ') text[10] = 'T';
  if (text.ends_with("+00:00")) text.resize(text.size() - 6);
  if (!text.ends_with('Z')) text += 'Z';
  const auto time = parse_iso8601(text);
  return time ? std::optional(time->time_since_epoch().count()) : std::nullopt;
}

}  // namespace assay
