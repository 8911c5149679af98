#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/run_types.h"
#include "base/byte_stream.h"
#include "base/hash.h"
#include "bytes/frame.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "model/run.h"
#include "model/study.h"
#include "model/tags.h"
#include "store/run_curves.h"
#include "store/run_query.h"
#include "store/run_store.h"

namespace assay {
namespace {

using In = ApiParameter::In;
using Body = ApiEndpoint::Body;

constexpr const char* kBytes = "application/octet-stream";

/// One answer holds no more of a journal; whoever wants more asks again.
constexpr std::uint64_t kMostFrames = std::uint64_t{4} << 20;
/// A frame of the largest event, or many smaller ones.
constexpr std::size_t kLongestPiece = kMaxPayload + (std::size_t{1} << 20);
constexpr std::int64_t kMostRows = 10'000;
/// Longer and a run whose owner is gone looks alive for too long.
constexpr Nanos kLongestLease = std::chrono::hours(1);

const ApiParameter kRun{.name = "run", .in = In::path, .description = "The id of the run"};
Error bad_request(std::string message) { return {.kind = ErrorKind::usage, .message = std::move(message)}; }

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
  return caller.kind == Principal::Kind::node ? caller.name : caller.owner();
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
  const auto& further = run.placement.further;
  const auto is_it = [&](const FurtherNode& one) { return one.node == caller.name; };
  if (run.placement.node == caller.name || std::any_of(further.begin(), further.end(), is_it)) return {};
  return Error{.kind = ErrorKind::not_found, .message = fmt::format("'{}' has no run '{}'", caller.name, id)};
}

/// An endpoint about a run that also the node asks for which does it.
void add_for_nodes_too(ApiTable& table, RunStore& runs, ApiEndpoint endpoint) {
  endpoint.nodes_too = true;
  endpoint.handle.call = [&runs, call = std::move(endpoint.handle.call)](
                             const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
    ASSAY_CHECK(check_may_see(runs, caller, request.capture("run")));
    return call(request, caller);
  };
  table.add(std::move(endpoint));
}

Result<void> check_lease(const Lease& lease, const HttpRequest& request, const Principal& caller) {
  if (lease.run != request.capture("run")) return bad_request("the lease is one of another run");
  return check_own(caller, lease);
}

Result<LeaseTerms> terms_of(LeaseTerms terms, const Principal& caller) {
  if (!terms.length || *terms.length <= Nanos(0) || *terms.length > kLongestLease) {
    return bad_request("'length_ns' must be given, and at most an hour");
  }
  terms.owner = owner_name(caller, terms.owner);
  return terms;
}

std::string revision_of(const Run& run) { return content_hash(json::serialize(to_json(run))); }

/// Users change words of a run that is theirs. What it has recorded, where and when, is what readers and quotas go by.
Result<void> check_changes_words(Run stored, Run next) {
  stored.name = next.name;
  stored.tags = next.tags;
  // These stay what they are, whatever is asked for.
  next.id = stored.id;
  next.state = stored.state;
  next.verdict = stored.verdict;
  if (to_json(next) == to_json(stored)) return {};
  return Error{.kind = ErrorKind::denied,
               .message = "of a run its owner changes name and tags, not what it has recorded",
               .hint = "Whoever manages the cluster may."};
}

/// Puts the run of the request in the place of the stored one, unless that has changed since the caller read it.
std::function<Result<void>(Run&)> replacement(Run next, std::string before, bool words_alone = false) {
  return [next = std::move(next), before = std::move(before), words_alone](Run& run) -> Result<void> {
    if (revision_of(run) != before) {
      return Error{.kind = ErrorKind::busy, .message = "the run was changed meanwhile", .hint = "Read it again."};
    }
    if (words_alone) ASSAY_CHECK(check_changes_words(run, next));
    run = next;
    return {};
  };
}

HttpResponse bytes_response(std::string bytes) {
  HttpResponse response{.status = 200, .headers = {}, .body = std::move(bytes)};
  response.headers.set("Content-Type", kBytes);
  return response;
}

void add_lists(ApiTable& table, RunStore& runs, const Clock& clock) {
  table.add({.path = "/api/v1/runs",
             .summary =
                 "Runs, newest first. Each answer looks at a bounded number of runs: where there is a 'next', there "
                 "may be more",
             .parameters = {{.name = "filter", .description = "As after `assay runs`: verdict=valid metrics.loss<0.5"},
                            {.name = "sort", .description = "A field, or metrics.X; -X: descending"},
                            {.name = "limit", .description = "At most so many", .type = "integer"},
                            {.name = "after", .description = "The 'next' of the page before"},
                            {.name = "changed_after",
                             .description = "Only runs that were added or changed after the change of this number",
                             .type = "integer"}},
             .handle = answering([&runs, &clock](const HttpRequest& request, const Principal&) -> Result<RunPage> {
               RunQuery query;
               ASSAY_TRY(query.conditions, parse_conditions(request.query_value("filter").value_or(""), clock.wall()));
               if (const auto sort = request.query_value("sort")) ASSAY_CHECK(set_sort(query, *sort));
               ASSAY_TRY(const auto limit, limit_of(request, 100, kMostRows));
               query.limit = static_cast<std::int64_t>(limit);
               query.after = request.query_value("after").value_or("");
               if (request.query_value("changed_after")) {
                 ASSAY_TRY(query.changed_after, natural_in(request, "changed_after", 0));
               }
               return runs.list_runs(query);
             })});
  table.add({.method = "POST",
             .path = "/api/v1/runs/search",
             .summary = "Runs by a query whose conditions are read already",
             .handle = taking<RunQuery>([&runs](RunQuery query, const HttpRequest&, const Principal&) {
               if (query.limit < 1 || query.limit > kMostRows) query.limit = kMostRows;
               return runs.list_runs(query);
             })});
  table.add({.path = "/api/v1/runs/changes",
             .summary = "Which runs were added, changed or removed after a number",
             .parameters = {{.name = "since",
                             .description = "That number; without it, nothing but the newest",
                             .type = "integer"},
                            {.name = "limit", .description = "At most so many", .type = "integer"}},
             .handle = answering([&runs](const HttpRequest& request, const Principal&) -> Result<RunChanges> {
               RunChanges answer;
               ASSAY_TRY(answer.newest, runs.newest_change());
               ASSAY_TRY(const auto since, natural_in(request, "since", answer.newest));
               ASSAY_TRY(const auto limit, limit_of(request, 1000, kMostRows));
               ASSAY_TRY(answer.changes, runs.changes(since, limit));
               return answer;
             })});
  table.add({.method = "POST",
             .path = "/api/v1/runs/reindex",
             .scope = Scope::admin,
             .summary = "Make the list of runs again from what is kept of them",
             .handle = answering([&runs](const HttpRequest&, const Principal&) { return runs.reindex(); })});
}

void add_single_runs(ApiTable& table, RunStore& runs) {
  add_for_nodes_too(table, runs,
                    {.path = "/api/v1/runs/{run}",
                     .summary = "Everything about a run but its events, points and output",
                     .parameters = {kRun},
                     .handle = answering([&runs](const HttpRequest& request, const Principal&) {
                       return runs.find_run(request.capture("run"));
                     })});
  table.add(
      {.method = "PUT",
       .path = "/api/v1/runs/{run}",
       .scope = Scope::run,
       .summary =
           "Change a run's name and tags; administrators: and what else is said of it. Its state and verdict stay",
       .parameters = {kRun},
       .handle = taking<RunRewrite>([&runs](RunRewrite wanted, const HttpRequest& request, const Principal& caller) {
         const bool words_alone = !caller.scopes.has(Scope::manage);
         return runs.change_run(request.capture("run"),
                                replacement(std::move(wanted.run), std::move(wanted.before), words_alone));
       })});
  table.add({.method = "DELETE",
             .path = "/api/v1/runs/{run}",
             .scope = Scope::run,
             .summary = "Delete a run and all it recorded",
             .parameters = {kRun},
             .handle = answering([&runs](const HttpRequest& request, const Principal&) -> Result<Removed> {
               ASSAY_CHECK(runs.remove_run(request.capture("run")));
               return Removed{.removed = std::string(request.capture("run"))};
             })});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/tags",
             .scope = Scope::run,
             .summary = "Add and remove tags of a run, whatever else is changed about it meanwhile",
             .parameters = {kRun},
             .handle = taking<TagChange>(
                 [&runs](const TagChange& wanted, const HttpRequest& request, const Principal&) -> Result<RunTags> {
                   ASSAY_TRY(auto run, runs.change_run(request.capture("run"), [&](Run& stored) {
                     return change_tags(stored.tags, wanted.add, wanted.remove);
                   }));
                   return RunTags{.tags = std::move(run.tags)};
                 })});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/curves",
             .summary = "Series of a run at a width: exact figures of each bucket, by step or by time",
             .parameters = {kRun},
             .handle = taking<CurveQuestion>([&runs](const CurveQuestion& question, const HttpRequest& request,
                                                     const Principal&) -> Result<RunCurves> {
               RunCurves answer;
               ASSAY_TRY(answer.curves, runs.read_curves(request.capture("run"), question));
               return answer;
             })});
}

