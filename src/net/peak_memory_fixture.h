#pragma once

#include <fstream>
#include <string>

namespace assay {

/// For tests: whether a sanitizer is at work. Instrumented programs keep freed memory, and are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kInstrumented = true;
#elif defined(__has_feature)
inline constexpr bool kInstrumented = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kInstrumented = false;
#endif

/// For tests: what the process has taken at most since this was made, above what it had then.
class PeakMemory {
 public:
  PeakMemory() {
    // 5: the peak is what there is now.
    std::ofstream("/proc/self/clear_refs") << 5;
    before_ = status_kib("VmRSS");
  }
  long kib() const { return status_kib("VmHWM") - before_; }

 private:
  static long status_kib(const std::string& name) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
    }
    return 0;
  }

  long before_ = 0;
};

}  // namespace assay
