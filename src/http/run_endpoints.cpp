#include <fmt/format.h>

#include <charconv>

#include "api/run_json.h"
#include "base/byte_stream.h"
#include "base/hash.h"
#include "bytes/frame.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "model/run.h"
#include "model/study.h"
#include "store/run_curves.h"
#include "store/run_query.h"

namespace assay {
namespace {

using In = ApiParameter::In;
using Body = ApiEndpoint::Body;

/// One answer holds no more of a journal; whoever wants more asks again.
constexpr std::uint64_t kMostFrames = std::uint64_t{4} << 20;
/// A frame of the largest event, or many smaller ones.
constexpr std::size_t kLongestPiece = kMaxPayload + (std::size_t{1} << 20);
constexpr std::size_t kMostRows = 10'000;
/// Longer and a run whose owner is gone looks alive for too long.
constexpr Nanos kLongestLease = std::chrono::hours(1);

const ApiParameter kRun{.name = "run", .in = In::path, .description = "The id of the run"};
const ApiParameter kStudy{.name = "study", .in = In::path, .description = "The id of the study"};
const ApiParameter kLease{
    .name = "lease", .in = In::body, .description = "The lease, as it was given", .type = "object", .required = true};
const ApiParameter kBefore{.name = "before",
                           .in = In::body,
                           .description = "The hash of the run that was changed: nothing is done if it is another now",
                           .required = true};
const ApiParameter kWholeRun{
    .name = "run", .in = In::body, .description = "The run", .type = "object", .required = true};

Error bad_request(std::string message) { return {.kind = ErrorKind::usage, .message = std::move(message)}; }

/// What was wrong with a value of ours in a request is the caller's mistake, not a damaged file.
template <typename T>
Result<T> as_usage(Result<T> value) {
  if (!value && value.error().kind == ErrorKind::bad_file) value.error().kind = ErrorKind::usage;
  return value;
}

Result<std::uint64_t> natural_in(const HttpRequest& request, std::string_view name, std::uint64_t otherwise) {
  const auto text = request.query_value(name);
  if (!text) return otherwise;
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (code != std::errc() || end != text->data() + text->size()) {
    return bad_request(fmt::format("'{}={}' must be a whole number, not negative", name, *text));
  }
  return number;
}

/// An owner is known by who asked for the lease: nobody can hold one in the name of somebody else.
/// A node is called by its name alone; a token may bear the name of a node, and must not pass for it.
std::string own_name(const Principal& caller) {
  return caller.kind == Principal::Kind::node ? caller.name : "token " + caller.name;
}
std::string owner_name(const Principal& caller, const std::string& asked) {
  return asked.empty() ? own_name(caller) : fmt::format("{}: {}", own_name(caller), asked);
}
Result<void> check_own(const Principal& caller, const Lease& lease) {
  const auto own = own_name(caller);
  if (lease.owner == own || lease.owner.starts_with(own + ": ")) return {};
  return Error{.kind = ErrorKind::denied, .message = fmt::format("this lease belongs to '{}'", lease.owner)};
}

/// A node sees the runs that it was given, and no others.
Result<void> check_may_see(RunStore& runs, const Principal& caller, std::string_view id) {
  if (caller.kind != Principal::Kind::node) return {};
  ASSAY_TRY(const auto run, runs.find_run(id));
  if (run.placement.node == caller.name) return {};
  return Error{.kind = ErrorKind::not_found, .message = fmt::format("'{}' has no run '{}'", caller.name, id)};
}

/// An endpoint about a run that also the node asks for which does it.
void add_for_nodes_too(ApiTable& table, RunStore& runs, ApiEndpoint endpoint) {
  endpoint.nodes_too = true;
  endpoint.handle = [&runs, handle = std::move(endpoint.handle)](const HttpRequest& request,
                                                                 const Principal& caller) -> Result<HttpResponse> {
    ASSAY_CHECK(check_may_see(runs, caller, request.capture("run")));
    return handle(request, caller);
  };
  table.add(std::move(endpoint));
}

Result<json::value> body_value(const HttpRequest& request) {
  ASSAY_TRY(auto body, body_object(request));
  return json::value(std::move(body));
}

Result<Lease> lease_in(const json::value& body, const HttpRequest& request, const Principal& caller) {
  ASSAY_TRY(auto lease, as_usage(lease_from_json(body.get_object().at("lease"))));
  if (lease.run != request.capture("run")) return bad_request("the lease is one of another run");
  ASSAY_CHECK(check_own(caller, lease));
  return lease;
}

Result<LeaseTerms> terms_in(const json::value& value, const Principal& caller) {
  ASSAY_TRY(auto terms, as_usage(lease_terms_from_json(value)));
  if (!terms.length || *terms.length <= Nanos(0) || *terms.length > kLongestLease) {
    return bad_request("'length_ns' must be given, and at most an hour");
  }
  terms.owner = owner_name(caller, terms.owner);
  return terms;
}

std::string revision_of(const Run& run) { return content_hash(json::serialize(to_json(run))); }

/// Puts the run of the request in the place of the stored one, unless that has changed since the caller read it.
std::function<Result<void>(Run&)> replacement(Run next, std::string before) {
  return [next = std::move(next), before = std::move(before)](Run& run) -> Result<void> {
    if (revision_of(run) != before) {
      return Error{.kind = ErrorKind::busy, .message = "the run was changed meanwhile", .hint = "Read it again."};
    }
    run = next;
    return {};
  };
}

/// `{"run", "before"}` of a request's body.
Result<std::function<Result<void>(Run&)>> replacement_in(const json::value& body) {
  JsonFields fields(body, "body");
  auto before = fields.text("before");
  ASSAY_CHECK(as_usage(fields.finish()));
  ASSAY_TRY(auto run, as_usage(run_from_json(body.get_object().at("run"))));
  return replacement(std::move(run), std::move(before));
}

HttpResponse bytes_response(std::string bytes) {
  HttpResponse response{.status = 200, .headers = {}, .body = std::move(bytes)};
  response.headers.set("Content-Type", "application/octet-stream");
  return response;
}

void add_lists(ApiTable& table, RunStore& runs, const Clock& clock) {
  table.add(
      {.path = "/api/v1/runs",
       .summary = "Runs, newest first",
       .parameters = {{.name = "filter", .description = "As `assay runs --filter`: verdict=valid metrics.loss<0.5"},
                      {.name = "sort", .description = "A field, or metrics.X; -X: descending"},
                      {.name = "limit", .description = "At most so many", .type = "integer"},
                      {.name = "offset", .description = "Leave out so many first", .type = "integer"}},
       .fields = {{"runs", "array"}, {"total", "integer"}},
       .handle = [&runs, &clock](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
         RunQuery query;
         ASSAY_TRY(query.conditions, parse_conditions(request.query_value("filter").value_or(""), clock.wall()));
         if (const auto sort = request.query_value("sort")) ASSAY_CHECK(set_sort(query, *sort));
         ASSAY_TRY(const auto limit, limit_of(request, 100, kMostRows));
         ASSAY_TRY(const auto offset, natural_in(request, "offset", 0));
         query.limit = static_cast<std::int64_t>(limit);
         query.offset = static_cast<std::int64_t>(std::min<std::uint64_t>(offset, INT64_MAX));
         ASSAY_TRY(const auto page, runs.list_runs(query));
         return json_response(to_json(page));
       }});
  table.add(
      {.method = "POST",
       .path = "/api/v1/runs/search",
       .summary = "Runs by a query whose conditions are read already",
       .parameters = {{.name = "conditions", .in = In::body, .description = "All must hold", .type = "array"},
                      {.name = "sort", .in = In::body, .description = "A field, or metrics.X"},
                      {.name = "descending", .in = In::body, .description = "The largest first", .type = "boolean"},
                      {.name = "limit", .in = In::body, .description = "-1: all", .type = "integer"},
                      {.name = "offset", .in = In::body, .description = "Left out first", .type = "integer"}},
       .fields = {{"runs", "array"}, {"total", "integer"}},
       .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
         ASSAY_TRY(const auto body, body_value(request));
         ASSAY_TRY(const auto query, as_usage(run_query_from_json(body)));
         ASSAY_TRY(const auto page, runs.list_runs(query));
         return json_response(to_json(page));
       }});
  table.add({.path = "/api/v1/runs/changes",
             .summary = "Which runs were added, changed or removed after a number",
             .parameters = {{.name = "since",
                             .description = "That number; without it, nothing but the newest",
                             .type = "integer"},
                            {.name = "limit", .description = "At most so many", .type = "integer"}},
             .fields = {{"changes", "array"}, {"newest", "integer"}},
             .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto newest, runs.newest_change());
               ASSAY_TRY(const auto since, natural_in(request, "since", newest));
               ASSAY_TRY(const auto limit, limit_of(request, 1000, kMostRows));
               ASSAY_TRY(const auto changes, runs.changes(since, limit));
               auto answer = list_to_json("changes", changes);
               answer["newest"] = newest;
               return json_response(answer);
             }});
  table.add({.method = "POST",
             .path = "/api/v1/runs/reindex",
             .scope = Scope::admin,
             .summary = "Make the list of runs again from what is kept of them",
             .handle = [&runs](const HttpRequest&, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto report, runs.reindex());
               return json_response(to_json(report));
             }});
}

