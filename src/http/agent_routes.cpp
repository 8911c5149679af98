#include "http/agent_routes.h"

#include <charconv>

#include "api/run_types.h"
#include "leader/hello.h"

namespace assay {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{4} << 20;
constexpr std::size_t kReportBytes = std::size_t{8} << 20;  // 1 MiB of output, escaped as JSON

std::int64_t milliseconds_of(Nanos duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}
std::int64_t ns(WallTime time) { return time.time_since_epoch().count(); }

template <typename Number>
std::optional<Number> number_in(std::optional<std::string_view> text) {
  Number number{};
  if (!text) return std::nullopt;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (code != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

HttpResponse answer_join(Gatekeeper& gatekeeper, const HttpRequest& request) {
  auto body = body_object(request);
  if (!body) return error_response(body.error());
  const json::value value(std::move(*body));
  JsonFields fields(value, "join");
  const std::string node = fields.text("node");
  const std::string key = fields.text("key");
  if (const auto good = fields.finish(); !good) return error_response(400, good.error());
  const auto joined = gatekeeper.join(request, node, key);
  if (const auto* away = std::get_if<TurnedAway>(&joined)) return error_response(away->status, away->error);
  const bool waits = std::get<TokenBook::Joined>(joined) == TokenBook::Joined::waits;
  return json_response(json::object{{"node", node}, {"waits", waits}}, waits ? 202 : 200);
}

HttpResponse answer_hello(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto hello = parse_hello(request.body);
  if (!hello) return error_response(hello.error());
  if (const auto said = leader.hello(node.name, *hello); !said) return error_response(503, said.error());
  return json_response(
      json::object{{"now_ns", ns(leader.clock().wall())}, {"heartbeat_ms", milliseconds_of(kHeartbeat)}});
}

HttpResponse answer_batch(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto receipt =
      leader.take_batches(node.name, request.body, number_in<std::int64_t>(request.headers.find("Assay-Sent")));
  // Everything else is our trouble, not the agent's: it keeps what it has and tries again.
  if (!receipt) return error_response(receipt.error().kind == ErrorKind::usage ? 400 : 503, receipt.error());
  using Outcome = Leader::Receipt::Outcome;
  if (receipt->outcome == Outcome::needs_hello) {
    return error_response(410, {.kind = ErrorKind::not_found, .message = "the stream is not known; say hello"});
  }
  if (receipt->outcome == Outcome::needs_names) {
    return json_response(
        json::object{{"error", json::object{{"kind", "not_found"}, {"message", "a series is not known"}, {"hint", ""}}},
                     {"names", true}},
        409);
  }
  return json_response(json::object{{"sequence", receipt->sequence},
                                    {"now_ns", ns(leader.clock().wall())},
                                    {"pause_ms", milliseconds_of(receipt->pause)}});
}

HttpResponse answer_take(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto taken = leader.run_desk().take(node.name, request.capture("run"));
  if (!taken) return error_response(taken.error());
  return json_response(
      json::object{{"lease", write_api(taken->lease)}, {"run", to_json(taken->run)}, {"planned", taken->planned}});
}

HttpResponse answer_report(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto reported = leader.commands().report(node.name, request.capture("id"), request.body);
  if (!reported) return error_response(reported.error());
  return json_response(json::object{});
}

}  // namespace

void add_agent_routes(Router& router, Leader& leader, Gatekeeper& gatekeeper) {
  using Answer = std::function<HttpResponse(Leader&, const Principal&, const HttpRequest&)>;
  const auto add = [&](std::string method, std::string_view path, const Answer& answer, RouteOptions options = {}) {
    router.add(
        std::move(method), path,
        [&leader, &gatekeeper, answer](const HttpRequest& request) {
          const auto admitted = gatekeeper.admit(request, Scope::node);
          if (const auto* away = std::get_if<TurnedAway>(&admitted)) return error_response(away->status, away->error);
          return answer(leader, std::get<Principal>(admitted), request);
        },
        options);
  };
  router.post("/agent/v1/join", [&gatekeeper](const HttpRequest& request) { return answer_join(gatekeeper, request); });
  add("POST", "/agent/v1/hello", answer_hello);
  add("POST", "/agent/v1/batch", answer_batch, {.body_bytes = kBatchBytes});
  add("GET", "/agent/v1/commands", [](Leader& asked, const Principal& node, const HttpRequest&) {
    return HttpResponse::streaming(asked.commands().listen(node.name, node.still_allowed).stream(),
                                   "text/event-stream");
  });
  add("POST", "/agent/v1/commands/{id}", answer_report, {.body_bytes = kReportBytes});
  add("GET", "/agent/v1/jobs", [](Leader& asked, const Principal& node, const HttpRequest&) {
    return HttpResponse::streaming(asked.run_desk().listen(node.name, node.still_allowed).stream(),
                                   "text/event-stream");
  });
  add("POST", "/agent/v1/jobs/{run}/take", answer_take);
}

}  // namespace assay
