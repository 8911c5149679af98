#include "http/agent_routes.h"

#include <charconv>
#include <functional>
#include <utility>

#include "bytes/frame.h"
#include "leader/command_desk.h"
#include "leader/leader.h"
#include "leader/node.h"
#include "leader/run_desk.h"
#include "leader/slurm_desk.h"
#include "net/router.h"
#include "protocol/batch_receipt.h"
#include "protocol/hello.h"
#include "protocol/job_list.h"
#include "protocol/join.h"
#include "protocol/part_report.h"
#include "protocol/paths.h"
#include "protocol/slurm_report.h"

namespace assay {
namespace {

std::int64_t ns(WallTime time) { return time.time_since_epoch().count(); }

template <typename Number>
std::optional<Number> number_in(std::optional<std::string_view> text) {
  Number number{};
  if (!text) return std::nullopt;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (code != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return number;
}

HttpResponse answer_turned_away(const HttpRequest&, const TurnedAway& away) {
  return error_response(away.status, away.error);
}

HttpResponse answer_join(Gatekeeper& gatekeeper, const HttpRequest& request) {
  const auto join = parse_join(request.body);
  if (!join) return error_response(join.error());
  const auto joined = gatekeeper.join(request, join->node, join->key);
  if (const auto* away = std::get_if<TurnedAway>(&joined)) return answer_turned_away(request, *away);
  const bool waits = std::get<TokenBook::Joined>(joined) == TokenBook::Joined::waits;
  return json_response(json::object{{"node", join->node}, {"waits", waits}}, waits ? 202 : 200);
}

HttpResponse answer_hello(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto hello = parse_hello(request.body);
  if (!hello) return error_response(hello.error());
  if (const auto said = leader.hello(node.name, *hello); !said) return error_response(503, said.error());
  return json_response(to_json(HelloAnswer{.now_ns = ns(leader.clock().wall()), .heartbeat = kHeartbeat}));
}

HttpResponse answer_batch(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto receipt =
      leader.take_batches(node.name, request.body, number_in<std::int64_t>(request.headers.find(kSentHeader)));
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
  return json_response(to_json(
      BatchReceipt{.sequence = receipt->sequence, .now_ns = ns(leader.clock().wall()), .pause = receipt->pause}));
}

HttpResponse answer_take(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto taken = leader.run_desk().take(node.name, request.capture("run"));
  if (!taken) return error_response(taken.error());
  return json_response(to_json(*taken));
}

HttpResponse answer_part(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto report = parse_part_report(request.body);
  if (!report) return error_response(report.error());
  const auto answer = leader.run_desk().report_part(node.name, request.capture("run"), *report);
  if (!answer) return error_response(answer.error());
  return json_response(to_json(*answer));
}

HttpResponse answer_part_frames(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto epoch = number_in<std::uint64_t>(request.query_value("epoch"));
  const auto offset = number_in<std::uint64_t>(request.query_value("offset"));
  if (!epoch || !offset) {
    return error_response(
        {.kind = ErrorKind::usage, .message = "'epoch' and 'offset' must be given, as whole numbers not below 0"});
  }
  const auto size =
      leader.run_desk().take_part_frames(node.name, request.capture("run"), *epoch, *offset, request.body);
  if (!size) return error_response(size.error());
  return json_response(json::object{{"size", *size}});
}

HttpResponse answer_report(Leader& leader, const Principal& node, const HttpRequest& request) {
  const auto reported = leader.commands().report(node.name, request.capture("id"), request.body);
  if (!reported) return error_response(reported.error());
  return json_response(json::object{});
}

HttpResponse answer_slurm(Leader& leader, const Principal& node, const HttpRequest& request) {
  if (const auto may = leader.slurm().check_teller(node.name); !may) return error_response(may.error());
  auto report = parse_slurm_report(request.body);
  if (!report) return error_response(report.error());
  if (const auto taken = leader.slurm().take(node.name, std::move(*report)); !taken) {
    return error_response(taken.error());
  }
  return json_response(json::object{});
}

using AgentAnswer = std::function<HttpResponse(Leader&, const Principal&, const HttpRequest&)>;

/// What is read whole counts towards what the node may send, whatever it turns out to be.
AgentAnswer charged(AgentAnswer answer) {
  return [answer = std::move(answer)](Leader& leader, const Principal& node, const HttpRequest& request) {
    if (const auto paid = leader.charge(node.name, request.body.size()); !paid) {
      return error_response(503, paid.error());
    }
    return answer(leader, node, request);
  };
}

}  // namespace

void add_agent_routes(Router& router, Leader& leader, Gatekeeper& gatekeeper) {
  const auto add = [&](std::string method, std::string_view path, const AgentAnswer& answer,
                       RouteOptions options = {}) {
    options.admit = [&gatekeeper](const HttpRequest& head) {
      return gatekeeper.look_at(head, Scope::node, answer_turned_away);
    };
    router.add(
        std::move(method), path,
        [&leader, &gatekeeper, answer](const HttpRequest& request) {
          const auto admitted = gatekeeper.admit(request, Scope::node);
          if (const auto* away = std::get_if<TurnedAway>(&admitted)) return answer_turned_away(request, *away);
          return answer(leader, std::get<Principal>(admitted), request);
        },
        std::move(options));
  };
  router.post(kJoinPath, [&gatekeeper](const HttpRequest& request) { return answer_join(gatekeeper, request); });
  add("POST", kHelloPath, charged(answer_hello));
  add("POST", kBatchPath, answer_batch, {.body_bytes = kBatchBodyBytes});
  add("GET", kCommandsPath, [](Leader& asked, const Principal& node, const HttpRequest&) {
    return HttpResponse::streaming(asked.commands().listen(node.name, node.still_allowed).stream(),
                                   "text/event-stream");
  });
  add("POST", kReportPath, charged(answer_report), {.body_bytes = kReportBodyBytes});
  add("GET", kJobsPath, [](Leader& asked, const Principal& node, const HttpRequest&) {
    return HttpResponse::streaming(asked.run_desk().listen(node.name, node.still_allowed).stream(),
                                   "text/event-stream");
  });
  add("POST", kTakePath, answer_take);
  add("POST", kSlurmPath, charged(answer_slurm), {.body_bytes = kSlurmBodyBytes});
  add("POST", kPartPath, answer_part);
  add("POST", kPartFramesPath, answer_part_frames, {.body_bytes = kMaxPayload + (std::size_t{1} << 20)});
}

}  // namespace assay