void add_single_runs(ApiTable& table, RunStore& runs) {
  add_for_nodes_too(table, runs,
                    {.path = "/api/v1/runs/{run}",
                     .summary = "Everything about a run but its events, points and output",
                     .parameters = {kRun},
                     .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
                       ASSAY_TRY(const auto run, runs.find_run(request.capture("run")));
                       return json_response(to_json(run));
                     }});
  table.add({.method = "PUT",
             .path = "/api/v1/runs/{run}",
             .scope = Scope::run,
             .summary = "Change a run's name, tags and other words about it; its state and verdict stay",
             .parameters = {kRun, kWholeRun, kBefore},
             .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto body, body_value(request));
               ASSAY_TRY(const auto change, replacement_in(body));
               ASSAY_TRY(const auto run, runs.change_run(request.capture("run"), change));
               return json_response(to_json(run));
             }});
  table.add({.method = "DELETE",
             .path = "/api/v1/runs/{run}",
             .scope = Scope::run,
             .summary = "Delete a run and all it recorded",
             .parameters = {kRun},
             .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_CHECK(runs.remove_run(request.capture("run")));
               return json_response(json::object{{"removed", request.capture("run")}});
             }});
  table.add(
      {.method = "POST",
       .path = "/api/v1/runs/{run}/curves",
       .summary = "Series of a run at a width: exact figures of each bucket, by step or by time",
       .parameters = {kRun,
                      {.name = "names", .in = In::body, .description = "Of series; none: all", .type = "array"},
                      {.name = "axis", .in = In::body, .description = "step or time"},
                      {.name = "from", .in = In::body, .description = "A step, or nanoseconds", .type = "integer"},
                      {.name = "to", .in = In::body, .description = "Up to here, without it", .type = "integer"},
                      {.name = "width", .in = In::body, .description = "Buckets at most", .type = "integer"}},
       .fields = {{"curves", "array"}},
       .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
         ASSAY_TRY(const auto body, body_value(request));
         ASSAY_TRY(const auto question, as_usage(curve_question_from_json(body)));
         ASSAY_TRY(const auto curves, runs.read_curves(request.capture("run"), question));
         return json_response(list_to_json("curves", curves));
       }});
}

