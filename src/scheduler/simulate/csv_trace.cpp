#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "importers/csv/csv_reader.h"
#include "scheduler/simulate/trace_reader.h"

namespace assay {
namespace {

enum class TraceColumn { submitted, duration, estimate, user, gpus, nodes, model, priority, name, limit };

struct TraceTitle {
  std::string_view title;
  TraceColumn column;
};

constexpr std::array<TraceTitle, 21> kTitles = {{
    {"submit", TraceColumn::submitted},  {"submitted", TraceColumn::submitted}, {"submit_time", TraceColumn::submitted},
    {"arrival", TraceColumn::submitted}, {"duration", TraceColumn::duration},   {"seconds", TraceColumn::duration},
    {"runtime", TraceColumn::duration},  {"run_time", TraceColumn::duration},   {"elapsed", TraceColumn::duration},
    {"estimate", TraceColumn::estimate}, {"user", TraceColumn::user},           {"gpus", TraceColumn::gpus},
    {"num_gpus", TraceColumn::gpus},     {"nodes", TraceColumn::nodes},         {"num_nodes", TraceColumn::nodes},
    {"gpu_model", TraceColumn::model},   {"model", TraceColumn::model},         {"priority", TraceColumn::priority},
    {"name", TraceColumn::name},         {"limit", TraceColumn::limit},         {"time_limit", TraceColumn::limit},
}};
/// The longest anything may take, and the latest it may come: a hundred years.
constexpr double kMostSeconds = 3.2e9;

class CsvTrace {
 public:
  CsvTrace(std::string_view text, const std::string& name)
      : reader_(text, sniff_separator(text)),
        name_(name),
        users_(trace_.users),
        names_(trace_.names),
        models_(trace_.models) {
    models_.number_of("");
  }

  Result<Trace> read() {
    if (!reader_.next(cells_)) return wrong(1, "the file is empty", "It needs a line of titles and a line per job.");
    ASSAY_CHECK(read_titles());
    while (reader_.next(cells_)) ASSAY_CHECK(read_job());
    if (trace_.jobs.empty()) return wrong(1, "there is no job in it", "Write a line per job below the titles.");
    settle_trace(trace_);
    return std::move(trace_);
  }

 private:
  Error wrong(std::int64_t line, std::string message, std::string hint = "") const {
    return {.kind = ErrorKind::bad_file,
            .message = std::move(message),
            .hint = std::move(hint),
            .at = fmt::format("{}:{}", name_, line)};
  }

  Result<void> read_titles() {
    columns_.fill(std::nullopt);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      const std::string title = lower_case(trim(cells_[i]));
      const auto known =
          std::find_if(kTitles.begin(), kTitles.end(), [&](const TraceTitle& one) { return one.title == title; });
      if (known == kTitles.end()) continue;
      auto& column = columns_[static_cast<std::size_t>(known->column)];
      if (column) return wrong(1, fmt::format("column '{}' says what another one says already", printable(title)));
      column = i;
    }
    for (const TraceColumn needed : {TraceColumn::submitted, TraceColumn::duration}) {
      if (columns_[static_cast<std::size_t>(needed)]) continue;
      return wrong(1, fmt::format("there is no column '{}'", needed == TraceColumn::submitted ? "submit" : "duration"),
                   "The titles are: submit, duration, and as wanted estimate, user, gpus, nodes, gpu_model, priority, "
                   "name, limit.");
    }
    return {};
  }

  std::string_view cell(TraceColumn column) const {
    const auto place = columns_[static_cast<std::size_t>(column)];
    return place && *place < cells_.size() ? trim(cells_[*place]) : std::string_view();
  }

  /// A number within bounds; the fallback where the cell is empty or not there.
  Result<double> figure(TraceColumn column, std::string_view title, double low, double high, double fallback) const {
    const std::string_view text = cell(column);
    if (text.empty()) return fallback;
    auto value = trace_number(text);
    if (!value) value = seconds_of_date(text);
    if (!value && text.find(':') != std::string_view::npos) value = seconds_of_elapsed(text);
    if (value && *value >= low && *value <= high) return *value;
    return wrong(reader_.line(),
                 fmt::format("{} '{}' is not a number from {} to {}", title, printable(text), low, high));
  }

  Result<void> read_job() {
    TraceJob job;
    if (cell(TraceColumn::submitted).empty()) return wrong(reader_.line(), "a job says no time of its submission");
    ASSAY_TRY(job.submitted, figure(TraceColumn::submitted, "submit", 0, kMostSeconds, 0));
    ASSAY_TRY(job.seconds, figure(TraceColumn::duration, "duration", 0, kMostSeconds, 0));
    ASSAY_TRY(job.estimate, figure(TraceColumn::estimate, "estimate", 0, kMostSeconds, 0));
    ASSAY_TRY(job.limit, figure(TraceColumn::limit, "limit", 0, kMostSeconds, 0));
    ASSAY_TRY(const double gpus, figure(TraceColumn::gpus, "gpus", 1, 64, 1));
    ASSAY_TRY(const double nodes, figure(TraceColumn::nodes, "nodes", 1, 10'000, 1));
    ASSAY_TRY(const double priority, figure(TraceColumn::priority, "priority", -1000, 1000, 0));
    if (job.seconds <= 0) {
      return wrong(reader_.line(), "a job has no duration above 0", "Leave jobs out that never ran.");
    }
    // Nobody who writes an estimate down is ever quite right.
    job.log_error = job.estimate > 0 ? 0.5 : 0;
    job.gpus = static_cast<std::uint16_t>(gpus);
    job.nodes = static_cast<std::uint16_t>(nodes);
    job.priority = static_cast<std::int32_t>(priority);
    job.user = users_.number_of(cell(TraceColumn::user));
    job.name = names_.number_of(cell(TraceColumn::name));
    job.model = models_.number_of(cell(TraceColumn::model));
    trace_.jobs.push_back(job);
    return {};
  }

  CsvReader reader_;
  const std::string& name_;
  Trace trace_;
  TraceWords users_;
  TraceWords names_;
  TraceWords models_;
  std::vector<std::string_view> cells_;
  std::array<std::optional<std::size_t>, 10> columns_{};
};

}  // namespace

Result<Trace> read_csv_trace(std::string_view text, const std::string& name) { return CsvTrace(text, name).read(); }

}  // namespace assay
