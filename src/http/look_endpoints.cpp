#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "accounts/accounts.h"
#include "api/look_types.h"
#include "base/text.h"
#include "http/api_routes.h"
#include "leader/leader.h"
#include "model/metric.h"
#include "model/study.h"
#include "report/build/compare.h"
#include "report/build/gather.h"
#include "report/build/report.h"
#include "report/document.h"
#include "report/render.h"
#include "spec/spec.h"
#include "store/journal/journal.h"
#include "store/journal_state.h"
#include "store/read_journals.h"
#include "store/run_store.h"

namespace assay {
namespace {

// Of a journal, for one answer: telemetry is in it, too.
/// Of all journals of a run together, and of each at least so much: there may be thousands.
constexpr std::uint64_t kLogBytes = std::uint64_t{4} << 20;
constexpr std::uint64_t kLeastLogBytes = 4096;
/// Each line takes some hundred bytes on its way, also an empty one. What a program prints at once are 64 KiB at most.
constexpr std::size_t kMostLogLines = 70'000;
constexpr std::size_t kMostReferences = 200;

Result<KnownMetrics> metrics_known() {
  KnownMetrics known;
  for (const auto& metric : known_metrics()) {
    const auto better = metric.better == MetricInfo::Better::higher  ? "higher"
                        : metric.better == MetricInfo::Better::lower ? "lower"
                                                                     : "";
    known.metrics.push_back({.name = std::string(metric.name),
                             .unit = std::string(metric.unit),
                             .description = std::string(metric.description),
                             .better = better,
                             .counter = metric.kind == MetricInfo::Kind::counter});
  }
  return known;
}

Result<SpecOpinion> opinion_of(SpecDraft draft) {
  const auto reading = read_spec(draft.spec, "spec.yaml", {.assignments = std::move(draft.set), .environment = {}});
  SpecOpinion opinion;
  for (const auto& mistake : reading.diagnostics) {
    opinion.mistakes.push_back({.line = mistake.line, .column = mistake.column, .message = mistake.message});
  }
  if (!reading.spec) return opinion;
  const auto plan = expand(*reading.spec);
  if (!plan) {
    opinion.mistakes.push_back({.message = plan.error().message});
    return opinion;
  }
  opinion.valid = opinion.mistakes.empty();
  opinion.runs = static_cast<std::int64_t>(plan->size());
  opinion.kind = std::string(name_of(reading.spec->kind));
  return opinion;
}

Result<std::vector<std::string>> references_in(const HttpRequest& request) {
  std::vector<std::string> references;
  for (const auto part : split(request.query_value("of").value_or(""), ',')) {
    if (!trim(part).empty()) references.emplace_back(trim(part));
  }
  if (!references.empty() && references.size() <= kMostReferences) return references;
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'of' must name 1 to {} runs or studies", kMostReferences),
               .hint = "of=ID,ID or of=study:ID"};
}

Result<Document> report_document(Leader& leader, const HttpRequest& request) {
  RunStore& runs = leader.runs();
  ASSAY_TRY(const auto references, references_in(request));
  ReportOptions options;
  options.book = leader.accounts().price_book();
  options.baseline = request.query_value("baseline").value_or("");
  if (request.query_value("compare").value_or("") != "true") {
    ASSAY_TRY(const auto input, gather(runs, references, std::move(options)));
    return report_on(input);
  }
  ASSAY_TRY(auto sides, gather_sides(runs, references));
  ASSAY_CHECK(choose_first(sides, options.baseline));
  return comparison_of(sides, options);
}

Result<HttpResponse> report_file(const Document& document, std::string_view format) {
  HttpResponse response;
  if (format == "html") {
    response.body = render_html(document);
  } else if (format == "md") {
    response.body = render_markdown(document);
  } else if (format == "csv") {
    ASSAY_TRY(response.body, render_csv(document, ""));
  } else {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' is no format of a file", format),
                 .hint = "There are html, md and csv."};
  }
  // What a report says comes from workloads: a browser keeps the file and does not show it as ours.
  response.headers.set("Content-Type", "application/octet-stream");
  response.headers.set("Content-Disposition", fmt::format("attachment; filename=\"report.{}\"", format));
  return response;
}

