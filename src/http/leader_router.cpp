#include "http/leader_router.h"

#include "base/version.h"
#include "http/agent_routes.h"

namespace assay {
namespace {

constexpr const char* kWelcome =
    "This is an assay leader.\n\n"
    "  /api/v1/openapi.json   the API: nodes, telemetry, events, alerts\n"
    "  /metrics               for Prometheus\n"
    "  /health                OK\n\n"
    "`assay nodes`, `assay top` and `assay query` show the cluster in a terminal.\n";

}  // namespace

Router make_leader_router(Leader& leader, Gatekeeper& gatekeeper, MakeBackup backup) {
  ApiTable table;
  add_leader_endpoints(table, leader, std::move(backup));
  add_node_endpoints(table, leader);
  add_series_endpoints(table, leader);
  add_alert_endpoints(table, leader);

  Router router;
  router.on_refusal([](int status, std::string_view message) {
    return error_response(
        status, {.kind = status == 404 ? ErrorKind::not_found : ErrorKind::usage, .message = std::string(message)});
  });
  const RouteOptions at_once{.run_on = RunOn::io_thread};
  router.get(
      "/health", [](const HttpRequest&) { return HttpResponse::text(200, "OK"); }, at_once);
  router.get(
      "/", [](const HttpRequest&) { return HttpResponse::text(200, kWelcome); }, at_once);
  router.get("/api/v1/openapi.json", [document = pretty_json(table.document())](const HttpRequest&) {
    return HttpResponse::json(200, document);
  });
  table.route(router, gatekeeper);
  add_agent_routes(router, leader, gatekeeper);
  return router;
}

}  // namespace assay
