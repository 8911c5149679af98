#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

#include "base/clock.h"

namespace assay {

/// Whether the client itself was kept from working while it measured.
struct ClientUsage {
  Nanos wall{0};
  Nanos cpu{0};                            ///< that the dispatching thread computed, spinning included
  double waited_share = 0;                 ///< of the wall time that the worst thread was ready and not let run
  double stolen_share = 0;                 ///< of this machine's CPU time that its hypervisor gave to others
  std::uint64_t involuntary_switches = 0;  ///< of the dispatching thread
  bool known = false;                      ///< false: the kernel does not tell
};

/// Takes stock at the beginning and at the end. Used on the dispatching thread; reads a few files of /proc, never while
/// the load goes on.
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
  Nanos waited(int thread, bool& known) const;
  MachineTime machine_time() const;

  std::filesystem::path proc_;
  SteadyTime began_{};
  Nanos cpu_{0};
  std::uint64_t switches_ = 0;
  std::map<int, Nanos> waited_;  ///< by thread
  MachineTime machine_;
  bool known_ = true;
};

}  // namespace assay
