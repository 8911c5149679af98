#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "agent/spool.h"
#include "base/clock.h"
#include "protocol/batch.h"

namespace assay {

struct OutboxOptions {
  std::string stream;
  bool simulated = false;
  std::size_t memory_batches = 64;                   ///< more of them go to the spool, oldest first
  std::size_t memory_bytes = std::size_t{4} << 20;   ///< the same
  std::size_t largest_batch = std::size_t{3} << 20;  ///< a leader would not take more
};

/// What one request carries: batches of one stream, framed.
struct Parcel {
  std::string stream;
  bool simulated = false;
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;
  std::size_t batches = 0;
  std::string body;
  bool spooled = false;  ///< from the disk
};

struct ParcelLimits {
  std::size_t bytes = std::size_t{1} << 20;  ///< a single batch may be larger
  std::size_t batches = 4096;
  bool name_all = false;  ///< the first batch names every series of the stream
};

struct OutboxCounts {
  std::uint64_t pushed = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t given_up = 0;    ///< that the leader refused, and those too large to send
  std::uint64_t overflowed = 0;  ///< that the spool had no room for
  std::uint64_t unwritten = 0;   ///< that the disk did not take
  std::size_t in_memory = 0;
  std::uint64_t spool_bytes = 0;
};

/// Batches between the sampler and the leader, in order: the newest in memory, older ones in the spool. Any thread;
/// `push` never waits for the network.
class Outbox {
 public:
  Outbox(OutboxOptions options, Spool spool);

  void push(const Batch& batch);
  bool empty() const;
  /// Waits until there is something to send. False when `deadline` came first or `wake` was called.
  bool wait(SteadyTime deadline);
  void wake();

  /// The oldest batches. They stay here until they are acknowledged or given up.
  std::optional<Parcel> next(const ParcelLimits& limits);
  /// The leader has everything of this stream up to this number.
  void acknowledge(std::string_view stream, std::uint64_t sequence);
  /// The leader will never take what there is of this stream up to this number: it is counted as lost.
  void give_up(std::string_view stream, std::uint64_t sequence);
  /// Whatever is in memory goes to the spool, for the next start.
  void spill();

  OutboxCounts counts() const;

 private:
  void spill_oldest();
  std::optional<Parcel> next_spooled(const ParcelLimits& limits);
  std::size_t forget(std::string_view stream, std::uint64_t sequence);

  const OutboxOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Spool spool_;
  SpoolStream stream_;  ///< ours, with all its names
  std::deque<WaitingBatch> memory_;
  std::size_t memory_bytes_ = 0;
  OutboxCounts counts_;
  bool woken_ = false;
};

}  // namespace assay
