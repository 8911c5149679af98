#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "loadgen/load_clock.h"
#include "loadgen/token_log.h"
#include "target/target.h"

namespace assay {

/// From which on `QueryRecord::state` says how a request ended.
inline constexpr std::uint8_t kEndedState = 2;

/// What is kept of one request: 48 bytes. Times in nanoseconds since the start of the load.
struct QueryRecord {
  std::int64_t scheduled_ns = 0;
  std::int64_t sent_ns = 0;
  std::int64_t first_token_ns = 0;  ///< 0: none was seen
  std::int64_t done_ns = 0;
  std::uint32_t sample = 0;
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint16_t endpoint = 0;
  std::uint8_t state = 0;  ///< 0: not issued, 1: in flight, 2 + RequestOutcome: ended. Written last
  RequestError error = RequestError::none;

  bool ended() const { return state >= kEndedState; }
  RequestOutcome outcome() const { return static_cast<RequestOutcome>(state - kEndedState); }  ///< only if it ended
  bool ok() const { return ended() && outcome() == RequestOutcome::ok; }
  std::int64_t latency_ns() const { return done_ns - scheduled_ns; }
  std::int64_t lateness_ns() const { return sent_ns - scheduled_ns; }
};
static_assert(sizeof(QueryRecord) == 48);

struct QueryRecorderOptions {
  std::uint64_t expected = 0;  ///< requests; memory for so many is made ready before the start, up to 200 MiB
  bool token_times = false;
  bool texts = false;
};

/// Keeps a record of every request, without locks: the dispatcher writes a record before it issues the request,
/// whichever thread hears of the answer completes it. Grows by blocks that are never moved.
class QueryRecorder final : public CompletionSink {
 public:
  explicit QueryRecorder(const QueryRecorderOptions& options);
  ~QueryRecorder() override;
  QueryRecorder(const QueryRecorder&) = delete;
  QueryRecorder& operator=(const QueryRecorder&) = delete;

  // --- The dispatcher's ---

  /// Times count from here. Before the first request.
  void start_at(SteadyTime start) { start_ = start; }
  SteadyTime start() const { return start_; }
  /// Takes down requests that are about to be issued; ids follow on from the last one. False where there is no memory.
  bool take_down(std::span<const Request> requests, SteadyTime now) noexcept;
  /// Makes memory ready for the requests to come, if it is not. For moments with nothing else to do: tens of
  /// microseconds.
  void get_ready() noexcept;
  /// After the target has stopped: what never came back is lost. Returns how many.
  std::uint64_t close() noexcept;

  // --- Any thread ---

  using CompletionSink::complete;
  void complete(std::span<const Completion> completions) noexcept override;
  std::uint64_t issued() const noexcept { return issued_.load(std::memory_order_acquire); }
  /// Goes up by one with each report. In flight = issued − completions, both taken modulo 2³².
  WakeCounter& completions() noexcept { return completions_; }
  std::uint32_t in_flight() const noexcept { return static_cast<std::uint32_t>(issued()) - completions_.value(); }
  /// A record that ended, or nothing where it has not.
  const QueryRecord* ended(std::uint64_t id) const noexcept;
  /// Reports of requests that were never issued or had been reported before: faults of the target.
  std::uint64_t faults() const noexcept { return faults_.load(std::memory_order_relaxed); }

  // --- Of what others recorded, by one thread, in place of a load ---

  /// Adds a request that ended elsewhere; its id is `issued()` before. False where there is no memory.
  bool adopt(const QueryRecord& record) noexcept;
  void adopt_tokens(std::uint64_t id, std::span<const TokenLog::Gap> gaps) noexcept { tokens_.add_gaps(id, gaps); }
  void adopt_text(std::uint64_t id, std::string text) { texts_.emplace_back(id, std::move(text)); }
  void adopt_faults(std::uint64_t faults) noexcept { faults_.fetch_add(faults, std::memory_order_relaxed); }

  // --- After `close` ---

  const QueryRecord& record(std::uint64_t id) const;  ///< id < issued()
  const TokenLog& tokens() const { return tokens_; }
  const std::vector<std::pair<std::uint64_t, std::string>>& texts() const { return texts_; }
  std::uint64_t bytes() const noexcept { return blocks_ready_ * kBlockBytes; }

 private:
  static constexpr std::uint64_t kBlockRecords = std::uint64_t{1} << 14;
  static constexpr std::uint64_t kBlockBytes = kBlockRecords * sizeof(QueryRecord);
  static constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 16;  ///< a thousand million requests

  bool add_blocks(std::uint64_t count) noexcept;
  QueryRecord& slot(std::uint64_t id) const noexcept {
    return blocks_[id / kBlockRecords].load(std::memory_order_acquire)[id % kBlockRecords];
  }
  bool complete_one(const Completion& completion) noexcept;  ///< false: it had ended before

  QueryRecorderOptions options_;
  SteadyTime start_{};
  std::unique_ptr<std::atomic<QueryRecord*>[]> blocks_;
  std::uint64_t blocks_ready_ = 0;  ///< the dispatcher's
  struct Mapping {
    void* address;
    std::size_t bytes;
  };
  std::vector<Mapping> mappings_;
  alignas(64) std::atomic<std::uint64_t> issued_{0};
  std::atomic<std::uint64_t> faults_{0};
  WakeCounter completions_;
  TokenLog tokens_;
  std::mutex texts_mutex_;
  std::vector<std::pair<std::uint64_t, std::string>> texts_;
};

}  // namespace assay
