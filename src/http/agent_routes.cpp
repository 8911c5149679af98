#include "http/agent_routes.h"

#include <charconv>

#include "api/run_json.h"
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

HttpResponse answer_hello(Leader& leader, const std::string& node, const HttpRequest& request) {
  const auto hello = parse_hello(request.body);
  if (!hello) return error_response(hello.error());
  if (const auto said = leader.hello(node, *hello); !said) return error_response(503, said.error());
  return json_response(
      json::object{{"now_ns", ns(leader.clock().wall())}, {"heartbeat_ms", milliseconds_of(kHeartbeat)}});
}

HttpResponse answer_batch(Leader& leader, const std::string& node, const HttpRequest& request) {
  const auto receipt =
      leader.take_batches(node, request.body, number_in<std::int64_t>(request.headers.find("Assay-Sent")));
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

HttpResponse answer_take(Leader& leader, const std::string& node, const HttpRequest& request) {
  const auto taken = leader.run_desk().take(node, request.capture("run"));
  if (!taken) return error_response(taken.error());
  return json_response(
      json::object{{"lease", to_json(taken->lease)}, {"run", to_json(taken->run)}, {"planned", taken->planned}});
}

HttpResponse answer_report(Leader& leader, const std::string& node, const HttpRequest& request) {
  const auto reported = leader.commands().report(node, request.capture("id"), request.body);
  if (!reported) return error_response(reported.error());
  return json_response(json::object{});
}

}  // namespace

void add_agent_routes(Router& router, Leader& leader, Gatekeeper& gatekeeper) {
  using Answer = std::function<HttpResponse(Leader&, const std::string&, const HttpRequest&)>;
  const auto add = [&](std::string method, std::string_view path, const Answer& answer, RouteOptions options = {}) {
    router.add(
        std::move(method), path,
        [&leader, &gatekeeper, answer](const HttpRequest& request) {
          auto admitted = gatekeeper.admit_node(request);
          if (auto* refusal = std::get_if<HttpResponse>(&admitted)) return std::move(*refusal);
          return answer(leader, std::get<std::string>(admitted), request);
        },
        options);
  };
  router.post("/agent/v1/join", [&gatekeeper](const HttpRequest& request) { return gatekeeper.join(request); });
  add("POST", "/agent/v1/hello", answer_hello);
  add("POST", "/agent/v1/batch", answer_batch, {.body_bytes = kBatchBytes});
  add("GET", "/agent/v1/commands", [&gatekeeper](Leader& asked, const std::string& node, const HttpRequest& request) {
    auto still_allowed = [&gatekeeper, request] {
      return std::holds_alternative<std::string>(gatekeeper.admit_node(request));
    };
    return HttpResponse::streaming(asked.commands().listen(node, std::move(still_allowed)).stream(),
                                   "text/event-stream");
  });
  add("POST", "/agent/v1/commands/{id}", answer_report, {.body_bytes = kReportBytes});
  add("GET", "/agent/v1/jobs", [&gatekeeper](Leader& asked, const std::string& node, const HttpRequest& request) {
    auto still_allowed = [&gatekeeper, request] {
      return std::holds_alternative<std::string>(gatekeeper.admit_node(request));
    };
    return HttpResponse::streaming(asked.run_desk().listen(node, std::move(still_allowed)).stream(),
                                   "text/event-stream");
  });
  add("POST", "/agent/v1/jobs/{run}/take", answer_take);
}

}  // namespace assay
