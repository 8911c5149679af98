#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "sharing/client_part.h"
#include "sharing/live_moment.h"
#include "sharing/load_link.h"
#include "sharing/load_messages.h"

namespace assay {

struct FollowerOptions {
  std::string host;  ///< of the coordinator
  std::uint16_t port = 0;
  ClientHello hello;
  LoadKey key{};
  Nanos join_patience = std::chrono::minutes(5);
};

/// One of the clients that share a load, towards the coordinator. Used by one thread at a time: `report` and
/// `told_to_stop` by the one that speaks of a load while it goes on, the rest by the one that carries it out.
class LoadFollower {
 public:
  /// Connects and is let in. Errors: `unreachable`, `denied` (the keys differ, on either side), `unsupported`,
  /// `bad_spec` (turned away, with the reason), `interrupted`. `clock` outlives this.
  static Result<std::unique_ptr<LoadFollower>> join(const FollowerOptions& options, const Clock& clock,
                                                    const std::stop_token& stopping);

  const std::string& run() const { return run_; }  ///< as the coordinator calls it

  /// The next load; nothing: there is none. Answers questions about the time meanwhile. Errors: `lost_peer`,
  /// `interrupted`.
  Result<std::optional<LoadOrder>> next_load(const std::stop_token& stopping);
  /// Says that we are ready and waits for the start, by our clock. Errors: `interrupted` (also: the load was called
  /// off), `lost_peer`.
  Result<SteadyTime> agree_start(const std::stop_token& stopping);
  /// Says that we cannot.
  Result<void> give_up(const Error& error);
  /// What we did in the last moment. What cannot be sent shows in `told_to_stop`.
  void report(const LiveMoment& moment);
  /// Whether the load has to end now: the coordinator says so, or is gone. Does not wait.
  bool told_to_stop();
  /// Hands in what was recorded.
  Result<void> hand_in(const ClientPart& part);

 private:
  LoadFollower(LoadLink link, const Clock& clock) : link_(std::move(link)), clock_(clock) {}
  /// The next frame that is no question about the time.
  Result<LoadFrame> next_frame(const std::stop_token& stopping);

  LoadLink link_;
  const Clock& clock_;
  std::string run_;
};

}  // namespace assay
