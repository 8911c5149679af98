#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "agent/pauses.h"
#include "agent/shipper.h"
#include "base/clock.h"
#include "base/result.h"
#include "model/run.h"
#include "store/lease.h"
#include "store/run_store.h"

namespace assay {

struct ShipperOptions {
  std::string run;
  /// Asks the leader for the run, again or for the first time. `usage`, `not_found` and `denied` mean that it is not
  /// ours; `busy` means the same once the run is not listed any more.
  std::function<Result<Lease>()> take;
  std::optional<Lease> lease;                          ///< absent: it is taken first
  Nanos look = std::chrono::milliseconds(100);         ///< between two looks at what was recorded
  Nanos lease_length = std::chrono::minutes(1);        ///< asked for when half of it is over
  std::size_t piece = std::size_t{1} << 20;            ///< of a journal, at most, where a frame is not longer
  Nanos first_pause = std::chrono::milliseconds(500);  ///< after the leader did not take something
  Nanos longest_pause = std::chrono::seconds(10);
  Nanos ranks_patience = std::chrono::seconds(30);  ///< for further ranks that still record when the run has ended
};

/// Ships a run of which this node is the owner: the frames of all its journals, that it runs, then its artifacts and
/// how it ended.
class RunShipper final : public Shipper {
 public:
  /// The stores must outlive it.
  RunShipper(RunStore& local, RunStore& leader, ShipperOptions options);

  Shipment ship(const std::stop_token& stop) override;
  /// The lease is good for so long from its next renewal on. Of the thread that ships.
  void set_lease_length(Nanos length) { lease_length_ = length; }

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
  void note_lost(const std::string& artifact, const Error& why);
  Result<void> finish(const Run& run);
  Result<bool> has_ended_so();
  std::optional<Shipment> handle(Error error);

  RunStore& local_;
  RunStore& leader_;
  const ShipperOptions options_;
  const SystemClock clock_;

  // Of the thread that ships.
  std::optional<Lease> lease_;
  Nanos lease_length_;
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
};

}  // namespace assay
