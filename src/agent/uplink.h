#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "agent/leader_access.h"
#include "agent/outbox.h"
#include "agent/pauses.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/supervised_thread.h"
#include "protocol/hello.h"

namespace assay {

class HttpClient;
struct ClientResponse;

struct UplinkOptions {
  LeaderAccess access;
  AgentHello introduction;                             ///< said at the start of each stream, with the name of that
  Nanos first_pause = std::chrono::milliseconds(500);  ///< after a failure; doubles up to the longest
  Nanos longest_pause = std::chrono::seconds(10);
  Nanos request_time = std::chrono::seconds(10);
  ParcelLimits parcel;
  // Called on the uplink's thread; must not block nor call back.
  std::function<void(Nanos)> on_period = [](Nanos) {};                 ///< the leader wishes another period
  std::function<void(const Error&)> on_refused = [](const Error&) {};  ///< nobody let this agent in: it is over
};

struct UplinkState {
  bool away = true;              ///< the last request failed, or none was made yet
  std::uint64_t arrivals = 0;    ///< how often the leader was found after it had been away
  std::uint64_t backfilled = 0;  ///< batches that came from the spool
  std::optional<std::string> last_error;
};

/// Brings batches to the leader: joins if needed, says hello, sends, obeys the answers
/// (docs/reference/agent-protocol.md). One thread, which waits and blocks alone; trouble with the leader never reaches
/// the rest of the agent.
class Uplink {
 public:
  /// `outbox` must outlive it. Errors are those of the TLS options.
  static Result<std::unique_ptr<Uplink>> start(UplinkOptions options, Outbox& outbox);
  Uplink(const Uplink&) = delete;
  Uplink& operator=(const Uplink&) = delete;
  /// As `stop` without grace.
  ~Uplink();

  /// Sends what waits if the leader is there, for up to `grace`, then ends the thread.
  void stop(Nanos grace);

  /// At least one batch has to come within this time. Any thread.
  Nanos heartbeat() const { return Nanos(heartbeat_ns_.load()); }
  UplinkState state() const;

 private:
  Uplink(UplinkOptions options, Outbox& outbox, std::unique_ptr<HttpClient> client);
  void run();
  bool wanted();
  void rest(Nanos pause);

  // Each does one request and says how long to wait afterwards.
  Nanos step();
  Nanos join();
  Nanos hello(const Parcel& parcel);
  Nanos send(const Parcel& parcel);

  Nanos on_taken(const Parcel& parcel, const ClientResponse& response);
  Nanos on_unwanted(const Parcel& parcel, const ClientResponse& response);
  Nanos on_failure(const Error& error);
  Nanos on_unknown_key(const Error& error);
  Nanos try_again_soon(const Error& error);
  Nanos wait_as_told(const ClientResponse& response);
  void note_success();

  const UplinkOptions options_;
  Outbox& outbox_;
  std::unique_ptr<HttpClient> client_;
  std::atomic<std::int64_t> heartbeat_ns_;

  // Of the thread alone.
  Pauses pauses_;
  bool must_join_ = false;
  bool never_joined_ = false;
  std::string greeted_;  ///< the stream that hello was said for last
  ParcelLimits limits_;
  std::uint64_t one_by_one_until_ = 0;  ///< a batch up to this number was refused in company
  int attempts_ = 0;                    ///< since the leader last took something
  std::uint64_t backfilled_now_ = 0;
  SystemClock clock_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  bool ended_ = false;
  UplinkState state_;

  std::optional<SupervisedThread> thread_;
};

}  // namespace assay
