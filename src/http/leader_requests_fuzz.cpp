#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "access/secrets.h"
#include "base/byte_stream.h"
#include "base/json.h"
#include "base/log.h"
#include "http/api_routes.h"
#include "http/leader_router.h"
#include "leader/command_desk.h"
#include "leader/leader.h"
#include "leader/leader_options.h"
#include "leader/live_hub.h"
#include "leader/run_desk.h"
#include "model/run.h"
#include "net/request_target.h"
#include "net/response_stream.h"
#include "net/router.h"
#include "protocol/batch.h"
#include "protocol/hello.h"
#include "store/memory/cluster_memory.h"
#include "store/memory/run_memory.h"
#include "store/memory/series_memory.h"
#include "store/run_store.h"

// Any request to any route, by anybody: no crash, no status from 500 on, and JSON that can be read. The first byte
// chooses the route, the second who asks; a line follows for the path and query, then the body.

namespace assay {
namespace {

struct Route {
  const char* method;
  const char* target;  ///< the line of the input stands for the '~'
};

constexpr std::array kRoutes = {
    Route{"POST", "/agent/v1/join"},
    Route{"POST", "/agent/v1/hello"},
    Route{"POST", "/agent/v1/batch"},
    Route{"GET", "/agent/v1/commands"},
    Route{"POST", "/agent/v1/commands/~"},
    Route{"GET", "/agent/v1/jobs"},
    Route{"POST", "/agent/v1/jobs/~/take"},
    Route{"POST", "/agent/v1/jobs/mine/part"},
    Route{"POST", "/agent/v1/jobs/mine/frames?epoch=1&offset=~"},
    Route{"GET", "/api/v1/runs?~"},
    Route{"POST", "/api/v1/runs"},
    Route{"POST", "/api/v1/runs/search"},
    Route{"GET", "/api/v1/runs/changes?~"},
    Route{"POST", "/api/v1/runs/recorded"},
    Route{"GET", "/api/v1/runs/~"},
    Route{"PUT", "/api/v1/runs/mine"},
    Route{"POST", "/api/v1/runs/mine/curves"},
    Route{"GET", "/api/v1/runs/mine/lease"},
    Route{"POST", "/api/v1/runs/mine/lease"},
    Route{"POST", "/api/v1/runs/mine/lease/renew"},
    Route{"POST", "/api/v1/runs/mine/lease/release"},
    Route{"PUT", "/api/v1/runs/mine/owned"},
    Route{"POST", "/api/v1/runs/mine/join"},
    Route{"POST", "/api/v1/runs/mine/frames?journal=journal&owner=gpu01&epoch=1&offset=~"},
    Route{"GET", "/api/v1/runs/mine/journals/~"},
    Route{"GET", "/api/v1/runs/mine/journals/journal?~"},
    Route{"PUT", "/api/v1/runs/mine/artifacts/~"},
    Route{"GET", "/api/v1/runs/mine/artifacts/~"},
    Route{"POST", "/api/v1/runs/~/stop"},
    Route{"DELETE", "/api/v1/runs/~"},
    Route{"POST", "/api/v1/studies"},
    Route{"GET", "/api/v1/studies/~"},
    Route{"POST", "/api/v1/studies/s/plan/~"},
    Route{"GET", "/api/v1/status"},
    Route{"GET", "/metrics"},
    Route{"GET", "/api/v1/nodes?values=true"},
    Route{"GET", "/api/v1/nodes/~"},
    Route{"GET", "/api/v1/nodes/gpu01/trend"},
    Route{"GET", "/api/v1/trends?limit=5"},
    Route{"POST", "/api/v1/nodes/gpu01/drain"},
    Route{"POST", "/api/v1/nodes/gpu01/resume"},
    Route{"POST", "/api/v1/nodes/gpu01/commands"},
    Route{"DELETE", "/api/v1/nodes/gpu02?~"},
    Route{"GET", "/api/v1/events?~"},
    Route{"GET", "/api/v1/commands"},
    Route{"GET", "/api/v1/commands/~"},
    Route{"GET", "/api/v1/series?q=~"},
    Route{"GET", "/api/v1/query?q=~"},
    Route{"DELETE", "/api/v1/series?q=~"},
    Route{"GET", "/api/v1/live?~"},
    Route{"GET", "/api/v1/alerts?~"},
    Route{"POST", "/api/v1/alerts/~/acknowledge"},
    Route{"GET", "/api/v1/silences"},
    Route{"POST", "/api/v1/silences"},
    Route{"DELETE", "/api/v1/silences/~"},
    Route{"POST", "/api/v1/backup"},
    Route{"POST", "/api/v1/session"},
    Route{"GET", "/api/v1/session"},
    Route{"DELETE", "/api/v1/session"},
    Route{"POST", "/api/v1/session/password"},
    Route{"GET", "/api/v1/users"},
    Route{"POST", "/api/v1/users"},
    Route{"PUT", "/api/v1/users/~"},
    Route{"DELETE", "/api/v1/users/~"},
    Route{"POST", "/api/v1/users/~/password"},
    Route{"POST", "/api/v1/tokens"},
    Route{"DELETE", "/api/v1/tokens/~"},
    Route{"POST", "/api/v1/links"},
    Route{"DELETE", "/api/v1/links/~"},
    Route{"GET", "/api/v1/audit?~"},
    Route{"PUT", "/api/v1/catalog"},
    Route{"DELETE", "/api/v1/catalog/~"},
    Route{"PUT", "/api/v1/quotas"},
    Route{"DELETE", "/api/v1/quotas/~"},
    Route{"GET", "/api/v1/quota"},
    Route{"GET", "/api/v1/prices"},
    Route{"PUT", "/api/v1/prices"},
    Route{"DELETE", "/api/v1/prices"},
    Route{"PUT", "/api/v1/prices/power"},
    Route{"GET", "/api/v1/join-tokens"},
    Route{"POST", "/api/v1/join-tokens"},
    Route{"DELETE", "/api/v1/join-tokens/~"},
    Route{"POST", "/api/v1/nodes/~/approve"},
    Route{"DELETE", "/api/v1/nodes/~/key"},
    Route{"POST", "/api/v1/runs/~/tags"},
};

/// A leader with two nodes and somebody of each role. Made anew now and then, so that what it keeps stays small.
class Place {
 public:
  static constexpr int kMostInputs = 5000;

