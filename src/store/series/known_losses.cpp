#include "store/series/known_losses.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

namespace assay {
namespace {

bool overlap(TimeRange a, TimeRange b) { return a.from_ns < b.to_ns && b.from_ns < a.to_ns; }

}  // namespace

void KnownLosses::add(SeriesId series, TimeRange range, std::string why) {
  const auto [known, is_new] = by_series_.try_emplace(series, Loss{range, why});
  if (is_new) return;
  auto& all = known->second.range;
  all = {std::min(all.from_ns, range.from_ns), std::max(all.to_ns, range.to_ns)};
  known->second.why = std::move(why);
}

void KnownLosses::add_for_all(TimeRange range, std::string what) { for_all_.push_back({range, std::move(what)}); }

std::vector<std::string> KnownLosses::of(std::span<const SeriesId> series, TimeRange range) const {
  std::vector<std::string> told;
  for (const auto& loss : for_all_) {
    if (overlap(loss.range, range)) told.push_back(loss.why);
  }
  if (by_series_.empty()) return told;
  for (const auto id : series) {
    const auto loss = by_series_.find(id);
    if (loss == by_series_.end() || !overlap(loss->second.range, range)) continue;
    const auto& [lost, why] = loss->second;
    told.push_back(fmt::format("series {}: points from {} to {} were lost: {}", id,
                               iso8601(WallTime(Nanos(lost.from_ns))), iso8601(WallTime(Nanos(lost.to_ns - 1))), why));
  }
  return told;
}

}  // namespace assay
