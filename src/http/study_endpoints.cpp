#include <fmt/format.h>

#include <charconv>

#include "api/run_types.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "store/run_store.h"

namespace assay {
namespace {

constexpr std::size_t kMostStudies = 1000;

const ApiParameter kStudy{.name = "study", .in = ApiParameter::In::path, .description = "The id of the study"};
const ApiParameter kEntry{
    .name = "entry", .in = ApiParameter::In::path, .description = "Its place in the plan, from 0 on"};

Result<NamedRun> note_planned_run(RunStore& runs, const HttpRequest& request, NamedRun planned) {
  const auto text = request.capture("entry");
  std::size_t entry = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), entry);
  if (code != std::errc() || end != text.data() + text.size()) {
    return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}' is no place in a plan", text)};
  }
  ASSAY_CHECK(runs.note_planned_run(request.capture("study"), entry, planned.run));
  return planned;
}

}  // namespace

void add_study_endpoints(ApiTable& table, RunStore& runs) {
  table.add({.path = "/api/v1/studies",
             .summary = "Studies, newest first, without their plans",
             .parameters = {{.name = "limit", .description = "At most so many", .type = "integer"},
                            {.name = "after", .description = "The 'next' of the page before"}},
             .handle = answering([&runs](const HttpRequest& request, const Principal&) -> Result<StudyPage> {
               ASSAY_TRY(const auto limit, limit_of(request, 100, kMostStudies));
               return runs.list_studies({.limit = static_cast<std::int64_t>(limit),
                                         .after = std::string(request.query_value("after").value_or(""))});
             })});
  table.add({.path = "/api/v1/studies/{study}",
             .summary = "A study: its plan, and which run did which entry of it",
             .parameters = {kStudy},
             .handle = answering([&runs](const HttpRequest& request, const Principal&) {
               return runs.find_study(request.capture("study"));
             })});
  table.add({.method = "POST",
             .path = "/api/v1/studies",
             .scope = Scope::run,
             .summary = "A new study of runs that the caller records itself",
             .handle = taking<Study>([&runs](Study study, const HttpRequest&, const Principal&) -> Result<Study> {
               ASSAY_CHECK(runs.create_study(study));
               return study;
             })});
  table.add({.method = "POST",
             .path = "/api/v1/studies/{study}/plan/{entry}",
             .scope = Scope::run,
             .summary = "Note which run does an entry of the plan",
             .parameters = {kStudy, kEntry},
             .handle = taking<NamedRun>([&runs](NamedRun planned, const HttpRequest& request, const Principal&) {
               return note_planned_run(runs, request, std::move(planned));
             })});
  table.add({.method = "DELETE",
             .path = "/api/v1/studies/{study}",
             .scope = Scope::run,
             .summary = "Delete a study; its runs stay",
             .parameters = {kStudy},
             .handle = answering([&runs](const HttpRequest& request, const Principal&) -> Result<Removed> {
               ASSAY_CHECK(runs.remove_study(request.capture("study")));
               return Removed{.removed = std::string(request.capture("study"))};
             })});
}

}  // namespace assay
