#include <fmt/format.h>

#include "base/hash.h"
#include "http/api_routes.h"
#include "redact/redact.h"
#include "spec/spec.h"

namespace assay {
namespace {

using In = ApiParameter::In;

/// Every mistake of a specification in one error, as `assay run` tells them.
Result<Spec> spec_in(const std::string& text, const std::string& file, std::vector<std::string> assignments) {
  auto reading = read_spec(text, file, {.assignments = std::move(assignments), .environment = {}});
  if (reading.spec) return std::move(*reading.spec);
  std::string list;
  for (const auto& mistake : reading.diagnostics) list += (list.empty() ? "" : "\n") + mistake.text();
  return Error{.kind = ErrorKind::bad_spec, .message = std::move(list), .hint = "`assay schema` helps editors."};
}

Result<RunRequest> request_in(const json::value& body, const Principal& caller) {
  JsonFields fields(body, "body");
  const auto text = fields.text("spec");
  const auto file = fields.text_or("file", "spec.yaml");
  const auto name = fields.text_or("name", "");
  auto assignments = fields.texts_or_empty("set");
  RunRequest request;
  request.tags = fields.texts_or_empty("tags");
  request.node = fields.text_or("node", "");
  if (fields.find("gpus")) request.gpus = fields.texts_or_empty("gpus");
  if (auto good = fields.finish(); !good) {
    good.error().kind = ErrorKind::usage;
    return std::move(good).error();
  }
  ASSAY_TRY(const auto spec, spec_in(text, file, std::move(assignments)));
  ASSAY_TRY(request.plan, expand(spec));
  request.name = name.empty() ? default_name(spec) : name;
  const auto tags = tags_of(spec);
  request.tags.insert(request.tags.begin(), tags.begin(), tags.end());
  request.source = redact(spec.source);
  request.spec_hash = content_hash(json::serialize(spec.settings));
  request.by = caller.name;
  return request;
}

}  // namespace

void add_run_request_endpoints(ApiTable& table, RunDesk& desk) {
  table.add({.method = "POST",
             .path = "/api/v1/runs",
             .scope = Scope::run,
             .summary = "Ask for what a specification says: a run, or a study of several, on a node of the cluster",
             .parameters =
                 {{.name = "spec", .in = In::body, .description = "YAML text", .required = true},
                  {.name = "file", .in = In::body, .description = "Its name, for messages about mistakes"},
                  {.name = "name", .in = In::body, .description = "Of the run or study"},
                  {.name = "tags", .in = In::body, .description = "Further tags", .type = "array"},
                  {.name = "set", .in = In::body, .description = "Changed settings: batch_size=64", .type = "array"},
                  {.name = "node", .in = In::body, .description = "Where, unless the specification says"},
                  {.name = "gpus",
                   .in = In::body,
                   .description = "UUIDs of the GPUs to use; not given: as many as it needs",
                   .type = "array"}},
             .fields = {{"run", "string"}, {"study", "string"}},
             .handle = [&desk](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
               ASSAY_TRY(auto body, body_object(request));
               ASSAY_TRY(const auto wanted, request_in(json::value(std::move(body)), caller));
               ASSAY_TRY(const auto accepted, desk.ask(wanted));
               json::object answer{{"run", accepted.run}};
               if (!accepted.study.empty()) answer["study"] = accepted.study;
               return json_response(answer);
             }});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/stop",
             .scope = Scope::run,
             .summary = "End a run that waits or goes on; what it has recorded stays",
             .parameters = {{.name = "run", .in = In::path, .description = "The id of the run"}},
             .handle = [&desk](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
               ASSAY_CHECK(desk.stop(request.capture("run"), caller.name));
               return json_response(json::object{{"run", request.capture("run")}});
             }});
  table.add({.path = "/api/v1/studies/{study}/jobs",
             .summary = "Runs of a study that wait or go on; none once it is over or was stopped",
             .parameters = {{.name = "study", .in = In::path, .description = "The id of the study"}},
             .fields = {{"runs", "array"}},
             .handle = [&desk](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               return json_response(json::object{{"runs", json::value_from(desk.jobs_of(request.capture("study")))}});
             }});
  table.add({.method = "POST",
             .path = "/api/v1/studies/{study}/resume",
             .scope = Scope::run,
             .summary = "Go on with a study: with what has not begun and what was interrupted",
             .parameters = {{.name = "study", .in = In::path, .description = "The id of the study"},
                            {.name = "node", .in = In::body, .description = "Where, for what names no node"},
                            {.name = "gpus",
                             .in = In::body,
                             .description = "UUIDs of the GPUs to use; not given: as many as each run needs",
                             .type = "array"}},
             .fields = {{"study", "string"}, {"todo", "array"}},
             .handle = [&desk](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
               ASSAY_TRY(auto body, body_object(request));
               const json::value value(std::move(body));
               JsonFields fields(value, "body");
               RunRequest wanted{.plan = {}, .node = fields.text_or("node", ""), .by = caller.name};
               if (fields.find("gpus")) wanted.gpus = fields.texts_or_empty("gpus");
               ASSAY_CHECK(fields.finish());
               ASSAY_TRY(const auto todo, desk.resume_study(request.capture("study"), wanted));
               return json_response(
                   json::object{{"study", request.capture("study")}, {"todo", json::value_from(todo)}});
             }});
  table.add({.method = "POST",
             .path = "/api/v1/studies/{study}/stop",
             .scope = Scope::run,
             .summary = "End every run of a study, and begin no further one",
             .parameters = {{.name = "study", .in = In::path, .description = "The id of the study"}},
             .handle = [&desk](const HttpRequest& request, const Principal& caller) -> Result<HttpResponse> {
               ASSAY_CHECK(desk.stop_study(request.capture("study"), caller.name));
               return json_response(json::object{{"study", request.capture("study")}});
             }});
}

}  // namespace assay
