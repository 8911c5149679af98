#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "base/spawn.h"

namespace assay {

/// The network between an agent and its leader: a port of loopback whose bytes go to another one, until it is cut.
/// Any thread.
class Wire {
 public:
  /// `url`: of the leader, http://127.0.0.1:PORT. What cannot be set up is a test failure.
  explicit Wire(const std::string& url);
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire();

  /// What to call the leader on this side.
  std::string url() const;

  enum class Cut {
    loud,    ///< connections are reset, and nobody gets a new one
    silent,  ///< nothing passes, and nobody is told; what was on its way arrives when the cut is over
  };
  void cut(Cut how);
  void restore();

 private:
  struct Link {
    FileDescriptor near, far;
  };
  enum class State { whole, loud, silent };

  void carry();
  void take_in();
  /// Hands on what has come; false: the connection is over.
  static bool pass(int from, int to);

  std::uint16_t target_ = 0;
  std::uint16_t port_ = 0;
  FileDescriptor listener_;
  Pipe wake_;
  std::vector<Link> links_;  ///< of the thread alone
  std::atomic<State> state_ = State::whole;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace assay
