#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

// What is put under load, and how it reports back. The load generator (src/loadgen) decides when each request is due
// and keeps the records; a target only carries requests out and says what became of them.
//
// The order of calls and their threads:
//
//   owner        start(sink, wishes)             once
//   dispatcher   issue(requests) issue(…) …      one thread, never two calls at once, only between start and stop
//   any          sink.complete(completions)      from threads of the target's own and from inside `issue`
//   owner        stop(deadline)                  once, after the last `issue`; also where nothing was issued
//   owner        facts()                         after stop
//
// `owner` and `dispatcher` may be the same thread. All times are of std::chrono::steady_clock on this machine.

/// One request that is due. A plain value: copy what is needed, the span that it came in is reused after `issue`.
/// What a sample *is* (prompt, body, limits) the target was given when it was made, and owns or outlives itself; the
/// load generator knows its number alone. The bytes that a request is made of therefore belong to the target.
struct Request {
  std::uint64_t id = 0;      ///< 0, 1, 2, … within one start/stop; vary prompts by it where caches must not help
  std::uint32_t sample = 0;  ///< below the number of samples that the load generator was told of
  SteadyTime scheduled{};    ///< when it was due; latency counts from here, so never wait for it
};

/// What became of a request. Every issued request ends in exactly one of these.
enum class RequestOutcome : std::uint8_t {
  ok,
  error,      ///< the target or its server failed it; see `RequestError`
  timeout,    ///< it took longer than `TargetWishes::request_timeout`
  cancelled,  ///< it was in flight when `stop` was called
  lost,       ///< never reported. Set by the load generator alone
};
inline constexpr std::size_t kRequestOutcomes = 5;
std::string_view name_of(RequestOutcome outcome);  ///< "ok", "error", …

/// Why a request ended as `error`. Names are a contract: results count by them.
enum class RequestError : std::uint8_t {
  none,
  connect,       ///< no connection: refused, unreachable, name not found, TLS
  disconnected,  ///< the connection ended before the answer did
  rejected,      ///< the server said that the request is wrong (4xx but for 429)
  overloaded,    ///< the server said to come back later (429, 503), or the target has no room for more in flight
  server,        ///< the server failed (5xx but for 503)
  malformed,     ///< an answer that cannot be read, or an event stream with an error in it
  empty,         ///< an answer without a single token
  other,
};
inline constexpr std::size_t kRequestErrors = 9;
std::string_view name_of(RequestError error);  ///< "connect", "disconnected", …

/// Tokens that arrived at one moment: a chunk of a stream may carry several.
struct TokenArrival {
  SteadyTime at{};
  std::uint32_t tokens = 1;
};

/// The report about one request. Plain times of the steady clock; a time that is not known is SteadyTime().
struct Completion {
  std::uint64_t id = 0;
  /// When the client first did its part: began to connect for it, or handed its first byte to the system. What a server
  /// takes from then on to accept, to shake hands, or until it has refused and is asked again, is the server's.
  /// Unknown: the moment of `issue` counts. A target that queues must say it, since a request that left late is the
  /// client's fault and judged as such; of one that never left, it is when it was given up.
  SteadyTime sent{};
  /// When the first output token was read from the system; unknown: none was seen, or the target does not stream.
  SteadyTime first_token{};
  SteadyTime done{};  ///< when it ended, whatever the outcome; always known
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;  ///< as the server counts where it does, else as seen
  std::uint16_t endpoint = 0;       ///< index into `Target::endpoints()`
  RequestOutcome outcome = RequestOutcome::ok;
  RequestError error = RequestError::none;  ///< `none` unless the outcome is `error`
  /// Every arrival in order of time, the first token's included, where `TargetWishes::token_times` asked for it. Read
  /// before `complete` returns, never afterwards.
  std::span<const TokenArrival> token_times{};
  /// The answer's text where `TargetWishes::texts` asked for it. Read before `complete` returns.
  std::string_view text{};
};

/// Where completions go. Implemented by the load generator's recorder.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /// Takes reports, one or many at once, in any order. Any thread, any number at the same time, also from inside
  /// `issue`. Never blocks, never throws, never calls the target; tens of nanoseconds per report (more with token times
  /// or texts, which are copied). Each id exactly once: a second report, and one of an id that was never issued, is
  /// counted as a fault of the target and makes the result invalid. Not to be called after `stop` has returned.
  virtual void complete(std::span<const Completion> completions) noexcept = 0;

  void complete(const Completion& completion) noexcept { complete(std::span(&completion, 1)); }
};

/// What the load generator wants of a target, told once at the start.
struct TargetWishes {
  Nanos request_timeout =
      std::chrono::minutes(5);       ///< from `Request::scheduled`; the target ends it and says `timeout`
  bool token_times = false;          ///< fill Completion::token_times
  bool texts = false;                ///< fill Completion::text (accuracy mode)
  std::uint32_t most_in_flight = 0;  ///< that the load generator will ever have (closed loops); 0: not known
};

/// Something that answers requests. Not thread-safe beyond the table above.
class Target {
 public:
  virtual ~Target() = default;  ///< Stops at once where `stop` was not called

  virtual std::string_view name() const = 0;  ///< "null", "openai"
  /// What answers, for tables and records: addresses without secrets. At least one; does not change after `start`.
  virtual std::vector<std::string> endpoints() const = 0;

  /// Gets ready: opens connections, checks that the server answers and knows the model. Blocks, a few seconds at most.
  /// `sink` outlives the target's last report. Errors are those of the whole run (`unreachable`, `denied`,
  /// `unsupported`); after one, nothing else is called.
  virtual Result<void> start(CompletionSink& sink, const TargetWishes& wishes) = 0;

  /// Sends requests now. Must not block and must not wait for anything, a lock that a slow thread may hold included:
  /// what it takes makes every later request late (a few hundred nanoseconds per request at most; bodies are made
  /// beforehand or on threads of the target's own). Cannot fail: what could not be sent is reported through the sink as
  /// `error`. Many at once are requests that are due together (offline, multi-stream, a burst).
  virtual void issue(std::span<const Request> requests) noexcept = 0;

  /// Ends the load. The load generator has waited for answers before, as long as it wanted: what is still in flight is
  /// cancelled at once and reported as `cancelled`. Returns by `deadline`, whatever servers do; afterwards nothing is
  /// reported any more, and what never was is `lost`.
  virtual void stop(SteadyTime deadline) noexcept = 0;

  /// Kernel thread ids (gettid) of the target's own threads on which its times depend, so that the load generator can
  /// tell whether they were kept from running. Called between start and stop, by any thread.
  virtual std::vector<int> threads() const { return {}; }

  /// What a record of the run should know of the target: versions, counts, cache hits. Small; without secrets.
  virtual json::object facts() const { return {}; }
};

}  // namespace assay
