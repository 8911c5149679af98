#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "scheduler/simulate/trace_reader.h"

namespace assay {
namespace {

constexpr std::string_view kAskFor =
    "sacct -aX --parsable2 --format=JobID,JobName,User,Submit,ElapsedRaw,State,NNodes,AllocTRES,TimelimitRaw";

/// GPUs of all nodes together, and their model where it is named: `billing=8,gres/gpu:h200=4,gres/gpu=4`, `gpu:h200:4`.
struct SacctGpus {
  double count = 0;
  std::string_view model;
};

SacctGpus gpus_in(std::string_view resources) {
  SacctGpus gpus;
  for (std::string_view part : split(resources, ',')) {
    part = trim(part);
    if (part.starts_with("gres/")) part.remove_prefix(5);
    if (!part.starts_with("gpu")) continue;
    part.remove_prefix(3);
    part = part.substr(0, part.find('('));  // the sockets
    const std::size_t mark = part.find_last_of("=:");
    if (mark == std::string_view::npos) continue;
    const auto count = trace_number(part.substr(mark + 1));
    if (!count || *count < 0) continue;
    gpus.count = std::max(gpus.count, *count);
    const std::string_view between = part.substr(0, mark);
    if (between.starts_with(':')) gpus.model = between.substr(1);
  }
  return gpus;
}

class SacctTrace {
 public:
  SacctTrace(std::string_view text, const std::string& name)
      : rest_(text), name_(name), users_(trace_.users), names_(trace_.names), models_(trace_.models) {
    models_.number_of("");
  }

  Result<Trace> read() {
    next_line();
    titles_ = std::vector<std::string>();
    for (const std::string_view title : split(line_, '|')) titles_.push_back(lower_case(trim(title)));
    for (const std::string_view needed : {"jobid", "submit", "state"}) {
      if (!column(needed)) return missing(needed);
    }
    if (!column("elapsedraw") && !column("elapsed")) return missing("elapsedraw");
    while (next_line()) {
      if (!line_.empty()) ASSAY_CHECK(read_job());
    }
    note(steps_, "steps of jobs");
    note(unended_, "jobs that never ran or have not ended");
    note(without_gpu_, "jobs without a GPU");
    if (trace_.jobs.empty()) {
      return Error{.kind = ErrorKind::bad_file,
                   .message = "there is no job with a GPU in it that ran and ended" +
                              (trace_.notes.empty() ? std::string() : " (left out: " + join(trace_.notes, ", ") + ")"),
                   .hint = fmt::format("Ask for them with `{}`.", kAskFor),
                   .at = name_};
    }
    settle_trace(trace_);
    return std::move(trace_);
  }

 private:
  bool next_line() {
    if (rest_.empty()) return false;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    ++line_number_;
    return true;
  }

  std::optional<std::size_t> column(std::string_view title) const {
    const auto place = std::find(titles_.begin(), titles_.end(), title);
    if (place == titles_.end()) return std::nullopt;
    return static_cast<std::size_t>(place - titles_.begin());
  }

  std::string_view cell(std::string_view title) const {
    const auto place = column(title);
    return place && *place < cells_.size() ? trim(cells_[*place]) : std::string_view();
  }

  Error missing(std::string_view title) const {
    return {.kind = ErrorKind::bad_file,
            .message = fmt::format("there is no column '{}'", title),
            .hint = fmt::format("Ask for it with `{}`.", kAskFor),
            .at = fmt::format("{}:1", name_)};
  }

  Error wrong(std::string_view title, std::string_view value, std::string_view rule) const {
    return {.kind = ErrorKind::bad_file,
            .message = fmt::format("{} '{}' {}", title, printable(value), rule),
            .at = fmt::format("{}:{}", name_, line_number_)};
  }

  void note(std::size_t count, std::string_view what) {
    if (count > 0) trace_.notes.push_back(fmt::format("{}: {}", what, count));
  }

  std::optional<double> elapsed() const {
    if (const std::string_view raw = cell("elapsedraw"); !raw.empty()) return trace_number(raw);
    return seconds_of_elapsed(cell("elapsed"));
  }

  double limit() const {
    if (const auto minutes = trace_number(cell("timelimitraw"))) return std::clamp(*minutes * 60, 0.0, 3.2e9);
    return std::clamp(seconds_of_elapsed(cell("timelimit")).value_or(0), 0.0, 3.2e9);
  }

  Result<void> read_job() {
    cells_ = split(line_, '|');
    if (cells_.size() < titles_.size()) {
      return wrong("the line", line_.substr(0, 60),
                   fmt::format("has {} fields, and the first line has {}", cells_.size(), titles_.size()));
    }
    if (cell("jobid").find('.') != std::string_view::npos) {
      ++steps_;
      return {};
    }
    const std::string_view state = cell("state");
    const auto seconds = elapsed();
    if (!seconds || *seconds < 0 || *seconds > 3.2e9) return wrong("elapsed", cell("elapsedraw"), "is not a duration");
    if (*seconds == 0 || state == "RUNNING" || state == "PENDING") {
      ++unended_;
      return {};
    }
    SacctGpus gpus;
    for (const std::string_view title : {"alloctres", "reqtres", "allocgres", "reqgres"}) {
      if (gpus.count == 0) gpus = gpus_in(cell(title));
    }
    if (gpus.count < 1) {
      ++without_gpu_;
      return {};
    }
    return keep(*seconds, gpus);
  }

  Result<void> keep(double seconds, const SacctGpus& gpus) {
    TraceJob job;
    const auto submitted = seconds_of_date(cell("submit"));
    if (!submitted) return wrong("submit", cell("submit"), "is not a time like 2026-01-31T12:00:00");
    const double nodes = cell("nnodes").empty() ? 1 : trace_number(cell("nnodes")).value_or(0);
    if (!(nodes >= 1 && nodes <= 10'000)) return wrong("nnodes", cell("nnodes"), "is not a number from 1 to 10000");
    const double each = std::ceil(gpus.count / std::floor(nodes));
    if (each > static_cast<double>(kMostGpusOfNode))
      return wrong("GPUs of a node", fmt::format("{}", each), "are more than 64");
    job.submitted = *submitted;
    job.seconds = seconds;
    job.limit = limit();
    job.nodes = static_cast<std::uint16_t>(nodes);
    job.gpus = static_cast<std::uint16_t>(each);
    job.user = users_.number_of(cell("user"));
    job.name = names_.number_of(cell("jobname"));
    job.model = models_.number_of(gpus.model);
    trace_.jobs.push_back(job);
    return {};
  }

  std::string_view rest_;
  const std::string& name_;
  Trace trace_;
  TraceWords users_;
  TraceWords names_;
  TraceWords models_;
  std::string_view line_;
  std::int64_t line_number_ = 0;
  std::vector<std::string> titles_;
  std::vector<std::string_view> cells_;
  std::size_t steps_ = 0;
  std::size_t unended_ = 0;
  std::size_t without_gpu_ = 0;
};

}  // namespace

Result<Trace> read_sacct_trace(std::string_view text, const std::string& name) { return SacctTrace(text, name).read(); }

}  // namespace assay
