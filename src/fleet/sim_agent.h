#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "fleet/backlog.h"
#include "fleet/fleet.h"
#include "fleet/fleet_counts.h"
#include "fleet/fleet_time.h"
#include "fleet/node_replay.h"
#include "net/async_http_client.h"

namespace assay {

/// What the agents of a fleet share. On one I/O thread.
struct FleetState {
  const FleetOptions& options;
  std::shared_ptr<const FleetRecording> recording;
  FleetTime& time;
  WallTime start_wall;        ///< the machine's clock at the start of the fleet
  std::size_t backlog_bytes;  ///< of each node
  std::optional<Nanos> end;   ///< no readings from then on
  bool given_up = false;      ///< what is still to be sent is not waited for
  FleetCounts counts;
};

/// One simulated node: reads what its replay gives at the times of the grid, and talks to the leader as an agent does.
/// One coroutine; while a request is under way nothing is read, and afterwards what was missed is.
class SimAgent {
 public:
  SimAgent(const IoExecutor& executor, FleetState& fleet, std::size_t node);

  /// Registers the node's key: what `run` begins with unless it was done.
  IoTask<Result<void>> join();
  /// Until the fleet has ended, and everything was acknowledged or the time for that is over.
  IoTask<void> run();
  /// Breaks off the request that is under way.
  void break_off();

  bool connected() const { return connected_; }
  /// Age of the oldest batch that is not acknowledged.
  Nanos behind() const;
  std::uint64_t undelivered() const { return backlog_.samples(); }

 private:
  enum class Next { wait, go_on };

  // Time.
  Nanos now() const { return fleet_.time.now(); }
  bool ended() const { return fleet_.end && now() >= *fleet_.end; }
  bool suffers(FleetFault::Kind kind, Nanos at) const;
  bool link_is_away() const;
  WallTime clock_at(Nanos at) const;
  Nanos grid_time_from(Nanos at) const;
  Nanos next_wake() const;
  void wait_for(Nanos duration) { not_before_ = now() + duration; }
  void back_off();

  // Reading.
  void read_what_is_due();
  void read_at(Nanos tick);
  Batch next_batch();

  // Talking.
  IoTask<void> drain();
  IoTask<void> talk();
  IoTask<Next> talk_once();
  IoTask<Next> say_hello();
  IoTask<Next> send_batches();
  Next take_answer(const ClientResponse& answer, const Backlog::Body& body);
  Next take_acknowledgement(const ClientResponse& answer, const Backlog::Body& body);
  Next give_up_batch(const Backlog::Body& body);
  void take_refusal(const ClientResponse& answer);
  IoTask<Result<ClientResponse>> post(std::string_view path, std::string_view type, std::string body,
                                      std::string_view bearer);
  void note(const Error& error);
  void note_status(const ClientResponse& answer);

  IoExecutor executor_;
  FleetState& fleet_;
  std::string name_;
  std::string key_;
  std::string stream_;
  std::uint64_t seed_;
  std::vector<FleetFault> faults_;
  Random random_;
  Nanos begin_;   ///< when it starts
  Nanos spread_;  ///< how long after the time of the grid it sends
  Nanos period_;
  Nanos heartbeat_ = std::chrono::seconds(1);
  Nanos next_tick_{};
  Nanos last_request_{};
  Nanos not_before_{};

  std::optional<NodeReplay> replay_;
  Backlog backlog_;
  std::uint64_t sequence_ = 0;
  bool named_ = false;  ///< some batch has named the series
  std::unique_ptr<AsyncHttpClient> client_;
  bool joined_ = false;
  bool greeted_ = false;
  bool connected_ = false;
  bool one_by_one_ = false;  ///< a request was refused for what one of its batches has
  int failures_ = 0;         ///< since the last success
};

}  // namespace assay
