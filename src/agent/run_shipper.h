#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "agent/pauses.h"
#include "base/clock.h"
#include "base/result.h"
#include "model/run.h"
#include "store/run_store.h"

namespace assay {

struct ShipperOptions {
  std::string run;
  /// Asks the leader for the run, again or for the first time. `usage`, `not_found` and `denied` mean that it is not
  /// ours; `busy` means the same once the run is not listed any more.
  std::function<Result<Lease>()> take;
  std::optional<Lease> lease;                          ///< absent: it is taken first
  Nanos look = std::chrono::milliseconds(100);         ///< between two looks at what was recorded
  Nanos lease_length = std::chrono::minutes(2);        ///< asked for when half of it is over
  std::size_t piece = std::size_t{1} << 20;            ///< of a journal, at most, where a frame is not longer
  Nanos first_pause = std::chrono::milliseconds(500);  ///< after the leader did not take something
  Nanos longest_pause = std::chrono::seconds(10);
  Nanos ranks_patience = std::chrono::seconds(30);  ///< for further ranks that still record when the run has ended
};

/// What became of a run that was to be shipped.
struct Shipment {
  enum class End {
    complete,  ///< the leader has all of it, and knows that it ended
    refused,   ///< the leader wants no more of it: `error` says why
    kept,      ///< there was no time for all of it; another shipper can go on
  };
  End end = End::kept;
  std::optional<Error> error;
};

/// Brings one run from the store of this node to the leader's while it is recorded: the frames of all its journals,
/// that it runs, then its artifacts and how it ended. Everything can be repeated: the leader says how much it has, so
/// nothing is lost or there twice whoever was away or started again. Leaves the run in the local store.
class RunShipper {
 public:
  /// The stores must outlive it.
  RunShipper(RunStore& local, RunStore& leader, ShipperOptions options);

  /// Blocks until the run is there, or refused. Once `stop` is requested it does not wait for the leader any more, but
  /// still for the run to end here. One thread.
  Shipment ship(const std::stop_token& stop);

  // Any thread.
  /// There is something new to ship.
  void look_again();
  /// No run was begun here, and none will be: it ends so.
  void end_with(Run run);
  /// It does not end here for now: what is not shipped yet is another shipper's.
  void leave();
  /// Whether the leader still wants this node to do the run. Once it does not, it is asked whether the run is ours.
  void set_listed(bool listed);

 private:
  class RenewingSource;

  Result<bool> go_on();
  Result<void> hold();
  Result<void> take();
  Result<std::optional<Run>> look_here();
  Result<void> say_running(const Run& run);
  Result<void> ship_frames();
  Result<void> ship_journal(const std::string& name);
  Result<std::string> next_frames(const std::string& journal, std::uint64_t offset);
  Result<void> ship_artifacts();
  Result<void> finish(const Run& run);
  Result<bool> has_ended_so();
  std::optional<Shipment> handle(Error error);
  void rest(const std::stop_token& stop, Nanos pause);
  bool is_listed();
  bool is_left();

  RunStore& local_;
  RunStore& leader_;
  const ShipperOptions options_;
  const SystemClock clock_;

  // Of the thread that ships.
  std::optional<Lease> lease_;
  SteadyTime renew_at_{};
  std::map<std::string, std::uint64_t> sizes_;  ///< of the leader's journals; unknown until it was asked
  std::optional<SteadyTime> ended_at_;          ///< when it was seen to have ended here
  bool ranks_write_ = false;                    ///< further processes still recorded when we last looked
  bool recorded_ = true;                        ///< the run was begun here
  bool said_running_ = false;
  bool damage_said_ = false;
  bool refused_before_ = false;  ///< the leader refused something in the last round, too
  std::optional<Run> ending_;    ///< how the run ended here, once it has
  std::optional<Error> not_ours_;
  Pauses pauses_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool look_now_ = false;
  bool left_ = false;
  bool listed_ = true;
  bool ask_ = false;
  std::optional<Run> never_began_;
};

}  // namespace assay
