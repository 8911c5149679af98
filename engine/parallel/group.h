#pragma once

#include <ATen/core/Tensor.h>

#include <boost/json/value.hpp>
#include <memory>
#include <vector>

#include "formats/failure.h"
#include "parallel/control_options.h"
#include "parallel/peer_failure.h"
#include "parallel/rank_place.h"

namespace assay::engine {

/// The ranks of one run. All methods must be called on every rank in the same order (`fail` excepted); one caller at
/// a time.
///
/// When a rank is lost, whichever call waits for the others throws PeerFailure (`lost_peer`, naming it) within
/// seconds, and so does every later call. After any exception the process must end: a collective that was under way
/// may never finish. A rank that fails for reasons of its own tells the others with `fail`, so that the run's error
/// is that reason and not a lost peer:
///
///   try { train(*group); group->leave(); }
///   catch (const PeerFailure&) { throw; }
///   catch (const Failure& failure) { group->fail(failure); throw; }
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Begins to replace `tensor` by the sum or the mean over all ranks. It must be contiguous, of the same size on all
  /// ranks, and live unchanged until `finish` returns. bf16 and fp16: the CPU adds in fp32 and rounds once.
  virtual void start_sum(at::Tensor tensor) = 0;
  virtual void start_mean(at::Tensor tensor) = 0;
  /// Until everything begun is done (CUDA: the current stream waits, the host does not).
  /// Returns the seconds that the caller was held up by it (host time on CPU; 0 on CUDA, where events tell).
  virtual double finish() = 0;
  /// Every rank gets rank 0's values. On CUDA the current stream waits for them.
  virtual void broadcast(at::Tensor tensor) = 0;
  /// Every rank's value, in the order of ranks, on every rank. For small values: together less than a MiB of JSON,
  /// else std::length_error.
  virtual std::vector<boost::json::value> gather(const boost::json::value& mine) = 0;
  /// Waits until all ranks have called it; then each may end when it likes.
  virtual void leave() = 0;
  /// Tells the others why this rank ends, within two seconds. No other call may follow.
  virtual void fail(const Failure& failure) noexcept = 0;
};

/// A group of one, whose sums are what they were.
std::unique_ptr<Group> single_group();

/// Joins the others, over Gloo on the CPU and NCCL on CUDA (`device` with its index). Blocks until all are there, a
/// minute at most. Throws PeerFailure `lost_peer` naming the missing, Failure `unsupported` if this build lacks the
/// library, `bad_spec` if rank 0 refuses this process. For a place of size 1 it is `single_group`.
std::unique_ptr<Group> join_group(const RankPlace& place, at::Device device, ControlOptions options = {});

}  // namespace assay::engine
