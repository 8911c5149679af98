#include <memory>
#include <mutex>

#include "api/run_types.h"
#include "http/api_routes.h"
#include "http/run_orders.h"
#include "http/start_rules.h"
#include "leader/leader.h"
#include "leader/run_desk.h"
#include "store/run_store.h"

namespace assay {
void add_run_request_endpoints(ApiTable& table, Leader& leader) {
  RunDesk& desk = leader.run_desk();
  // One at a time: two orders at once must not both see the last free place of a quota.
  const auto ordering = std::make_shared<std::mutex>();
  table.add({.method = "POST",
             .path = "/api/v1/runs",
             .scope = Scope::run,
             .summary = "Ask for what a specification says: a run, or a study of several, on nodes of the cluster",
             .handle = taking<RunOrder>([&leader, &desk, ordering](RunOrder order, const HttpRequest&,
                                                                   const Principal& caller) -> Result<OrderedRun> {
               ASSAY_TRY(const auto wanted, request_in(std::move(order), caller, desk));
               const std::lock_guard lock(*ordering);
               // Who asks again is given the same answer, whatever they have used meanwhile.
               ASSAY_TRY(const auto before, desk.answered(wanted));
               if (before) return OrderedRun{.run = before->run, .study = before->study};
               ASSAY_CHECK(check_may_start(leader, caller, wanted.plan));
               ASSAY_TRY(const auto accepted, desk.ask(wanted));
               return OrderedRun{.run = accepted.run, .study = accepted.study};
             })});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/stop",
             .scope = Scope::run,
             .summary = "End a run that waits or goes on; what it has recorded stays",
             .parameters = {{.name = "run", .in = ApiParameter::In::path, .description = "The id of the run"}},
             .handle = answering([&desk](const HttpRequest& request, const Principal& caller) -> Result<NamedRun> {
               ASSAY_CHECK(desk.stop(request.capture("run"), caller.name));
               return NamedRun{.run = std::string(request.capture("run"))};
             })});
  const ApiParameter study{.name = "study", .in = ApiParameter::In::path, .description = "The id of the study"};
  table.add({.path = "/api/v1/studies/{study}/jobs",
             .summary = "Runs of a study that wait or go on; none once it is over or was stopped",
             .parameters = {study},
             .handle = answering([&desk](const HttpRequest& request, const Principal&) -> Result<StudyJobs> {
               return StudyJobs{.runs = desk.jobs_of(request.capture("study"))};
             })});
  table.add(
      {.method = "POST",
       .path = "/api/v1/studies/{study}/resume",
       .scope = Scope::run,
       .summary = "Go on with a study: with what has not begun and what was interrupted",
       .parameters = {study},
       .handle = taking<StudyResumption>([&leader, &desk, ordering](StudyResumption wanted, const HttpRequest& request,
                                                                    const Principal& caller) -> Result<ResumedStudy> {
         const std::lock_guard lock(*ordering);
         ASSAY_TRY(const auto found, leader.runs().find_study(request.capture("study")));
         // One that goes on already is only followed.
         if (desk.jobs_of(found.id).empty()) {
           ASSAY_CHECK(check_may_start(leader, caller, found.plan));
         }
         RunRequest order{
             .plan = {}, .node = std::move(wanted.node), .gpus = std::move(wanted.gpus), .by = caller.name};
         order.owner = caller.owner();
         ASSAY_TRY(auto todo, desk.resume_study(request.capture("study"), order));
         return ResumedStudy{.study = std::string(request.capture("study")), .todo = std::move(todo)};
       })});
  table.add({.method = "POST",
             .path = "/api/v1/studies/{study}/stop",
             .scope = Scope::run,
             .summary = "End every run of a study, and begin no further one",
             .parameters = {{.name = "study", .in = ApiParameter::In::path, .description = "The id of the study"}},
             .handle = answering([&desk](const HttpRequest& request, const Principal& caller) -> Result<NamedStudy> {
               ASSAY_CHECK(desk.stop_study(request.capture("study"), caller.name));
               return NamedStudy{.study = std::string(request.capture("study"))};
             })});
}

}  // namespace assay
