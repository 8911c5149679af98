#include "agent/uplink.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/log.h"
#include "base/version.h"
#include "net/client_messages.h"
#include "net/http_client.h"
#include "protocol/batch_receipt.h"
#include "protocol/join.h"
#include "protocol/paths.h"
#include "protocol/retry_after.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

constexpr Nanos kIdleWait = 60s;
/// What a leader may ask for at most, so that a wrong number does not silence a node for days.
constexpr Nanos kLongestOrderedPause = 60s;
/// A repetition that another answer asked for (hello, names) is made at once this often, then with pauses.
constexpr int kPromptAttempts = 3;

std::uint64_t pause_seed() { return stable_hash(new_id()); }

}  // namespace

Uplink::Uplink(UplinkOptions options, Outbox& outbox, std::unique_ptr<HttpClient> client)
    : options_(std::move(options)),
      outbox_(outbox),
      client_(std::move(client)),
      heartbeat_ns_(Nanos(1s).count()),
      pauses_(options_.first_pause, options_.longest_pause, pause_seed()),
      must_join_(options_.access.never_joined),
      never_joined_(options_.access.never_joined),
      limits_(options_.parcel) {}

Result<std::unique_ptr<Uplink>> Uplink::start(UplinkOptions options, Outbox& outbox) {
  ASSAY_TRY(auto client, make_leader_client(options.access, options.request_time));
  std::unique_ptr<Uplink> uplink(new Uplink(std::move(options), outbox, std::move(client)));
  uplink->thread_.emplace(
      "agent-uplink", [self = uplink.get()](const std::stop_token&) { self->run(); },
      SupervisedThread::OnFailure{.restart_after = 1s});
  return uplink;
}

Uplink::~Uplink() { stop({}); }

void Uplink::stop(Nanos grace) {
  if (!thread_) return;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    outbox_.wake();
    changed_.wait_for(lock, grace, [this] { return ended_; });
  }
  client_->cancel();
  thread_.reset();
}

UplinkState Uplink::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void Uplink::run() {
  while (wanted()) {
    try {
      if (const Nanos pause = step(); pause > 0s) rest(pause);
    } catch (const std::exception& problem) {
      rest(on_failure({.kind = ErrorKind::internal, .message = problem.what()}));
    }
  }
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

/// Once it is to stop, it goes on only as long as the leader takes what is left.
bool Uplink::wanted() {
  const bool nothing_left = outbox_.empty();
  const std::lock_guard lock(mutex_);
  return !stopping_ || !(state_.away || nothing_left);
}

void Uplink::rest(Nanos pause) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, pause, [this] { return stopping_; });
}

Nanos Uplink::step() {
  if (must_join_) return join();
  if (!outbox_.wait(clock_.now() + kIdleWait)) return 0s;
  const auto parcel = outbox_.next(limits_);
  if (!parcel) return 0s;
  return greeted_ == parcel->stream ? send(*parcel) : hello(*parcel);
}

Nanos Uplink::join() {
  if (!options_.access.join_secret) {
    const Error error{.kind = ErrorKind::denied,
                      .message = "the leader does not know this agent's key",
                      .hint = "Start it with --token-file and a new join token."};
    return on_failure(error);
  }
  ClientRequest request{.method = "POST", .target = std::string(kJoinPath)};
  request.headers.add("Authorization", "Bearer " + *options_.access.join_secret);
  request.headers.add("Content-Type", "application/json");
  request.body = json::serialize(to_json(JoinRequest{.node = options_.access.node, .key = options_.access.key}));
  const auto response = client_->send(std::move(request));
  if (!response) return on_failure(response.error());
  if (response->status == 429 || response->status == 503) return wait_as_told(*response);
  if (response->status == 200) {
    must_join_ = never_joined_ = false;
    note_success();
    log_info("joined as '{}'", options_.access.node);
    return 0s;
  }
  if (response->status == 202) {
    // It has our key already, and says yes once an administrator did. Until then what is read waits here.
    never_joined_ = false;
    return on_failure({.kind = ErrorKind::denied,
                       .message = fmt::format("'{}' waits until an administrator lets it in", options_.access.node),
                       .hint = fmt::format("assay nodes approve {}", options_.access.node)});
  }
  Error error = leader_error(*response);
  if (response->status == 401) {
    error.hint =
        "The join token is unknown, expired or revoked: ask an administrator for a new one "
        "(`assay token create --role agent`).";
  } else if (response->status == 409) {
    error.hint = fmt::format(
        "The node has joined with another key: an administrator must revoke that one first "
        "(`assay token revoke node:{}`) and make a new join token.",
        options_.access.node);
  }
  const bool final = never_joined_ && (response->status >= 400 && response->status < 500);
  if (final) options_.on_refused(Error(error).within(fmt::format("joining as '{}'", options_.access.node)));
  return on_failure(error);
}