void add_recording(ApiTable& table, RunStore& runs) {
  table.add(
      {.method = "POST",
       .path = "/api/v1/runs/recorded",
       .scope = Scope::run,
       .summary = "A new run that the caller records itself; with `terms` it is the caller's at once",
       .handle = taking<NewRun>([&runs](NewRun wanted, const HttpRequest&, const Principal& caller) -> Result<KeptRun> {
         KeptRun answer;
         if (wanted.terms) {
           ASSAY_TRY(const auto terms, terms_of(std::move(*wanted.terms), caller));
           ASSAY_TRY(answer.lease, runs.create_run(wanted.run, terms));
         } else {
           ASSAY_CHECK(runs.add_run(wanted.run));
         }
         answer.run = std::move(wanted.run);
         return answer;
       })});
}

void add_leases(ApiTable& table, RunStore& runs) {
  add_for_nodes_too(table, runs,
                    {.path = "/api/v1/runs/{run}/lease",
                     .summary = "Whose the run is: the last lease, good or not; null where there is none",
                     .parameters = {kRun},
                     .handle = answering([&runs](const HttpRequest& request, const Principal&) -> Result<LeaseState> {
                       LeaseState answer;
                       ASSAY_TRY(answer.lease, runs.find_lease(request.capture("run")));
                       return answer;
                     })});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/lease",
             .scope = Scope::run,
             .summary = "Take a run that is queued, or whose owner is gone",
             .parameters = {kRun},
             .audit = ApiEndpoint::Audit::never,
             .handle = taking<LeaseTerms>(
                 [&runs](LeaseTerms wanted, const HttpRequest& request, const Principal& caller) -> Result<Lease> {
                   ASSAY_TRY(const auto terms, terms_of(std::move(wanted), caller));
                   return runs.take_run(request.capture("run"), terms);
                 })});
  add_for_nodes_too(table, runs,
                    {.method = "POST",
                     .path = "/api/v1/runs/{run}/lease/renew",
                     .scope = Scope::run,
                     .summary = "The same lease, good for so long from now on",
                     .parameters = {kRun},
                     .audit = ApiEndpoint::Audit::never,
                     .handle = taking<LeaseRenewal>([&runs](const LeaseRenewal& wanted, const HttpRequest& request,
                                                            const Principal& caller) -> Result<Lease> {
                       ASSAY_CHECK(check_lease(wanted.lease, request, caller));
                       return runs.renew_lease(wanted.lease, std::min(wanted.length, kLongestLease));
                     })});
  add_for_nodes_too(table, runs,
                    {.method = "POST",
                     .path = "/api/v1/runs/{run}/lease/release",
                     .scope = Scope::run,
                     .summary = "Give a run up; with `close` it is interrupted and has ended",
                     .parameters = {kRun},
                     .audit = ApiEndpoint::Audit::never,
                     .handle = taking<LeaseRelease>([&runs](const LeaseRelease& wanted, const HttpRequest& request,
                                                            const Principal& caller) -> Result<Done> {
                       const Lease& lease = wanted.lease;
                       ASSAY_CHECK(check_lease(lease, request, caller));
                       if (wanted.close && lease.journal == kOwnersJournal) {
                         ASSAY_CHECK(close_interrupted(runs, lease, lease.owner, SystemClock().wall()));
                       } else {
                         runs.give_up(lease);
                       }
                       return Done{};
                     })});
}

