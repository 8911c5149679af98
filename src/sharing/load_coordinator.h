#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "sharing/client_part.h"
#include "sharing/live_moment.h"
#include "sharing/load_link.h"
#include "sharing/load_messages.h"

namespace assay {

class Listener;

struct CoordinatorOptions {
  std::uint32_t clients = 2;  ///< this one included
  LoadIdentity identity;
  LoadKey key{};
  std::string run;  ///< that the others are told, so that their prompts are of the same cell
  Nanos join_patience = std::chrono::minutes(5);
  Nanos ready_patience = std::chrono::minutes(5);  ///< for everybody to have checked its target, read its files, …
  Nanos silence = std::chrono::seconds(30);        ///< after which a client is held to be lost
  /// Asked while others are waited for; an error ends the waiting: they will not come.
  std::function<Result<void>()> still_expected = {};
};

/// The first of the clients that share a load, towards the others: lets them join, makes them start together, hears
/// how they do, and gathers what they recorded. Used by one thread; a thread of its own listens while a load goes on.
/// Letting go of it tells the others that there is no further load.
class LoadCoordinator {
 public:
  /// Waits until every client has joined, however many strangers call in between: who does not know the key is turned
  /// away. Errors: `lost_peer` (not all came), `bad_spec` (a client has other settings or files), `unsupported` (or is
  /// another version), `interrupted`, those of `still_expected`. `clock` outlives this.
  static Result<std::unique_ptr<LoadCoordinator>> gather(const Listener& listener, CoordinatorOptions options,
                                                         const Clock& clock, const std::stop_token& stopping);
  ~LoadCoordinator();
  LoadCoordinator(const LoadCoordinator&) = delete;
  LoadCoordinator& operator=(const LoadCoordinator&) = delete;

  /// Tells everybody to get ready. Who cannot be told is lost, which `agree_start` says.
  void announce(const LoadOrder& order);
  /// Waits until everybody is, looks how far clocks are apart, and says the start, by our clock. From then on they are
  /// listened to. Errors: what kept a client from getting ready, with its name.
  Result<SteadyTime> agree_start(const std::stop_token& stopping);
  /// What each of the others did since the last call. Any thread.
  std::vector<LiveMoment> moments();
  /// After our own part has ended: waits for the others' parts (those that are silent for too long are lost), looks at
  /// clocks again, and gives them, in order. `stop`: they are told not to go on.
  std::vector<ClientPart> collect(bool stop);

 private:
  struct Seat;
  LoadCoordinator(CoordinatorOptions options, const Clock& clock);
  Result<void> admit_all(const Listener& listener, const std::stop_token& stopping);
  /// True: the link has a seat now.
  Result<bool> admit(LoadLink& link, const LoadFrame& frame);
  void listen(const std::stop_token& stopping);
  void hear(Seat& seat);
  void lose(Seat& seat, const std::string& why);
  Result<ClockAlignment> look_at_clock(Seat& seat);

  CoordinatorOptions options_;
  const Clock& clock_;
  mutable std::mutex mutex_;                  ///< over what is heard of seats while a load goes on
  std::vector<std::unique_ptr<Seat>> seats_;  ///< of clients 1, 2, …
  std::uint64_t turned_away_ = 0;
  std::jthread listening_;
};

}  // namespace assay