void add_leases(ApiTable& table, RunStore& runs) {
  table.add(
      {.method = "POST",
       .path = "/api/v1/runs/recorded",
       .scope = Scope::run,
       .summary = "A new run that the caller records itself; with `terms` it is the caller's at once",
       .parameters = {kWholeRun, {.name = "terms", .in = In::body, .description = "Of its lease", .type = "object"}},
       .fields = {{"run", "object"}, {"lease", "object"}},
       .handle = [&runs](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
         ASSAY_TRY(const auto body, body_value(request));
         ASSAY_TRY(auto run, as_usage(run_from_json(body.get_object().at("run"))));
         json::object answer;
         if (const auto* value = body.get_object().if_contains("terms")) {
           ASSAY_TRY(const auto terms, terms_in(*value, caller));
           ASSAY_TRY(const auto lease, runs.create_run(run, terms));
           answer["lease"] = to_json(lease);
         } else {
           ASSAY_CHECK(runs.add_run(run));
         }
         answer["run"] = to_json(run);
         return json_response(answer);
       }});
  add_for_nodes_too(
      table, runs,
      {.path = "/api/v1/runs/{run}/lease",
       .summary = "Whose the run is: the last lease, good or not; null where there is none",
       .parameters = {kRun},
       .fields = {{"lease", "object"}},
       .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
         ASSAY_TRY(const auto lease, runs.find_lease(request.capture("run")));
         return json_response(json::object{{"lease", lease ? json::value(to_json(*lease)) : json::value()}});
       }});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/lease",
             .scope = Scope::run,
             .summary = "Take a run that is queued, or whose owner is gone",
             .parameters = {kRun,
                            {.name = "owner", .in = In::body, .description = "A name for the caller's process"},
                            {.name = "length_ns", .in = In::body, .description = "How long", .type = "integer"}},
             .handle = [&runs](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
               ASSAY_TRY(const auto body, body_value(request));
               ASSAY_TRY(const auto terms, terms_in(body, caller));
               ASSAY_TRY(const auto lease, runs.take_run(request.capture("run"), terms));
               return json_response(to_json(lease));
             }});
  add_for_nodes_too(
      table, runs,
      {.method = "POST",
       .path = "/api/v1/runs/{run}/lease/renew",
       .scope = Scope::run,
       .summary = "The same lease, good for so long from now on",
       .parameters = {kRun,
                      kLease,
                      {.name = "length_ns", .in = In::body, .description = "How long", .type = "integer"}},
       .handle = [&runs](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
         ASSAY_TRY(const auto body, body_value(request));
         ASSAY_TRY(const auto lease, lease_in(body, request, caller));
         JsonFields fields(body, "body");
         const Nanos length(fields.integer("length_ns"));
         ASSAY_CHECK(as_usage(fields.finish()));
         ASSAY_TRY(const auto renewed, runs.renew_lease(lease, std::min(length, kLongestLease)));
         return json_response(to_json(renewed));
       }});
  add_for_nodes_too(
      table, runs,
      {.method = "POST",
       .path = "/api/v1/runs/{run}/lease/release",
       .scope = Scope::run,
       .summary = "Give a run up; with `close` it is interrupted and has ended",
       .parameters = {kRun,
                      kLease,
                      {.name = "close", .in = In::body, .description = "Nobody goes on", .type = "boolean"}},
       .handle = [&runs](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
         ASSAY_TRY(const auto body, body_value(request));
         ASSAY_TRY(const auto lease, lease_in(body, request, caller));
         JsonFields fields(body, "body");
         if (fields.boolean_or("close", false) && lease.journal == kOwnersJournal) {
           ASSAY_CHECK(close_interrupted(runs, lease, lease.owner, SystemClock().wall()));
         } else {
           runs.give_up(lease);
         }
         return json_response(json::object{});
       }});
  add_for_nodes_too(table, runs,
                    {.method = "PUT",
                     .path = "/api/v1/runs/{run}/owned",
                     .scope = Scope::run,
                     .summary = "Change a run as its owner: its state, verdict and results",
                     .parameters = {kRun, kLease, kWholeRun, kBefore},
                     .handle = [&runs](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
                       ASSAY_TRY(const auto body, body_value(request));
                       ASSAY_TRY(const auto lease, lease_in(body, request, caller));
                       ASSAY_TRY(const auto change, replacement_in(body));
                       ASSAY_TRY(const auto run, runs.change_owned(lease, change));
                       return json_response(to_json(run));
                     }});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/join",
             .scope = Scope::run,
             .summary = "Record a further process of the same job in a journal of its own",
             .parameters = {kRun, {.name = "name", .in = In::body, .description = "rank-3", .required = true}},
             .handle = [&runs](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
               ASSAY_TRY(const auto body, body_value(request));
               JsonFields fields(body, "body");
               const auto name = fields.text("name");
               ASSAY_TRY(auto lease, runs.join_run(request.capture("run"), name));
               lease.owner = owner_name(caller, {});
               return json_response(to_json(lease));
             }});
}

