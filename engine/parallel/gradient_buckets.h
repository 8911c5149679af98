#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/parameters.h"
#include "parallel/group.h"

namespace assay::engine {

/// Averages gradients over a group while the backward pass is still running. A bucket is a stretch of an arena's
/// gradients, cut from the arena's end since the backward pass begins there, and leaves as soon as its last gradient
/// is ready. Buckets leave in the same order on all ranks: the one in which they became ready in rank 0's first step.
/// In that step nothing leaves early; it also shows how often each gradient is added to in one pass (more than once
/// with checkpointed or repeated layers), so that none leaves before it is complete.
///
/// The arenas, their tensors and the group must outlive it. Hooks are in place from construction to destruction.
/// One pass at a time; the hooks may run on autograd's threads.
class GradientBuckets {
 public:
  GradientBuckets(std::vector<Arena>& arenas, Group& group, std::int64_t bucket_bytes = 25 << 20);
  ~GradientBuckets();
  GradientBuckets(const GradientBuckets&) = delete;
  GradientBuckets& operator=(const GradientBuckets&) = delete;

  /// Before the backward passes that belong to one `finish`; with gradient accumulation only the last one of a step
  /// communicates.
  void prepare(bool communicate);
  /// After the backward pass, if it communicates: sends what has not left, gradients that nothing was added to
  /// included, and waits for all. Returns the seconds held up, as Group::finish. Throws what a hook met, and
  /// std::logic_error if the model added to a gradient after it had left: its passes must be alike.
  double finish();

  /// For tests and messages: how many buckets there are, and how many left before the last `finish`.
  std::size_t count() const;
  std::size_t left_early() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::engine
