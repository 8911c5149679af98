#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "base/clock.h"

namespace assay {

/// Sleeps; a request to stop ends it at once. False if it is time to stop.
bool sleep_for(const std::stop_token& stop, Nanos duration);

/// A thread with a name, for `top -H` and debuggers, that ends when it is told to and whose exceptions end neither the
/// program nor, unless its owner wants it, the work: each is logged with the name.
class SupervisedThread {
 public:
  /// Comes to its end soon after a stop was requested: it waits with `sleep_for` or on what wakes for a stop token.
  using Body = std::function<void(const std::stop_token&)>;

  struct OnFailure {
    /// Begins the body again after this pause; absent: it stays ended.
    std::optional<Nanos> restart_after;
    /// Called on the thread itself with the words of the exception, before the pause. Must not throw.
    std::function<void(const std::string& problem)> report;
  };

  /// Starts it. Of the name the system keeps 15 bytes.
  SupervisedThread(std::string name, Body body, OnFailure on_failure);
  SupervisedThread(SupervisedThread&&) noexcept = default;
  SupervisedThread& operator=(SupervisedThread&&) noexcept = default;
  /// Requests a stop and waits for the end.
  ~SupervisedThread() = default;

  void request_stop() { thread_.request_stop(); }
  /// Requests a stop and waits for the end; twice is fine.
  void stop();

 private:
  std::jthread thread_;
};

}  // namespace assay