Nanos Uplink::hello(const Parcel& parcel) {
  auto request = agent_request(options_.access, "POST", kHelloPath);
  request.headers.add("Content-Type", "application/json");
  AgentHello hello = options_.introduction;
  hello.stream = parcel.stream;
  hello.version = std::string(version());
  hello.simulated = parcel.simulated;
  request.body = json::serialize(to_json(hello));
  const auto response = client_->send(std::move(request));
  if (!response) return on_failure(response.error());
  if (response->status == 401) return on_unknown_key(leader_error(*response));
  if (response->status == 429 || response->status == 503) return wait_as_told(*response);
  if (response->status != 200) return on_failure(leader_error(*response));
  const auto answer = parse_hello_answer(response->body);
  if (!answer) return on_failure(answer.error());
  heartbeat_ns_ = answer->heartbeat.count();
  greeted_ = parcel.stream;
  note_success();
  return 0s;
}

Nanos Uplink::send(const Parcel& parcel) {
  auto request = agent_request(options_.access, "POST", kBatchPath);
  request.headers.add("Content-Type", kBatchesType);
  request.headers.add(kSentHeader, std::to_string(clock_.wall().time_since_epoch().count()));
  request.body = parcel.body;
  const auto response = client_->send(std::move(request));
  if (!response) return on_failure(response.error());
  switch (response->status) {
    case 200: return on_taken(parcel, *response);
    case 401: return on_unknown_key(leader_error(*response));
    case 410: greeted_.clear(); [[fallthrough]];
    case 409:
      if (response->status == 409 && limits_.name_all) return on_unwanted(parcel, *response);
      limits_.name_all = true;
      return try_again_soon(leader_error(*response));
    case 400:
    case 413: return on_unwanted(parcel, *response);
    case 429:
    case 503: return wait_as_told(*response);
    default: return on_failure(leader_error(*response));
  }
}

Nanos Uplink::on_taken(const Parcel& parcel, const ClientResponse& response) {
  const auto receipt = parse_batch_receipt(response.body);
  if (!receipt) return on_failure(receipt.error());
  const std::uint64_t taken = receipt->sequence;
  if (taken < parcel.first_sequence) {
    return on_failure({.kind = ErrorKind::busy, .message = "the leader has not taken the batches it was sent"});
  }
  outbox_.acknowledge(parcel.stream, taken);
  note_success();
  attempts_ = 0;
  limits_.name_all = false;
  if (parcel.last_sequence >= one_by_one_until_) limits_.batches = options_.parcel.batches;
  if (parcel.spooled) {
    backfilled_now_ += std::min<std::uint64_t>(parcel.batches, taken - parcel.first_sequence + 1);
  } else if (backfilled_now_ > 0) {
    log_warning("{} batches from the time without the leader were sent", backfilled_now_);
    const std::lock_guard lock(mutex_);
    state_.backfilled += std::exchange(backfilled_now_, 0);
  }
  if (receipt->period) options_.on_period(*receipt->period);
  return receipt->pause;
}

/// A batch that the leader will never take must not hold up the others: found by sending one at a time.
Nanos Uplink::on_unwanted(const Parcel& parcel, const ClientResponse& response) {
  if (parcel.batches > 1) {
    limits_.batches = 1;
    one_by_one_until_ = parcel.last_sequence;
    return try_again_soon(leader_error(response));
  }
  log_warning("the leader refused a batch, which is lost: {}", leader_error(response).text());
  outbox_.give_up(parcel.stream, parcel.last_sequence);
  limits_.name_all = false;
  if (parcel.last_sequence >= one_by_one_until_) limits_.batches = options_.parcel.batches;
  return 0s;
}

Nanos Uplink::on_unknown_key(const Error& error) {
  must_join_ = options_.access.join_secret.has_value();
  greeted_.clear();
  return on_failure(error);
}

/// Another answer of the leader than success, which says what to do about it.
Nanos Uplink::try_again_soon(const Error& error) { return ++attempts_ <= kPromptAttempts ? 0s : on_failure(error); }

Nanos Uplink::wait_as_told(const ClientResponse& response) {
  const Nanos pause = on_failure(leader_error(response));
  const auto told = retry_after(response.headers);
  return told ? std::clamp<Nanos>(*told, options_.first_pause, kLongestOrderedPause) : pause;
}

Nanos Uplink::on_failure(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) {
      state_.away = true;
      return 0s;
    }
    // Said once; but why a leader refuses us is worth another word, since somebody has to do something about it.
    const bool is_news =
        !state_.away || !state_.last_error || (error.kind == ErrorKind::denied && state_.last_error != error.text());
    state_.away = true;
    state_.last_error = error.text();
    if (is_news) {
      log_warning("the leader takes no batches; they are kept and sent later: {}{}{}", error.text(),
                  error.hint.empty() ? "" : ". ", error.hint);
    }
  }
  return pauses_.next();
}

void Uplink::note_success() {
  pauses_.reset();
  const std::lock_guard lock(mutex_);
  if (!state_.away) return;
  state_.away = false;
  ++state_.arrivals;
  if (state_.last_error) log_warning("the leader takes batches again");
}

}  // namespace assay
