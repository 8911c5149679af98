// How a simulated agent talks to its leader: docs/reference/agent-protocol.md, row by row.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/version.h"
#include "fleet/sim_agent.h"
#include "protocol/batch_receipt.h"
#include "protocol/hello.h"
#include "protocol/join.h"
#include "protocol/paths.h"
#include "protocol/retry_after.h"

namespace assay {
namespace {

using std::chrono::milliseconds;

/// Less the lengths before the batches.
constexpr std::size_t kBodyBytes = kBatchBodyBytes - 4096;
constexpr std::size_t kBodyBatches = 512;
constexpr std::size_t kAnswerBytes = std::size_t{64} << 10;
constexpr Nanos kShortestWait = milliseconds(100);
constexpr Nanos kLongestWait = std::chrono::minutes(10);
constexpr const char* kJson = "application/json";

}  // namespace

IoTask<Result<ClientResponse>> SimAgent::post(std::string_view path, std::string_view type, std::string body,
                                              std::string_view bearer) {
  if (!client_) {
    auto made = AsyncHttpClient::create(
        executor_, fleet_.options.leader,
        {.server = "the leader", .trust = fleet_.options.trust, .response_bytes = kAnswerBytes, .idle_connections = 1});
    if (!made) co_return std::move(made).error();
    client_ = std::move(*made);
  }
  ClientRequest request;
  request.method = "POST";
  request.target = std::string(path);
  request.headers.add("Authorization", fmt::format("Bearer {}", bearer));
  request.headers.add(kNodeHeader, name_);
  request.headers.add("Content-Type", std::string(type));
  request.headers.add(kSentHeader, std::to_string(clock_at(now()).time_since_epoch().count()));
  request.body = std::move(body);
  last_request_ = now();
  auto answer = co_await client_->send(std::move(request));
  co_return answer;
}

IoTask<Result<void>> SimAgent::join() {
  std::string body = json::serialize(to_json(JoinRequest{.node = name_, .key = key_}));
  auto answer = co_await post(kJoinPath, kJson, std::move(body), fleet_.options.join_secret);
  if (!answer) co_return std::move(answer).error();
  if (answer->status == 200) {
    joined_ = true;
    co_return Result<void>();
  }
  auto refused =
      failure_of(*answer, "the leader")
          .value_or(Error{.kind = ErrorKind::io,
                          .message = fmt::format("the leader answered {} to a node that joins", answer->status)});
  if (answer->status == 409) {
    refused.kind = ErrorKind::denied;
    refused.hint = fmt::format(
        "The node has another key. Revoke it (assay token revoke node:{}), or take another --prefix.", name_);
  } else if (answer->status == 401) {
    refused.hint = "Make a new token (assay token create --role agent) and hand it over with --token-file.";
  }
  co_return std::move(refused).within(fmt::format("node {} joins", name_));
}

IoTask<void> SimAgent::talk() {
  Next next = Next::go_on;
  while (next == Next::go_on && !fleet_.given_up) next = co_await talk_once();
}

IoTask<SimAgent::Next> SimAgent::talk_once() {
  if (!joined_) {
    const auto joined = co_await join();
    if (joined) co_return Next::go_on;
    note(joined.error());
    co_return Next::wait;
  }
  if (!greeted_) co_return co_await say_hello();
  if (backlog_.empty() || now() < not_before_) co_return Next::wait;
  co_return co_await send_batches();
}

IoTask<SimAgent::Next> SimAgent::say_hello() {
  const AgentHello hello{.stream = stream_,
                         .version = std::string(version()),
                         .period_ms = period_ / milliseconds(1),
                         .simulated = true,
                         .facts = {{"host", name_}, {"os", "simulated"}, {"kernel", "simulated"}, {"cpu", "simulated"}},
                         .allow = {},
                         .sources = {"replay"}};
  std::string body = json::serialize(to_json(hello));
  auto answer = co_await post(kHelloPath, kJson, std::move(body), key_);
  if (!answer) {
    note(answer.error());
    co_return Next::wait;
  }
  if (answer->status != 200) {
    take_refusal(*answer);
    co_return Next::wait;
  }
  const auto told = parse_hello_answer(answer->body);
  if (!told) {
    note(told.error());
    co_return Next::wait;
  }
  heartbeat_ = told->heartbeat;
  greeted_ = connected_ = true;
  co_return Next::go_on;
}

IoTask<SimAgent::Next> SimAgent::send_batches() {
  auto body = backlog_.body(one_by_one_ ? 1 : kBodyBatches, kBodyBytes);
  ++fleet_.counts.requests;
  fleet_.counts.sent += body.samples;
  fleet_.counts.bytes += body.bytes.size();
  const SteadyTime sent = std::chrono::steady_clock::now();
  auto answer = co_await post(kBatchPath, kBatchesType, std::move(body.bytes), key_);
  if (answer && answer->status == 200) {
    fleet_.counts.latency.add(std::chrono::steady_clock::now() - sent);
    co_return take_acknowledgement(*answer, body);
  }
  ++fleet_.counts.refused;
  if (!answer) {
    note(answer.error());
    co_return Next::wait;
  }
  co_return take_answer(*answer, body);
}

SimAgent::Next SimAgent::take_acknowledgement(const ClientResponse& answer, const Backlog::Body& body) {
  const auto read = parse_batch_receipt(answer.body);
  if (!read) {
    note(read.error());
    return Next::wait;
  }
  connected_ = true;
  failures_ = 0;
  one_by_one_ = false;
  const std::size_t before = backlog_.batches();
  fleet_.counts.acknowledged += backlog_.forget_up_to(std::min(read->sequence, body.last_sequence));
  wait_for(read->pause);
  if (read->period && *read->period != period_) {
    period_ = *read->period;
    next_tick_ = grid_time_from(now() + Nanos(1));
  }
  if (backlog_.batches() < before) return Next::go_on;
  // An answer that takes nothing off would make us send the same for ever.
  back_off();
  return Next::wait;
}

SimAgent::Next SimAgent::take_answer(const ClientResponse& answer, const Backlog::Body& body) {
  switch (answer.status) {
    case 410: greeted_ = false; [[fallthrough]];
    case 409: {
      note_status(answer);
      backlog_.name_all(replay_ ? replay_->names() : std::vector<SeriesName>(),
                        replay_ ? replay_->devices() : std::vector<DeviceFacts>());
      if (failures_++ == 0) return Next::go_on;
      back_off();
      return Next::wait;
    }
    case 400:
    case 413: note_status(answer); return give_up_batch(body);
    default: take_refusal(answer); return Next::wait;
  }
}

SimAgent::Next SimAgent::give_up_batch(const Backlog::Body& body) {
  if (body.batches > 1) {
    one_by_one_ = true;
  } else {
    fleet_.counts.given_up += backlog_.forget_up_to(body.last_sequence);
  }
  return Next::go_on;
}

void SimAgent::take_refusal(const ClientResponse& answer) {
  note_status(answer);
  connected_ = false;
  if (answer.status == 401) joined_ = false;
  const auto wait = answer.status == 429 || answer.status == 503 ? retry_after(answer.headers) : std::nullopt;
  if (wait) {
    wait_for(std::clamp<Nanos>(*wait, kShortestWait, kLongestWait));
  } else {
    back_off();
  }
}

void SimAgent::note_status(const ClientResponse& answer) {
  auto& problem = fleet_.counts.problems[fmt::format("HTTP {}", answer.status)];
  if (problem.count++ > 0) return;
  const auto failure = failure_of(answer, "the leader");
  problem.example = fmt::format("{}: {}", name_, failure ? failure->text() : "not an answer that agents know");
}

void SimAgent::note(const Error& error) {
  auto& problem = fleet_.counts.problems[std::string(name_of(error.kind))];
  if (problem.count++ == 0) problem.example = fmt::format("{}: {}", name_, error.text());
  connected_ = false;
  back_off();
}

}  // namespace assay
