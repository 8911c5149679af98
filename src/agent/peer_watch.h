#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "base/supervised_thread.h"
#include "protocol/part_report.h"

namespace assay {

struct PeerWatchOptions {
  std::string run;
  MeetingPlace meeting;
  std::function<Result<PartAnswer>(const PartReport& report)> report;
  /// The run cannot go on: its workload is to be ended. Said once, on a thread of this object.
  std::function<void()> on_lost;
  Nanos period = std::chrono::seconds(1);  ///< between two reports
  /// From the news of a lost node on: those that miss it may say so first, and know better which one it was.
  Nanos grace = std::chrono::seconds(5);
  /// After our own end, for the others; counted from when the leader can be asked. Those that only bring files any more
  /// may take as long as that takes.
  Nanos patience = std::chrono::seconds(30);
  Nanos patience_of_failed = std::chrono::seconds(10);
};

/// For the first node of a run over several: tells the leader every second where the others find it, and hears from it
/// whether they are still there. While the leader is away, nothing is wrong.
class PeerWatch {
 public:
  /// Errors: no threads are left.
  static Result<std::unique_ptr<PeerWatch>> start(PeerWatchOptions options);
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;
  ~PeerWatch();

  /// Our own workload has ended, `well` or not. Blocks until the others have, too, or have had their time; what went
  /// wrong on them. Once.
  std::optional<Error> await_end(bool well);
  /// Nobody waits any longer. Any thread.
  void give_up();

 private:
  explicit PeerWatch(PeerWatchOptions options) : options_(std::move(options)) {}
  void watch(const std::stop_token& stop);
  void take(const PartAnswer& answer, bool was_ended);

  const PeerWatchOptions options_;
  const SystemClock clock_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool ended_ = false;
  bool well_ = true;
  bool given_up_ = false;
  bool refused_ = false;                       ///< the run is not ours any more
  std::optional<int> open_;                    ///< of the others, as said after our own end
  int working_ = 0;                            ///< those of them that do not just bring files
  std::optional<SteadyTime> answered_end_at_;  ///< when the leader first answered after it
  std::optional<Error> lost_;
  std::optional<SteadyTime> end_at_;  ///< when the workload is ended, since a node is lost
  bool said_lost_ = false;

  std::optional<SupervisedThread> thread_;  ///< the last: it uses all of the above
};

}  // namespace assay
