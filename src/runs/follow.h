#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace assay {

class MetricSource;
class RunRecorder;
class RunningJob;
enum class OutputStream : std::uint8_t;
struct Ending;
struct Run;
struct RunFacts;

/// Sees a run while it happens, to show it. Called on the thread that follows the run; must not block.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_start(const Run& /*run*/) {}
  /// Ordinary text that the workload printed.
  virtual void on_output(OutputStream /*stream*/, std::string_view /*text*/) {}
  /// It is in a queue of its place. At most five times a second.
  virtual void on_waiting(std::string_view /*why*/, Nanos /*elapsed*/) {}
  /// At most five times a second.
  virtual void on_progress(const RunFacts& /*facts*/, Nanos /*elapsed*/) {}
  /// The workload has ended, and this is all that it said. Comes before `on_end`.
  virtual void on_recorded(const RunFacts& /*facts*/) {}
  virtual void on_end(const Run& /*run*/) {}
};

struct FollowOptions {
  Nanos time_limit{0};                            ///< from the start of the job on; 0: none
  Nanos elapsed{0};                               ///< how long it has run already
  Nanos grace = std::chrono::seconds(5);          ///< between the signals that end it
  Nanos sample_period = std::chrono::seconds(1);  ///< between readings of the metric sources
  /// Becomes readable when the user wants to stop: one byte asks the workload to end, a second one kills it.
  int stop_fd = -1;
  /// The byte that says that it was Ctrl-C, which the workload gets as SIGINT; any other one is SIGTERM.
  static constexpr char kInterrupt = 'i';
  /// The byte that asks to let go of a job that outlives whoever follows it, as kill -9 would, for somebody to attach
  /// to it later: `Ending::left`. Nothing once it has ended.
  static constexpr char kLeave = 'l';
  /// As any other one, but it is not the user who wants that: a node that it needs is gone.
  static constexpr char kLostPeer = 'p';
};

/// Waits until a job runs, where its place has a queue; returns as well when it has ended or the user wants to stop.
/// Blocks that long. Its time limit and its clock begin afterwards.
void await_turn(RunningJob& job, RunObserver& observer, int stop_fd, const Clock& clock);

/// Reads everything a workload prints and sends until it has ended and its streams are empty. Blocks that long. Any
/// number of threads, each with a job of its own.
Ending follow(RunningJob& job, RunRecorder& recorder, std::vector<std::unique_ptr<MetricSource>>& sources,
              RunObserver& observer, const FollowOptions& options, const Clock& clock);

}  // namespace assay
