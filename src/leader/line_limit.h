#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/clock.h"

namespace assay {

/// Lets the first lines about a thing through, then none for a while: what comes and goes must not fill a log. Not
/// thread-safe.
class LineLimit {
 public:
  enum class Say {
    it,
    it_and_no_more,  ///< this one, and that no more are said for a while
    nothing,
  };
  Say next(const std::string& about, SteadyTime now) {
    std::erase_if(counts_, [&](const auto& entry) { return now - entry.second.since >= kSpan; });
    Count& count = counts_.try_emplace(about, Count{.since = now}).first->second;
    ++count.lines;
    return count.lines < kMost ? Say::it : count.lines == kMost ? Say::it_and_no_more : Say::nothing;
  }

  static constexpr std::size_t kMost = 6;  ///< of one thing in the span
  static constexpr Nanos kSpan = std::chrono::hours(1);

 private:
  struct Count {
    std::size_t lines = 0;
    SteadyTime since;
  };
  std::map<std::string, Count> counts_;
};

}  // namespace assay
