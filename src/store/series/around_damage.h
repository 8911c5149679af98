#pragma once

#include <span>
#include <utility>

#include "base/result.h"

namespace assay {

/// Does `work` for a group at once. Where a page of the database is damaged, for one item after the other, so that it
/// stops the series it belongs to and not its neighbours: `give_up(item, error)` is told of those, and the rest is
/// done. `work` changes all or nothing of what it is given, or can be repeated.
template <typename Item, typename Work, typename GiveUp>
Result<void> around_damage(std::span<const Item> group, Work work, GiveUp give_up) {
  Result<void> together = work(group);
  if (together.ok() || together.error().kind != ErrorKind::bad_file) return together;
  for (const auto& item : group) {
    Result<void> alone = work(std::span<const Item>(&item, 1));
    if (alone.ok()) continue;
    if (alone.error().kind != ErrorKind::bad_file) return alone;
    give_up(item, alone.error());
  }
  return {};
}

}  // namespace assay
