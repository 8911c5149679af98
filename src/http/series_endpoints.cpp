#include <fmt/format.h>

#include <charconv>
#include <iterator>

#include "api/cluster_types.h"
#include "api/telemetry_types.h"
#include "base/text.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "http/series_stream.h"
#include "leader/leader.h"
#include "leader/live_hub.h"
#include "store/bucket_answer.h"
#include "store/series_question.h"
#include "store/series_store.h"

namespace assay {
namespace {

const ApiParameter kQuestion{.name = "q",
                             .description =
                                 "METRIC LABEL=VALUE … last=1h | from=… to=… [width=1min | points=500], as in "
                                 "`gpu.util node=gpu03 last=1h`"};

Result<SeriesQuery> question_of(Leader& leader, const HttpRequest& request) {
  return parse_series_question(request.query_value("q").value_or(""), leader.clock().wall());
}

constexpr std::size_t kSeriesOfAPage = 10'000;

Result<SeriesList> list_series(Leader& leader, const HttpRequest& request) {
  ASSAY_TRY(const auto query, question_of(leader, request));
  ASSAY_TRY(const auto limit, limit_of(request, kSeriesOfAPage, kSeriesOfAPage));
  std::optional<SeriesId> after;
  if (const auto text = request.query_value("after").value_or(""); !text.empty()) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), after.emplace());
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("'after={}' must be the 'next' of another answer", text)};
    }
  }
  const auto page = leader.series().page(query.selector, after, limit);
  SeriesList answer;
  for (const auto& series : page.series) {
    answer.series.push_back({.name = series.key.name, .labels = series.key.labels, .unit = series.unit});
  }
  if (page.next) answer.next = std::to_string(*page.next);
  return answer;
}

bool is_everything(Leader& leader, const SeriesSelector& selector) {
  std::size_t selected = 0;
  std::optional<SeriesId> after;
  do {
    const auto page = leader.series().page(selector, after, kSeriesOfAPage);
    selected += page.series.size();
    after = page.next;
  } while (after);
  return selected >= leader.series().stats().series;
}

/// Telemetry that is gone cannot be brought back: whoever means all of it must say so metric by metric.
Result<void> check_not_everything(Leader& leader, const SeriesSelector& selector) {
  if (!selector.name.empty()) return {};
  if (!selector.labels.empty() && !is_everything(leader, selector)) return {};
  return Error{.kind = ErrorKind::usage,
               .message = "this would erase everything",
               .hint =
                   "Name a metric, or a label that not all have; DELETE /api/v1/nodes/NODE?erase=true forgets a "
                   "node with all its telemetry."};
}

Result<ErasedSeries> erase_series(Leader& leader, const HttpRequest& request) {
  ASSAY_TRY(const auto query, question_of(leader, request));
  ASSAY_CHECK(check_not_everything(leader, query.selector));
  const TimeRange range = request.query_value("all") == "true" ? TimeRange{} : query.range;
  ASSAY_TRY(const auto erased, leader.series().erase(query.selector, range));
  return ErasedSeries{.series = erased};
}

Result<HttpResponse> watch_live(Leader& leader, const HttpRequest& request, const Principal& caller) {
  const auto list_of = [&](std::string_view name) {
    std::vector<std::string> list;
    const auto text = request.query_value(name).value_or("");
    if (text.empty()) return list;
    for (const auto part : split(text, ',')) list.emplace_back(trim(part));
    return list;
  };
  LiveFilter filter{.metrics = list_of("metrics"), .nodes = list_of("nodes")};
  if (filter.metrics.size() > 256 || filter.nodes.size() > 4096) {
    return Error{.kind = ErrorKind::usage, .message = "more than 256 metrics or 4096 nodes were named"};
  }
  auto stream =
      leader.live().subscribe(std::move(filter), {.name = caller.name, .still_allowed = caller.still_allowed});
  if (!stream) return error_response(503, stream.error());
  return HttpResponse::streaming(stream->stream(), "text/event-stream");
}

}  // namespace

void add_series_endpoints(ApiTable& table, Leader& leader) {
  table.add({.path = "/api/v1/series",
             .summary =
                 "Which series there are. Each answer looks at a bounded number of them: where there is a 'next', "
                 "there may be more",
             .parameters = {kQuestion,
                            {.name = "after", .description = "The 'next' of the page before"},
                            {.name = "limit", .description = "At most so many (10000)", .type = "integer"}},
             .handle = answering(
                 [&leader](const HttpRequest& request, const Principal&) { return list_series(leader, request); })});
  table.add({.path = "/api/v1/query",
             .summary = "Telemetry over a time, in buckets of minimum, maximum, mean and count",
             .parameters = {kQuestion},
             .handle = writing<SeriesAnswer>(
                 "application/json", [&leader](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
                   ASSAY_TRY(const auto query, question_of(leader, request));
                   return answer_query(leader.series(), query);
                 })});
  ApiParameter needed_question = kQuestion;
  needed_question.required = true;
  table.add(
      {.method = "DELETE",
       .path = "/api/v1/series",
       .scope = Scope::manage,
       .summary = "Erase telemetry: the points of the series in a time; with all=true the series themselves",
       .parameters = {needed_question, {.name = "all", .description = "true: whatever the time", .type = "boolean"}},
       .handle = answering(
           [&leader](const HttpRequest& request, const Principal&) { return erase_series(leader, request); })});
  table.add({.path = "/api/v1/live",
             .summary = "A stream of server-sent events: a snapshot, then what is new, at most five times a second",
             .parameters = {{.name = "metrics", .description = "Names, or beginnings with a final '*', with commas"},
                            {.name = "nodes", .description = "Names, with commas"}},
             .handle = writing<LiveEvent>("text/event-stream",
                                          [&leader](const HttpRequest& request, const Principal& caller) {
                                            return watch_live(leader, request, caller);
                                          })});
}

}  // namespace assay
