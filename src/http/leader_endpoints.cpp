#include "api/cluster_types.h"
#include "base/byte_stream.h"
#include "http/api_routes.h"
#include "http/prometheus.h"
#include "leader/leader.h"

namespace assay {

void add_leader_endpoints(ApiTable& table, Leader& leader, BeginBackup backup) {
  table.add({.path = "/api/v1/status",
             .summary = "How the leader itself is doing",
             .handle = answering(
                 [&leader](const HttpRequest&, const Principal&) -> Result<LeaderStatus> { return leader.status(); })});
  table.add(
      {.method = "POST",
       .path = "/api/v1/backup",
       .scope = Scope::admin,
       .summary = "A copy of everything that the leader keeps, made while it goes on: a tar archive whose last file, "
                  "assay-backup.jsonl, has the SHA-256 of every other. Without that file it is not whole",
       .handle = writing("application/x-tar",
                         [backup = std::move(backup)](const HttpRequest&, const Principal&) -> Result<HttpResponse> {
                           ASSAY_TRY(auto archive, backup());
                           return HttpResponse::pulled(std::move(archive), "application/x-tar");
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
