#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/clock.h"
#include "protocol/batch.h"

namespace assay {

/// What a node has read and its leader has not acknowledged yet, oldest first, as bytes. When it is full the oldest
/// goes. One thread at a time.
class Backlog {
 public:
  explicit Backlog(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// `made`: when, since the start of the fleet. The sequence numbers ascend. A batch larger than the limit is kept
  /// alone.
  void add(const Batch& batch, Nanos made);

  bool empty() const { return kept_.empty(); }
  std::size_t batches() const { return kept_.size(); }
  std::uint64_t samples() const { return samples_; }
  /// When the oldest was made; only where there is one.
  Nanos oldest() const { return kept_.front().made; }

  /// The oldest ones as the body of a request: at most `batches` of them and about `bytes`, at least one.
  struct Body {
    std::string bytes;
    std::uint64_t last_sequence = 0;
    std::size_t batches = 0;
    std::uint64_t samples = 0;
  };
  Body body(std::size_t batches, std::size_t bytes) const;

  /// Forgets everything up to that number; how many samples that were.
  std::uint64_t forget_up_to(std::uint64_t sequence);
  /// The oldest one names all series and devices from now on: for a leader that does not know them.
  void name_all(std::vector<SeriesName> names, std::vector<DeviceFacts> devices);

  /// Samples that went because it was full.
  std::uint64_t overflowed() const { return overflowed_; }

 private:
  struct Kept {
    std::uint64_t sequence;
    std::uint64_t samples;
    Nanos made;
    std::string bytes;
  };
  void drop_oldest();

  std::size_t limit_bytes_;
  std::deque<Kept> kept_;
  std::size_t bytes_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t overflowed_ = 0;
};

}  // namespace assay