void add_journals(ApiTable& table, RunStore& runs) {
  add_for_nodes_too(
      table, runs,
      {.method = "POST",
       .path = "/api/v1/runs/{run}/frames",
       .scope = Scope::run,
       .summary = "Append frames to a journal; what is there already is not written again",
       .parameters = {kRun,
                      {.name = "journal", .description = "Of the lease", .required = true},
                      {.name = "owner", .description = "Of the lease", .required = true},
                      {.name = "epoch", .description = "Of the lease", .type = "integer", .required = true},
                      {.name = "offset", .description = "Where they belong", .type = "integer", .required = true},
                      {.name = "renew_ns", .description = "Renew the lease, too", .type = "integer"}},
       .body = Body::bytes,
       .fields = {{"size", "integer"}},
       .route = {.body_bytes = kLongestPiece},
       .handle = [&runs](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
         Lease lease{.run = std::string(request.capture("run")),
                     .journal = std::string(*request.query_value("journal")),
                     .owner = std::string(*request.query_value("owner"))};
         ASSAY_CHECK(check_own(caller, lease));
         ASSAY_TRY(lease.epoch, natural_in(request, "epoch", 0));
         ASSAY_TRY(const auto offset, natural_in(request, "offset", 0));
         ASSAY_TRY(const auto renew, natural_in(request, "renew_ns", 0));
         ASSAY_TRY(const auto size, runs.append_frames(lease, offset, request.body));
         if (renew > 0) {
           lease.expires = WallTime();  // a lease that runs out, whenever that is
           const Nanos length(static_cast<std::int64_t>(std::min<std::uint64_t>(renew, kLongestLease.count())));
           ASSAY_CHECK(runs.renew_lease(lease, length));
         }
         return json_response(json::object{{"size", size}});
       }});
  add_for_nodes_too(table, runs,
                    {.path = "/api/v1/runs/{run}/journals",
                     .summary = "What a run's processes have recorded: names, sizes, whether more may come",
                     .parameters = {kRun},
                     .fields = {{"journals", "array"}},
                     .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
                       ASSAY_TRY(const auto journals, runs.journals(request.capture("run")));
                       return json_response(list_to_json("journals", journals));
                     }});
  table.add({.path = "/api/v1/runs/{run}/journals/{journal}",
             .summary = "Frames of a journal, as they were appended",
             .parameters = {kRun,
                            {.name = "journal", .in = In::path, .description = "Its name"},
                            {.name = "offset", .description = "From here on", .type = "integer"},
                            {.name = "length", .description = "At most so many bytes", .type = "integer"}},
             .answer = "application/octet-stream",
             .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto offset, natural_in(request, "offset", 0));
               ASSAY_TRY(const auto length, natural_in(request, "length", kMostFrames));
               ASSAY_TRY(auto bytes, runs.read_frames(request.capture("run"), request.capture("journal"), offset,
                                                      std::min(length, kMostFrames)));
               return bytes_response(std::move(bytes));
             }});
}