class LogCollector final : public JournalVisitor {
 public:
  explicit LogCollector(std::vector<LogLine>& lines) : lines_(lines) {}

  void on_output(OutputStream stream, WallTime time, std::string_view bytes) override {
    // Carriage returns of progress bars become lines of their own.
    std::string text(bytes);
    std::replace(text.begin(), text.end(), '\r', '\n');
    const std::string_view whole = std::string_view(text).substr(0, text.size() - (text.ends_with('\n') ? 1 : 0));
    const bool was_full = is_full();
    std::size_t left_out = 0;
    for (const auto part : split(whole, '\n')) {
      if (is_full()) {
        ++left_out;
        continue;
      }
      lines_.push_back({.time = time, .error = stream == OutputStream::error, .text = printable(part)});
    }
    if (left_out == 0) return;
    overflowed_ = true;
    if (was_full) return;
    lines_.push_back(
        {.time = time,
         .error = true,
         .text = fmt::format("-- {} further lines that were printed at once are not shown here", left_out)});
  }
  void on_damage(std::string_view what) override {
    lines_.push_back({.error = true, .text = fmt::format("-- damaged here: {}", printable(what))});
  }
  /// Whether there were more lines than an answer has.
  bool overflowed() const { return overflowed_; }

 private:
  bool is_full() const { return lines_.size() >= kMostLogLines; }

  std::vector<LogLine>& lines_;
  bool overflowed_ = false;
};

/// "journal:4711,rank-3:88", as `written_position` writes it.
Result<JournalPosition> position_in(std::string_view text) {
  JournalPosition position;
  if (text.empty()) return position;
  for (const auto part : split(text, ',')) {
    const auto colon = part.rfind(':');
    std::uint64_t offset = 0;
    const auto* end = part.data() + part.size();
    const auto read = colon == std::string_view::npos ? std::from_chars_result{nullptr, std::errc::invalid_argument}
                                                      : std::from_chars(part.data() + colon + 1, end, offset);
    if (read.ec != std::errc() || read.ptr != end) {
      return Error{.kind = ErrorKind::usage, .message = "'after' must be the 'next' of an earlier answer"};
    }
    position.offsets[std::string(part.substr(0, colon))] = offset;
  }
  return position;
}

std::string written_position(const JournalPosition& position) {
  std::string text;
  for (const auto& [journal, offset] : position.offsets) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", journal, offset);
  }
  return text;
}

/// A part of a run's log.
struct LogPart {
  RunLog log;
  bool moved = false;       ///< it came further than where it began
  bool overflowed = false;  ///< there were more lines than it has
};

/// Reads the logs of one run from one place on.
class LogReader {
 public:
  LogReader(RunStore& runs, std::string run, std::vector<JournalState> journals, JournalPosition from)
      : runs_(runs), run_(std::move(run)), journals_(std::move(journals)), from_(std::move(from)) {
    // What is not this run's is not asked for.
    std::erase_if(from_.offsets, [&](const auto& named) {
      return std::none_of(journals_.begin(), journals_.end(), [&](const auto& one) { return one.name == named.first; });
    });
    for (const auto& journal : journals_) {
      auto& offset = from_.offsets[journal.name];
      offset = std::min(offset, journal.size);
    }
  }

  Result<RunLog> read() const {
    std::uint64_t most = std::max(kLeastLogBytes, kLogBytes / std::max<std::size_t>(1, journals_.size()));
    ASSAY_TRY(auto part, read_up_to(most, nullptr));
    while (part.overflowed && most > kLeastLogBytes) {
      most = std::max(kLeastLogBytes, most / 16);
      ASSAY_TRY(part, read_up_to(most, nullptr));
    }
    if (part.moved || !part.log.more) return std::move(part.log);
    // Frames that are larger than that: of one journal after the other, since there may be thousands.
    for (const auto& journal : journals_) {
      for (std::uint64_t further = most; further < left_of(journal);) {
        further *= 2;
        ASSAY_TRY(part, read_up_to(further, &journal.name));
        if (part.moved) return std::move(part.log);
      }
    }
    part.log.more = false;
    return std::move(part.log);
  }

