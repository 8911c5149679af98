#include "api/cluster_types.h"
#include "http/api_routes.h"
#include "http/prometheus.h"

namespace assay {

void add_leader_endpoints(ApiTable& table, Leader& leader, MakeBackup backup) {
  table.add({.path = "/api/v1/status",
             .summary = "How the leader itself is doing",
             .handle = answering(
                 [&leader](const HttpRequest&, const Principal&) -> Result<LeaderStatus> { return leader.status(); })});
  table.add({.method = "POST",
             .path = "/api/v1/backup",
             .scope = Scope::admin,
             .summary = "Copy everything that the leader keeps into a new folder on its machine, while it goes on",
             .handle = taking<BackupFolder>([backup = std::move(backup)](BackupFolder wanted, const HttpRequest&,
                                                                         const Principal&) -> Result<BackupFolder> {
               const fs::path folder = wanted.folder;
               if (!folder.is_absolute()) {
                 return Error{.kind = ErrorKind::usage, .message = "'folder' must be an absolute path"};
               }
               ASSAY_CHECK(backup(folder));
               return BackupFolder{.folder = folder.string()};
             })});
  table.add({.path = "/metrics",
             .summary = "The newest values for Prometheus; GPUs under the names of dcgm-exporter",
             .handle = writing("text/plain", [&leader](const HttpRequest&, const Principal&) -> Result<HttpResponse> {
               HttpResponse response = HttpResponse::text(200, prometheus_text(leader));
               response.headers.set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
               return response;
             })});
}

}  // namespace assay
