#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "agent/pauses.h"
#include "agent/shipper.h"
#include "base/clock.h"
#include "base/result.h"
#include "model/run.h"
#include "protocol/part_report.h"
#include "store/run_store.h"

namespace assay {

struct PartShipperOptions {
  std::string run;
  int part = 1;
  /// Asks the leader for this node's part, again or for the first time; the epoch of its owner. Refusals mean as much
  /// as for a RunShipper.
  std::function<Result<std::uint64_t>()> take;
  /// Frames of our journal under that epoch; how much of it the leader has then.
  std::function<Result<std::uint64_t>(std::uint64_t epoch, std::uint64_t offset, std::string_view frames)> send;
  std::function<Result<PartAnswer>(const PartReport& report)> report;  ///< any thread
  Nanos period = std::chrono::seconds(1);                              ///< between two reports
  Nanos look = std::chrono::milliseconds(100);                         ///< between two looks at what was recorded
  std::size_t piece = std::size_t{1} << 20;            ///< of the journal, at most, where a frame is not longer
  Nanos first_pause = std::chrono::milliseconds(500);  ///< after the leader did not take something
  Nanos longest_pause = std::chrono::seconds(10);
};

/// Ships a further node's part of a run over several: its journal, which becomes one of a further rank of the run, its
/// artifacts, as `part-1-NAME`, and how it ended. Says every second that it is there, also while artifacts take their
/// time. Goes on until the run is over: only the leader knows when.
class PartShipper final : public Shipper {
 public:
  /// The stores must outlive it.
  PartShipper(RunStore& local, RunStore& leader, PartShipperOptions options);

  Shipment ship(const std::stop_token& stop) override;

 private:
  Result<void> go_on();
  Result<void> take();
  Result<void> ship_frames();
  Result<void> bring_artifacts(const Run& ended);
  Result<void> ship_artifacts();
  Result<void> tell(const std::optional<Run>& ended);
  std::optional<Shipment> handle(Error error);

  RunStore& local_;
  RunStore& leader_;
  const PartShipperOptions options_;
  const SystemClock clock_;

  // Of the thread that ships.
  std::optional<std::uint64_t> epoch_;
  std::optional<std::uint64_t> size_;  ///< of the leader's journal; unknown until it was asked
  SteadyTime tell_at_{};
  bool told_end_ = false;
  bool refused_before_ = false;
  std::optional<Error> not_ours_;
  Pauses pauses_;
};

}  // namespace assay
