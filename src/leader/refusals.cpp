#include "leader/refusals.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace assay {

void Refusals::note(const std::string& node, Of what, std::size_t count, std::string why, WallTime now) {
  const std::lock_guard lock(mutex_);
  auto& all = by_node_[node];
  auto known =
      std::find_if(all.begin(), all.end(), [&](const Refusal& one) { return one.what == what && one.why == why; });
  if (known == all.end() && all.size() == kMostReasons) known = std::prev(all.end());
  if (known != all.end()) {
    known->count += count;
    return;
  }
  all.push_back({.what = what, .why = std::move(why), .count = count, .since = now});
  log_error("{}", text(node, all.back()));
}

void Refusals::forget(std::string_view node) {
  const std::lock_guard lock(mutex_);
  if (const auto found = by_node_.find(node); found != by_node_.end()) by_node_.erase(found);
}

std::string Refusals::text(std::string_view node, const Refusal& refusal) {
  return fmt::format("node '{}': {} {} refused since {}: {}", node, refusal.count,
                     refusal.what == Of::series ? "series were" : "samples were", iso8601(refusal.since), refusal.why);
}

std::vector<std::string> Refusals::texts() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  std::size_t nodes = 0;
  for (const auto& [node, all] : by_node_) {
    if (++nodes > kMostNodes) break;
    for (const auto& refusal : all) texts.push_back(text(node, refusal));
  }
  if (by_node_.size() > kMostNodes) {
    texts.push_back(fmt::format("and of {} more nodes something was refused", by_node_.size() - kMostNodes));
  }
  return texts;
}

}  // namespace assay
