#include "base/crash_point.h"

#include <unistd.h>

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string>

namespace assay {
namespace {

/// What the environment asks for; read once.
struct WantedCrash {
  std::string name;
  std::atomic<int> passes_left = 1;

  WantedCrash() {
    const char* text = std::getenv("ASSAY_CRASH_AT");
    if (!text) return;
    name = text;
    const auto colon = name.find(':');
    if (colon == std::string::npos) return;
    int count = 1;
    std::from_chars(name.data() + colon + 1, name.data() + name.size(), count);
    passes_left = count;
    name.resize(colon);
  }
};

}  // namespace

void crash_point(CrashPoint point) {
  static WantedCrash wanted;
  if (wanted.name.empty() || wanted.name != point.name()) return;
  if (--wanted.passes_left == 0) ::kill(::getpid(), SIGKILL);
}

}  // namespace assay
