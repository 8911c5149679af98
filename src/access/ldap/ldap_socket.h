#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "access/ldap_settings.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"

namespace assay {

/// A connection to the first address of the host that takes it. Blocks until `deadline` at most, beside the look-up of
/// the name, which is the system's. `unreachable` otherwise.
Result<FileDescriptor> connect_to(const LdapUrl& url, SteadyTime deadline);

/// Ends a connection at a time, so that whoever waits for it, in whatever library, waits no longer. The libraries' own
/// deadlines leave gaps: one of them begins to wait in time, and then reads to the end of a message that never ends;
/// another spins while it waits for a handshake.
class HangUp {
 public:
  HangUp(int socket, SteadyTime when);

  /// Any thread.
  bool happened() const { return happened_; }

 private:
  void wait(const std::stop_token& stop, SteadyTime when);

  FileDescriptor socket_;  ///< a descriptor of our own: that of the library may be another's by then
  std::atomic<bool> happened_ = false;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::jthread thread_;
};

}  // namespace assay
