#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "base/clock.h"

namespace assay {

/// Whether the client itself was kept from working while it measured, or had as much to do as it can.
struct ClientUsage {
  Nanos wall{0};
  Nanos cpu{0};             ///< that the dispatching thread computed, spinning included
  double waited_share = 0;  ///< of the wall time that the worst thread was ready and not let run
  double stolen_share = 0;  ///< of this machine's CPU time that its hypervisor gave to others
  double busy_share = 0;    ///< of the wall time that the busiest thread but the dispatching one computed
  std::uint64_t involuntary_switches = 0;  ///< of the dispatching thread
  bool known = false;                      ///< false: the kernel does not tell
};

/// Takes stock at the beginning and at the end. Used on the dispatching thread; reads a few files of /proc, never while
/// the load goes on. Of less than a second neither `stolen_share` nor `busy_share` is told: the machine's time comes in
/// ticks of 10 ms, and a thread that is busy for a moment is not saturated.
class ClientWatch {
 public:
  /// `proc` is /proc, or what a test takes for it.
  explicit ClientWatch(std::filesystem::path proc = "/proc") : proc_(std::move(proc)) {}
  /// `threads` besides the calling one.
  void begin(const std::vector<int>& threads, SteadyTime now);
  ClientUsage end(SteadyTime now) const;

 private:
  struct MachineTime {
    std::uint64_t total = 0;
    std::uint64_t stolen = 0;
  };
  struct ThreadTime {
    Nanos on_cpu{0};
    Nanos waited{0};
  };
  ThreadTime thread_time(int thread, bool& known) const;
  MachineTime machine_time() const;

  std::filesystem::path proc_;
  SteadyTime began_{};
  Nanos cpu_{0};
  std::uint64_t switches_ = 0;
  int self_ = 0;
  std::map<int, ThreadTime> threads_;  ///< this one and those named
  MachineTime machine_;
  bool known_ = true;
};

}  // namespace assay
