#include "http/leader_router.h"

#include "access/token_book.h"
#include "accounts/account_authenticators.h"
#include "accounts/accounts.h"
#include "base/version.h"
#include "dashboard/dashboard_routes.h"
#include "http/agent_routes.h"
#include "http/api_routes.h"
#include "http/api_table.h"
#include "http/gatekeeper.h"
#include "http/ownership.h"
#include "leader/leader.h"
#include "model/run.h"
#include "net/router.h"
#include "protocol/paths.h"
#include "store/run_store.h"

namespace assay {
namespace {

constexpr const char* kWelcome =
    "This is an assay leader. In a browser this address shows its dashboard.\n\n"
    "  /api/v1/openapi.json   the API: nodes, telemetry, events, alerts\n"
    "  /metrics               for Prometheus\n"
    "  /health                OK\n\n"
    "`assay nodes`, `assay top` and `assay query` show the cluster in a terminal.\n";

// A name and a key.
constexpr std::size_t kJoinBytes = 4096;

}  // namespace

ApiTable make_leader_api(Leader& leader, TokenBook& book, const LeaderProgram& program) {
  ApiTable table({.description =
                      "Nodes, telemetry, events, alerts and runs of a GPU cluster. Times are ISO 8601 in UTC, "
                      "or milliseconds (_ms) or nanoseconds (_ns) since 1970 where a name ends so."});
  add_leader_endpoints(table, leader, program.backup);
  add_node_endpoints(table, leader);
  add_series_endpoints(table, leader);
  add_alert_endpoints(table, leader);
  add_run_endpoints(table, leader.runs(), leader.clock());
  add_run_request_endpoints(table, leader);
  add_queue_endpoints(table, leader);
  add_slurm_endpoints(table, leader);
  add_look_endpoints(table, leader);
  add_session_endpoints(table, leader);
  add_account_endpoints(table, leader);
  add_panel_endpoints(table, leader);
  add_offer_endpoints(table, leader);
  add_price_endpoints(table, leader);
  add_join_endpoints(table, leader, book, program);
  hold_to_owners(table, leader);
  return table;
}

std::unique_ptr<Gatekeeper> make_gatekeeper(Leader& leader, TokenBook& book) {
  const auto study_of = [&leader](std::string_view run) {
    const auto found = leader.runs().find_run(run);
    return found ? found->study : std::string();
  };
  GatekeeperOptions options{.behind_proxy = leader.accounts().options().behind_proxy};
  options.audit = [&leader](AuditRecord record) {
    record.time = leader.clock().wall();
    leader.note_problem("writing the audit log", leader.accounts().audit().append(record));
  };
  options.no_room = [&leader](const Principal& caller) {
    leader.note_no_room(caller.owner());
    // It is there: its request has come, with its key.
    if (caller.kind == Principal::Kind::node) leader.note_heard(caller.name);
  };
  return std::make_unique<Gatekeeper>(book, account_authenticators(leader.accounts(), study_of), std::move(options));
}

Router make_leader_router(Leader& leader, Gatekeeper& gatekeeper, const LeaderProgram& program,
                          std::span<const DashboardFile> dashboard) {
  const ApiTable table = make_leader_api(leader, gatekeeper.book(), program);
  Router router;
  router.on_refusal(
      [](int status, std::string_view message) { return error_response(status, refusal_error(status, message)); });
  const RouteOptions at_once{.run_on = RunOn::io_thread};
  router.get("/health", [](const HttpRequest&) { return HttpResponse::text(200, "OK"); }, at_once);
  add_dashboard_routes(router, dashboard, kWelcome);
  router.get("/api/v1/openapi.json", [document = pretty_json(table.document())](const HttpRequest&) {
    return HttpResponse::json(200, document);
  });
  table.route(router, gatekeeper);
  add_agent_routes(router, leader, gatekeeper);
  // Nodes are not to go offline because somebody asks for much.
  router.change_below(kAgentPaths, [](RouteOptions& options) { options.run_on = RunOn::urgent_worker; });
  // Nor because a run records much.
  router.change_below(kPartFramesPath, [](RouteOptions& options) { options.run_on = RunOn::worker; });
  router.change_below(kJoinPath, [](RouteOptions& options) {
    options.body_bytes = kJoinBytes;
    options.many_callers = true;  // all nodes of a cluster that starts have the same token
  });
  router.change_below("/api/v1/backup", [](RouteOptions& options) { options.run_on = RunOn::slow_worker; });
  return router;
}

}  // namespace assay