void add_owners_changes(ApiTable& table, RunStore& runs) {
  add_for_nodes_too(
      table, runs,
      {.method = "PUT",
       .path = "/api/v1/runs/{run}/owned",
       .scope = Scope::run,
       .summary = "Change a run as its owner: its state, verdict and results",
       .parameters = {kRun},
       .audit = ApiEndpoint::Audit::never,
       .handle = taking<OwnedRunRewrite>(
           [&runs](OwnedRunRewrite wanted, const HttpRequest& request, const Principal& caller) -> Result<Run> {
             ASSAY_CHECK(check_lease(wanted.lease, request, caller));
             return runs.change_owned(wanted.lease, replacement(std::move(wanted.run), std::move(wanted.before)));
           })});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/join",
             .scope = Scope::run,
             .summary = "Record a further process of the same job in a journal of its own",
             .parameters = {kRun},
             .audit = ApiEndpoint::Audit::never,
             .handle = taking<JoiningRank>([&runs](const JoiningRank& rank, const HttpRequest& request,
                                                   const Principal& caller) -> Result<Lease> {
               ASSAY_TRY(auto lease, runs.join_run(request.capture("run"), rank.name));
               lease.owner = owner_name(caller, {});
               return lease;
             })});
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
       .route = {.body_bytes = kLongestPiece},
       .audit = ApiEndpoint::Audit::never,
       .handle = answering([&runs](const HttpRequest& request, const Principal& caller) -> Result<JournalSize> {
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
         return JournalSize{.size = size};
       })});
  add_for_nodes_too(table, runs,
                    {.path = "/api/v1/runs/{run}/journals",
                     .summary = "What a run's processes have recorded: names, sizes, whether more may come",
                     .parameters = {kRun},
                     .handle = answering([&runs](const HttpRequest& request, const Principal&) -> Result<RunJournals> {
                       RunJournals answer;
                       ASSAY_TRY(answer.journals, runs.journals(request.capture("run")));
                       return answer;
                     })});
  table.add({.path = "/api/v1/runs/{run}/journals/{journal}",
             .summary = "Frames of a journal, as they were appended",
             .parameters = {kRun,
                            {.name = "journal", .in = In::path, .description = "Its name"},
                            {.name = "offset", .description = "From here on", .type = "integer"},
                            {.name = "length", .description = "At most so many bytes", .type = "integer"}},
             .handle = writing(kBytes, [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(const auto offset, natural_in(request, "offset", 0));
               ASSAY_TRY(const auto length, natural_in(request, "length", kMostFrames));
               ASSAY_TRY(auto bytes, runs.read_frames(request.capture("run"), request.capture("journal"), offset,
                                                      std::min(length, kMostFrames)));
               return bytes_response(std::move(bytes));
             })});
}

