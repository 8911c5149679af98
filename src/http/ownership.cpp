#include "http/ownership.h"

#include <fmt/format.h>

#include "accounts/accounts.h"
#include "api/run_types.h"
#include "http/start_rules.h"
#include "leader/leader.h"
#include "model/run.h"
#include "model/study.h"
#include "store/run_store.h"

namespace assay {
namespace {

using Owned = OwnerTable::Owned;
using Kind = Owned::Kind;

/// Endpoints that make something, and what of theirs names it.
constexpr std::string_view kRecordedRuns = "/api/v1/runs/recorded";
constexpr std::string_view kFrames = "/api/v1/runs/{run}/frames";
constexpr std::string_view kOrderedRuns = "/api/v1/runs";
constexpr std::string_view kNewStudies = "/api/v1/studies";

/// Guarded by the number of the lease that the caller has to show, which only whoever may change the run was given.
bool has_lease(std::string_view path) {
  return path == "/api/v1/runs/{run}/owned" || path == "/api/v1/runs/{run}/lease/renew";
}

/// Frames come many times a second, and are guarded like that, too; but further processes of a job have no number.
bool shows_number(const HttpRequest& request) {
  const auto epoch = request.query_value("epoch");
  return epoch && !epoch->empty() && epoch->front() != '0';
}

Result<void> check_owner(const Principal& caller, const Result<std::string>& owner, std::string_view what,
                         std::string_view id) {
  if (!owner) return owner.error();
  if (*owner == caller.owner()) return {};
  return Error{.kind = ErrorKind::denied,
               .message = owner->empty() ? fmt::format("the {} '{}' is nobody's here", what, id)
                                         : fmt::format("the {} '{}' belongs to {}", what, id, *owner),
               .hint = "Its owner or an administrator can change it."};
}

Result<void> check_may_change(Accounts& accounts, RunStore& runs, const HttpRequest& request, const Principal& caller) {
  if (caller.kind == Principal::Kind::node || caller.scopes.has(Scope::manage)) return {};
  if (const auto run = request.capture("run"); !run.empty()) {
    return check_owner(caller, owner_of_run(accounts, runs, run), "run", run);
  }
  const auto study = request.capture("study");
  return check_owner(caller, owner_of_study(accounts, runs, study), "study", study);
}

/// What is in a study is taken for its author's.
Result<void> check_study_is_own(Accounts& accounts, RunStore& runs, const HttpRequest& request,
                                const Principal& caller) {
  if (caller.kind == Principal::Kind::node || caller.scopes.has(Scope::manage)) return {};
  ASSAY_TRY(auto body, body_object(request));
  ASSAY_TRY(const auto wanted, as_usage(read_api<NewRun>(json::value(std::move(body)))));
  if (wanted.run.study.empty()) return {};
  const auto owner = owner_of_study(accounts, runs, wanted.run.study);
  // One that nobody knows here is only a word.
  if (!owner && owner.error().kind == ErrorKind::not_found) return {};
  return check_owner(caller, owner, "study", wanted.run.study);
}

Result<void> check_may_remove(Leader& leader, const HttpRequest& request, const Principal& caller) {
  if (const auto id = request.capture("run"); !id.empty()) {
    const auto run = leader.runs().find_run(id);
    return run ? check_may_forget(leader, caller, *run) : Result<void>();
  }
  const auto study = leader.runs().find_study(request.capture("study"));
  return study ? check_may_forget(leader, caller, *study) : Result<void>();
}

/// What an answer says that was made.
Result<std::vector<Owned>> made_by(std::string_view path, const HttpResponse& response) {
  ASSAY_TRY(const auto value, parse_json(response.body));
  std::vector<Owned> made;
  if (path == kRecordedRuns) {
    ASSAY_TRY(const auto kept, read_api<KeptRun>(value));
    made.push_back({.kind = Kind::run, .id = kept.run.id});
  } else if (path == kOrderedRuns) {
    ASSAY_TRY(const auto ordered, read_api<OrderedRun>(value));
    if (!ordered.run.empty()) made.push_back({.kind = Kind::run, .id = ordered.run});
    if (!ordered.study.empty()) made.push_back({.kind = Kind::study, .id = ordered.study});
  } else {
    ASSAY_TRY(const auto study, read_api<Study>(value));
    made.push_back({.kind = Kind::study, .id = study.id});
  }
  return made;
}

void check_before(ApiEndpoint& endpoint, Leader& leader) {
  endpoint.handle.call = [&leader, &accounts = leader.accounts(), &runs = leader.runs(),
                          removes = endpoint.method == "DELETE", frames = endpoint.path == kFrames,
                          call = std::move(endpoint.handle.call)](const HttpRequest& request,
                                                                  const Principal& caller) -> Result<HttpResponse> {
    if (!frames || !shows_number(request)) ASSAY_CHECK(check_may_change(accounts, runs, request, caller));
    if (removes) ASSAY_CHECK(check_may_remove(leader, request, caller));
    ASSAY_TRY(auto response, call(request, caller));
    if (removes) {
      const bool run = !request.capture("run").empty();
      ASSAY_CHECK(accounts.owners().forget(
          {.kind = run ? Kind::run : Kind::study, .id = std::string(request.capture(run ? "run" : "study"))}));
    }
    return response;
  };
}

void note_what_is_made(ApiEndpoint& endpoint, Leader& leader) {
  endpoint.handle.call = [&leader, path = endpoint.path, call = std::move(endpoint.handle.call)](
                             const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
    if (path == kRecordedRuns) {
      ASSAY_CHECK(check_study_is_own(leader.accounts(), leader.runs(), request, caller));
    }
    ASSAY_TRY(auto response, call(request, caller));
    ASSAY_TRY(const auto made, made_by(path, response));
    for (const auto& owned : made) {
      ASSAY_CHECK(leader.accounts().owners().note(owned, caller.owner(), leader.clock().wall()));
    }
    return response;
  };
}

}  // namespace

Result<std::string> owner_of_run(Accounts& accounts, RunStore& runs, std::string_view run) {
  ASSAY_TRY(const auto found, runs.find_run(run));
  ASSAY_TRY(auto owner, accounts.owners().find({.kind = Kind::run, .id = found.id}));
  if (!owner.empty() || found.study.empty()) return owner;
  return accounts.owners().find({.kind = Kind::study, .id = found.study});
}

Result<std::string> owner_of_study(Accounts& accounts, RunStore& runs, std::string_view study) {
  ASSAY_TRY(const auto found, runs.find_study(study));
  return accounts.owners().find({.kind = Kind::study, .id = found.id});
}

void hold_to_owners(ApiTable& table, Leader& leader) {
  table.change_each([&](ApiEndpoint& endpoint) {
    if (endpoint.method == "GET" || endpoint.scope != Scope::run) return;
    const bool names =
        endpoint.path.find("{run}") != std::string::npos || endpoint.path.find("{study}") != std::string::npos;
    if (names && !has_lease(endpoint.path)) {
      check_before(endpoint, leader);
    } else if (endpoint.path == kRecordedRuns || endpoint.path == kOrderedRuns || endpoint.path == kNewStudies) {
      note_what_is_made(endpoint, leader);
    }
  });
}

}  // namespace assay
