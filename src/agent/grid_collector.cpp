#include "agent/grid_collector.h"

#include <algorithm>

#include "base/assert.h"

namespace assay {

void GridCollector::add(std::size_t source, WallTime time, SteadyTime now) {
  ASSAY_ASSERT(source < sources_.size());
  Source& from = sources_[source];
  if (from.last && time < *from.last) {
    // The clock was set back: what the others delivered before lies in the future now.
    for (auto& other : sources_) other.last.reset();
    open_.reset();
  }
  if (!open_) {
    open_ = time;
    opened_ = now;
  }
  open_ = std::max(*open_, time);
  from.last = time;
  from.expected = true;
}

bool GridCollector::complete() const {
  return open_ && std::all_of(sources_.begin(), sources_.end(),
                              [this](const Source& source) { return !source.expected || has_delivered(source); });
}

std::optional<SteadyTime> GridCollector::deadline() const {
  return open_ ? std::optional(opened_ + patience_) : std::nullopt;
}

void GridCollector::close() {
  if (!open_) return;
  for (auto& source : sources_) source.expected = has_delivered(source);
  open_.reset();
}

}  // namespace assay