  Place() : book_(TokenBook::open(folder_.path() / "tokens.jsonl", clock_).value()), gatekeeper_(book_) {
    Run run{.id = "mine", .kind = "null"};
    run.placement.node = "gpu01";
    if (!runs_->create_run(run, {.owner = "gpu01", .length = std::chrono::hours(1)})) std::abort();
    LeaderOptions options;
    options.accounts.people.cost = {.passes = 1, .memory_bytes = 8192};
    leader_ =
        Leader::open(std::move(options), {.cluster = cluster_, .series = series_, .runs = *runs_}, clock_).value();
    for (const Role role : {Role::viewer, Role::user, Role::admin, Role::agent}) {
      people_.push_back({{"Authorization", "Bearer " + book_.create(role, "", std::nullopt).value().secret}});
    }
    people_.push_back({});
    for (const char* node : {"gpu01", "gpu02"}) {
      const std::string key = new_secret();
      if (!book_.join(people_[3].find("Authorization")->substr(7), node, key)) std::abort();
      people_.push_back({{"Authorization", "Bearer " + key}, {"Assay-Node", node}});
      const AgentHello hello{.stream = "s", .allow = {"doctor", "run"}};
      if (!leader_->hello(node, hello)) std::abort();
    }
    router_ = make_leader_router(
        *leader_, gatekeeper_,
        {.backup = [] { return std::shared_ptr<ByteSource>(text_source("an archive")); }, .fingerprint = {}});
  }

  void ask(std::uint8_t route_byte, std::uint8_t person, std::string_view line, std::string_view body) {
    clock_.advance(std::chrono::milliseconds(1));
    const Route& route = kRoutes[route_byte % kRoutes.size()];
    std::string text = route.target;
    if (const auto at = text.find('~'); at != std::string::npos) text.replace(at, 1, line);
    const auto target = parse_request_target(text);
    if (!target) return;
    const auto match = router_.match(route.method, *target);
    if (match.handler == nullptr) return;
    HttpRequest request{.method = route.method,
                        .target = text,
                        .path = target->path,
                        .query = target->query,
                        .captured = match.captured,
                        .headers = people_[person % people_.size()],
                        .body = std::string(body)};
    request.headers.add("Content-Type", "application/json");
    // Half of the batches have their length right: what is inside is of more interest.
    if (text == "/agent/v1/batch" && (person & 0x80) != 0) {
      request.body.clear();
      append_framed(request.body, body);
      request.headers.add("Assay-Sent", std::string(line));
    }
    if (match.options.stream_body) request.body_source = text_source(std::exchange(request.body, {}));
    check(request, (*match.handler)(request));
    if (!leader_->run_desk().tick()) std::abort();
    leader_->live().tick();
    leader_->commands().expire();
  }

 private:
  static void check(const HttpRequest& request, const HttpResponse& response) {
    if (response.stream) {
      response.stream->detach();
      return;
    }
    const auto type = response.headers.find("Content-Type").value_or("");
    const bool text = response.status == 200 && !type.starts_with("application/json");
    std::string body = response.body;
    if (response.body_source) {
      const auto made = pour(*response.body_source, [&](std::string_view piece) {
        body += piece;
        return Result<void>();
      });
      if (!made) std::abort();
    }
    if (response.status < 500 && (text || parse_json(body))) return;
    std::fprintf(stderr, "%s %s: %d %s\n", request.method.c_str(), request.target.c_str(), response.status,
                 body.c_str());
    std::abort();
  }

  TemporaryFolder folder_;
  ManualClock clock_;
  TokenBook book_;
  Gatekeeper gatekeeper_;
  ClusterMemory cluster_;
  SeriesMemory series_{clock_};
  std::unique_ptr<RunStore> runs_ = open_run_memory(make_run_memory(), clock_);
  std::unique_ptr<Leader> leader_;
  std::vector<Headers> people_;
  Router router_;
};

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const bool quiet = [] {
    assay::configure_log(assay::LogLevel::error, assay::LogFormat::text);
    return true;
  }();
  static_cast<void>(quiet);
  static std::optional<assay::Place> place;
  static int inputs = 0;
  if (!place || ++inputs % assay::Place::kMostInputs == 0) place.emplace();
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  place->ask(data[0], data[1], line, end == std::string_view::npos ? std::string_view() : rest.substr(end + 1));
  return 0;
}
