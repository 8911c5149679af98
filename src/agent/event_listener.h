#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "agent/leader_access.h"
#include "agent/pauses.h"
#include "base/result.h"
#include "base/supervised_thread.h"

namespace assay {

class EventSource;
class HttpClient;
struct ServerEvent;

struct ListenerOptions {
  LeaderAccess access;
  std::string target;  ///< its path
  std::string what;    ///< for messages and the thread's name: "commands"
  /// How often the leader was found again; a stream of before that may be dead without anybody noticing.
  std::function<std::uint64_t()> arrivals;
  /// Both on the listener's thread.
  std::function<void(const ServerEvent&)> on_event;
  std::function<void()> on_look = [] {};          ///< at least every `look`, whether the leader is there or not
  Nanos look = std::chrono::seconds(5);           ///< between two looks at `arrivals` while nothing comes
  Nanos longest_quiet = std::chrono::minutes(5);  ///< then the stream is opened anew: it might be dead
  Nanos request_time = std::chrono::seconds(20);
  Nanos first_pause = std::chrono::milliseconds(500);  ///< after the leader could not be reached
  Nanos longest_pause = std::chrono::seconds(10);
};

/// Listens to one of the leader's event streams on a thread of its own. Connects again when the stream ends; waits
/// until the uplink has found the leader.
class EventListener {
 public:
  /// Errors are those of the TLS options.
  static Result<std::unique_ptr<EventListener>> start(ListenerOptions options);
  EventListener(const EventListener&) = delete;
  EventListener& operator=(const EventListener&) = delete;
  /// As `stop`.
  ~EventListener();

  /// Ends the thread: at once, unless it is in `on_event` or `on_look`.
  void stop();

 private:
  EventListener(ListenerOptions options, std::unique_ptr<HttpClient> client);
  void run(const std::stop_token& stop);
  void listen(EventSource& events, std::uint64_t arrivals, const std::stop_token& stop);
  void rest(const std::stop_token& stop);

  const ListenerOptions options_;
  std::unique_ptr<HttpClient> client_;
  Pauses pauses_;
  bool is_away_ = false;  ///< of the thread: the last attempt has failed
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<SupervisedThread> thread_;
};

}  // namespace assay
