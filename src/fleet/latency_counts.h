#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace assay {

/// How often which latency came, in a fixed amount of memory, however long the simulation runs: steps of 2 % from a
/// microsecond to some minutes.
class LatencyCounts {
 public:
  void add(Nanos latency);
  /// Those that were added after `before`, which must be an earlier copy. The largest is not known any more: it is the
  /// end of its step.
  LatencyCounts since(const LatencyCounts& before) const;

  std::uint64_t count() const { return count_; }
  /// The upper end of the step that holds it, at most the largest that came; 0 without any. `p` in [0, 1].
  Nanos percentile(double p) const;
  Nanos largest() const { return largest_; }

 private:
  static constexpr std::size_t kSteps = 1000;
  static Nanos end_of(std::size_t step);
  std::array<std::uint64_t, kSteps> counts_{};
  std::uint64_t count_ = 0;
  Nanos largest_{};
};

}  // namespace assay