void add_artifacts(ApiTable& table, RunStore& runs) {
  const ApiParameter name{.name = "name", .in = In::path, .description = "The name of the artifact"};
  add_for_nodes_too(table, runs,
                    {.path = "/api/v1/runs/{run}/artifacts",
                     .summary = "Files that belong to a run",
                     .parameters = {kRun},
                     .fields = {{"artifacts", "array"}},
                     .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
                       ASSAY_TRY(const auto artifacts, runs.artifacts(request.capture("run")));
                       return json_response(list_to_json("artifacts", artifacts));
                     }});
  table.add({.path = "/api/v1/runs/{run}/artifacts/{name}",
             .summary = "The content of an artifact",
             .parameters = {kRun, name},
             .answer = "application/octet-stream",
             .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(auto source, runs.open_artifact(request.capture("run"), request.capture("name")));
               // Never shown as a page: it is whatever a workload wrote.
               HttpResponse response = bytes_response({});
               response.headers.set("Content-Disposition", "attachment");
               response.headers.set("X-Content-Type-Options", "nosniff");
               response.body_source = std::move(source);
               return response;
             }});
  add_for_nodes_too(table, runs,
                    {.method = "PUT",
                     .path = "/api/v1/runs/{run}/artifacts/{name}",
                     .scope = Scope::run,
                     .summary = "Keep a file with a run; it may be of any size",
                     .parameters = {kRun, name},
                     .body = Body::streamed,
                     .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
                       ASSAY_CHECK(runs.attach(request.capture("run"), request.capture("name"), *request.body_source));
                       return json_response(json::object{{"name", request.capture("name")}});
                     }});
}

