#include "leader/refusals.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "store/refusal_table.h"

namespace assay {
namespace {

std::string_view name_of_refused(Refusals::Of what) {
  switch (what) {
    case Refusals::Of::series: return "series";
    case Refusals::Of::samples: return "samples";
    case Refusals::Of::events: return "events";
  }
  return "";
}

}  // namespace

struct Refusals::Refusal {
  RefusalRecord record;
  bool is_saved = false;
};

Refusals::Refusals(RefusalTable& table) : table_(table) {}
Refusals::~Refusals() = default;

Result<void> Refusals::load() {
  ASSAY_TRY(auto kept, table_.list());
  const std::lock_guard lock(mutex_);
  for (auto& record : kept) {
    auto& all = by_node_[record.node];
    all.push_back({.record = std::move(record), .is_saved = true});
  }
  return {};
}

void Refusals::note(const std::string& node, Of what, std::size_t count, std::string why, WallTime now) {
  const std::lock_guard lock(mutex_);
  auto& all = by_node_[node];
  const std::string_view name = name_of_refused(what);
  auto known = std::find_if(all.begin(), all.end(),
                            [&](const Refusal& one) { return one.record.what == name && one.record.why == why; });
  if (known == all.end() && all.size() >= kMostReasons) known = std::prev(all.end());
  if (known != all.end()) {
    known->record.count += static_cast<std::int64_t>(count);
    known->is_saved = false;
    return;
  }
  all.push_back({.record = {.node = node,
                            .what = std::string(name),
                            .why = std::move(why),
                            .count = static_cast<std::int64_t>(count),
                            .since = now}});
  log_error("{}", text(all.back().record));
}

Result<void> Refusals::save() {
  const std::lock_guard saving(saving_mutex_);
  std::vector<RefusalRecord> changed;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [node, all] : by_node_) {
      for (auto& refusal : all) {
        if (!std::exchange(refusal.is_saved, true)) changed.push_back(refusal.record);
      }
    }
  }
  if (changed.empty()) return {};
  auto put = table_.put(changed);
  if (put) return put;
  const std::lock_guard lock(mutex_);
  for (const auto& record : changed) {
    for (auto& refusal : by_node_[record.node]) refusal.is_saved = false;
  }
  return put;
}

Result<void> Refusals::forget(std::string_view node) {
  const std::lock_guard saving(saving_mutex_);
  ASSAY_CHECK(table_.remove(node));
  const std::lock_guard lock(mutex_);
  if (const auto found = by_node_.find(node); found != by_node_.end()) by_node_.erase(found);
  return {};
}

std::string Refusals::text(const RefusalRecord& refusal) {
  return fmt::format("node '{}': {} {} were refused since {}: {}", refusal.node, refusal.count, refusal.what,
                     iso8601(refusal.since), refusal.why);
}

std::vector<LeaderProblem> Refusals::problems() const {
  const std::lock_guard lock(mutex_);
  std::vector<LeaderProblem> problems;
  LeaderProblem more{
      .kind = ProblemKind::refused, .level = usual_level(ProblemKind::refused), .since = WallTime::max()};
  std::size_t nodes = 0;
  for (const auto& [node, all] : by_node_) {
    ++nodes;
    for (const auto& [record, is_saved] : all) {
      if (nodes > kMostNodes) {
        more.since = std::min(more.since, record.since);
        continue;
      }
      problems.push_back(
          {.kind = more.kind, .level = more.level, .about = node, .text = text(record), .since = record.since});
    }
  }
  if (nodes > kMostNodes) {
    more.about = "others";
    more.text = fmt::format("and of {} more nodes something was refused", nodes - kMostNodes);
    problems.push_back(std::move(more));
  }
  return problems;
}

}  // namespace assay
