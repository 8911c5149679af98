#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace assay {

/// Decides when the readings of a grid time make a batch: when every source that can be expected to has delivered, or
/// `patience` after the first of them. A source that was waited for in vain is not waited for until it delivers again.
/// A pure function of what it is told.
class GridCollector {
 public:
  GridCollector(std::size_t sources, Nanos patience) : patience_(patience), sources_(sources) {}

  /// Whether what was collected so far must be closed before a reading of `time` is added.
  bool closes_before(WallTime time) const { return open_ && time > *open_; }
  void add(std::size_t source, WallTime time, SteadyTime now);
  bool complete() const;
  /// When the open batch has to go, complete or not; nothing when none is open.
  std::optional<SteadyTime> deadline() const;
  /// The open batch was taken.
  void close();

 private:
  struct Source {
    bool expected = true;
    std::optional<WallTime> last;
  };

  bool has_delivered(const Source& source) const { return source.last && *source.last >= *open_; }

  Nanos patience_;
  std::vector<Source> sources_;
  std::optional<WallTime> open_;
  SteadyTime opened_{};
};

}  // namespace assay