void add_studies(ApiTable& table, RunStore& runs) {
  table.add({.path = "/api/v1/studies",
             .summary = "Studies, newest first",
             .fields = {{"studies", "array"}},
             .handle = [&runs](const HttpRequest&, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto studies, runs.list_studies());
               return json_response(list_to_json("studies", studies));
             }});
  table.add({.path = "/api/v1/studies/{study}",
             .summary = "A study: its plan, and which run did which entry of it",
             .parameters = {kStudy},
             .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto study, runs.find_study(request.capture("study")));
               return json_response(to_json(study));
             }});
  table.add({.method = "POST",
             .path = "/api/v1/studies",
             .scope = Scope::run,
             .summary = "A new study of runs that the caller records itself; the body is the study",
             .body = Body::bytes,
             .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto body, body_value(request));
               ASSAY_TRY(auto study, as_usage(study_from_json(body)));
               ASSAY_CHECK(runs.create_study(study));
               return json_response(to_json(study));
             }});
  table.add({.method = "POST",
             .path = "/api/v1/studies/{study}/plan/{entry}",
             .scope = Scope::run,
             .summary = "Note which run does an entry of the plan",
             .parameters = {kStudy,
                            {.name = "entry", .in = In::path, .description = "Its place in the plan, from 0 on"},
                            {.name = "run", .in = In::body, .description = "The id of the run", .required = true}},
             .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto body, body_value(request));
               JsonFields fields(body, "body");
               const auto run = fields.text("run");
               const auto text = request.capture("entry");
               std::size_t entry = 0;
               const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), entry);
               if (code != std::errc() || end != text.data() + text.size()) {
                 return bad_request(fmt::format("'{}' is no place in a plan", text));
               }
               ASSAY_CHECK(runs.note_planned_run(request.capture("study"), entry, run));
               return json_response(json::object{{"run", run}});
             }});
  table.add({.method = "DELETE",
             .path = "/api/v1/studies/{study}",
             .scope = Scope::run,
             .summary = "Delete a study; its runs stay",
             .parameters = {kStudy},
             .handle = [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_CHECK(runs.remove_study(request.capture("study")));
               return json_response(json::object{{"removed", request.capture("study")}});
             }});
}

}  // namespace

void add_run_endpoints(ApiTable& table, RunStore& runs, const Clock& clock) {
  add_lists(table, runs, clock);
  add_single_runs(table, runs);
  add_leases(table, runs);
  add_journals(table, runs);
  add_artifacts(table, runs);
  add_studies(table, runs);
}

}  // namespace assay
