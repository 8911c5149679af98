#include "http/api_routes.h"

#include "http/prometheus.h"

namespace assay {

void add_leader_endpoints(ApiTable& table, Leader& leader, MakeBackup backup) {
  table.add({.path = "/api/v1/status",
             .summary = "How the leader itself is doing",
             .handle = [&leader](const HttpRequest&, const Principal&) -> Result<HttpResponse> {
               return json_response(leader.status());
             }});
  table.add(
      {.method = "POST",
       .path = "/api/v1/backup",
       .scope = Scope::admin,
       .summary = "Copy everything that the leader keeps into a new folder on its machine, while it goes on",
       .parameters = {{.name = "folder",
                       .in = ApiParameter::In::body,
                       .description = "An absolute path; new or empty",
                       .required = true}},
       .handle = [backup = std::move(backup)](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
         ASSAY_TRY(auto body, body_object(request));
         const json::value value(std::move(body));
         JsonFields fields(value, "body");
         const fs::path folder = fields.text("folder");
         ASSAY_CHECK(fields.finish());
         if (!folder.is_absolute()) {
           return Error{.kind = ErrorKind::usage, .message = "'folder' must be an absolute path"};
         }
         ASSAY_CHECK(backup(folder));
         return json_response(json::object{{"folder", folder.string()}});
       }});
  table.add({.path = "/metrics",
             .summary = "The newest values for Prometheus; GPUs under the names of dcgm-exporter",
             .answer = "text/plain",
             .handle = [&leader](const HttpRequest&, const Principal&) -> Result<HttpResponse> {
               HttpResponse response = HttpResponse::text(200, prometheus_text(leader));
               response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
               return response;
             }});
}

}  // namespace assay