void add_artifacts(ApiTable& table, RunStore& runs) {
  const ApiParameter name{.name = "name", .in = In::path, .description = "The name of the artifact"};
  add_for_nodes_too(table, runs,
                    {.path = "/api/v1/runs/{run}/artifacts",
                     .summary = "Files that belong to a run",
                     .parameters = {kRun},
                     .handle = answering([&runs](const HttpRequest& request, const Principal&) -> Result<RunArtifacts> {
                       RunArtifacts answer;
                       ASSAY_TRY(answer.artifacts, runs.artifacts(request.capture("run")));
                       return answer;
                     })});
  table.add({.path = "/api/v1/runs/{run}/artifacts/{name}",
             .summary = "The content of an artifact",
             .parameters = {kRun, name},
             .handle = writing(kBytes, [&runs](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_TRY(auto source, runs.open_artifact(request.capture("run"), request.capture("name")));
               // Never shown as a page: it is whatever a workload wrote.
               HttpResponse response = bytes_response({});
               response.headers.set("Content-Disposition", "attachment");
               response.headers.set("X-Content-Type-Options", "nosniff");
               response.body_source = std::move(source);
               return response;
             })});
  add_for_nodes_too(
      table, runs,
      {.method = "PUT",
       .path = "/api/v1/runs/{run}/artifacts/{name}",
       .scope = Scope::run,
       .summary = "Keep a file with a run; it may be of any size",
       .parameters = {kRun, name},
       .body = Body::streamed,
       .audit = ApiEndpoint::Audit::never,
       .handle = answering([&runs](const HttpRequest& request, const Principal&) -> Result<NamedArtifact> {
         ASSAY_CHECK(runs.attach(request.capture("run"), request.capture("name"), *request.body_source));
         return NamedArtifact{.name = std::string(request.capture("name"))};
       })});
}

}  // namespace

void add_run_endpoints(ApiTable& table, RunStore& runs, const Clock& clock) {
  add_lists(table, runs, clock);
  add_single_runs(table, runs);
  add_recording(table, runs);
  add_leases(table, runs);
  add_owners_changes(table, runs);
  add_journals(table, runs);
  add_artifacts(table, runs);
  add_study_endpoints(table, runs);
}

}  // namespace assay