 private:
  std::uint64_t left_of(const JournalState& journal) const { return journal.size - from_.offsets.at(journal.name); }

  /// So many bytes of each journal, or of this one alone.
  Result<LogPart> read_up_to(std::uint64_t most, const std::string* only) const {
    LogPart part;
    auto journals = journals_;
    for (auto& journal : journals) {
      const std::uint64_t wanted = only == nullptr || *only == journal.name ? most : 0;
      if (left_of(journal) <= wanted) continue;
      journal.size = from_.offsets.at(journal.name) + wanted;
      journal.owner = JournalOwner::live;  // the frame that is cut through is no damage
      part.log.more = true;
    }
    const auto read = [&](std::string_view journal, std::uint64_t offset, std::size_t length) {
      return runs_.read_frames(run_, journal, offset, length);
    };
    LogCollector collector(part.log.lines);
    ASSAY_TRY(const auto reached, read_journals(journals, read, collector, from_));
    part.moved = reached.offsets != from_.offsets;
    part.overflowed = collector.overflowed();
    part.log.next = written_position(reached);
    return part;
  }

  RunStore& runs_;
  const std::string run_;
  const std::vector<JournalState> journals_;
  JournalPosition from_;
};

Result<RunLog> log_of(RunStore& runs, const HttpRequest& request) {
  std::string id(request.capture("run"));
  ASSAY_TRY(auto from, position_in(request.query_value("after").value_or("")));
  ASSAY_TRY(auto journals, runs.journals(id));
  return LogReader(runs, std::move(id), std::move(journals), std::move(from)).read();
}

void add_report_endpoints(ApiTable& table, Leader& leader) {
  const std::vector<ApiParameter> parameters = {
      {.name = "of", .description = "Runs or studies as `assay report` takes them, with commas", .required = true},
      {.name = "compare", .description = "true: hold them against each other", .type = "boolean"},
      {.name = "baseline", .description = "A configuration, size or run to compare with"}};
  table.add({.path = "/api/v1/reports",
             .summary = "What can be said of runs or studies: summary, results, issues, recommendations, method",
             .parameters = parameters,
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<ReportAnswer> {
               ASSAY_TRY(const auto document, report_document(leader, request));
               return ReportAnswer{.document = render_json(document)};
             })});
  auto with_format = parameters;
  with_format.push_back({.name = "format", .description = "html, md or csv", .required = true});
  table.add({.path = "/api/v1/reports/file",
             .summary = "The same as one file to keep or hand on",
             .parameters = std::move(with_format),
             .handle = writing("application/octet-stream",
                               [&leader](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
                                 ASSAY_TRY(const auto document, report_document(leader, request));
                                 return report_file(document, request.query_value("format").value_or(""));
                               })});
}

}  // namespace

void add_look_endpoints(ApiTable& table, Leader& leader) {
  RunStore& runs = leader.runs();
  table.add({.path = "/api/v1/metrics/known",
             .summary = "The metrics that assay knows by name: unit, meaning, which way is better",
             .handle = answering([](const HttpRequest&, const Principal&) { return metrics_known(); })});
  table.add({.path = "/api/v1/spec/schema",
             .summary = "How a specification is written, for editors and forms",
             .handle = answering([](const HttpRequest&, const Principal&) -> Result<SpecSchema> {
               return SpecSchema{.schema = spec_schema()};
             })});
  table.add({.method = "POST",
             .path = "/api/v1/spec/validate",
             .summary = "Every mistake of a specification, and how many runs it asks for; nothing is started",
             .handle = taking<SpecDraft>(
                 [](SpecDraft draft, const HttpRequest&, const Principal&) { return opinion_of(std::move(draft)); })});
  table.add(
      {.path = "/api/v1/runs/{run}/log",
       .summary = "What a run's workload printed; goes on where an earlier answer ended",
       .parameters = {{.name = "run", .in = ApiParameter::In::path, .description = "The id of the run"},
                      {.name = "after", .description = "The 'next' of an earlier answer"}},
       .handle = answering([&runs](const HttpRequest& request, const Principal&) { return log_of(runs, request); })});
  add_report_endpoints(table, leader);
}

}  // namespace assay
