#include "leader/node_registry.h"

#include <fmt/format.h>

#include "leader/node.h"
#include "store/node_table.h"

namespace assay {
namespace {

constexpr std::size_t kNodesPerPage = 1000;

}  // namespace

Result<std::unique_ptr<NodeRegistry>> NodeRegistry::load(NodeTable& table, const Clock& clock) {
  std::unique_ptr<NodeRegistry> registry(new NodeRegistry(table, clock));
  for (std::string last;;) {
    ASSAY_TRY(auto page, table.list(last, kNodesPerPage));
    for (auto& [record, revision] : page) {
      last = record.name;
      registry->last_states_[last] = NodeState::offline;
      registry->revisions_[last] = revision;
      auto node = std::make_shared<Node>(std::move(record));
      node->note_saved(node->unsaved()->version);
      registry->nodes_[last] = std::move(node);
    }
    if (page.size() < kNodesPerPage) return registry;
  }
}

std::shared_ptr<Node> NodeRegistry::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : found->second;
}

Result<std::shared_ptr<Node>> NodeRegistry::find_or_make(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = nodes_.find(name); found != nodes_.end()) return found->second;
  if (nodes_.size() >= kMaxNodes) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("this leader has {} nodes and takes no more", nodes_.size()),
                 .hint = "`assay nodes forget NODE` makes room for another."};
  }
  const WallTime now = clock_.wall();
  auto node = std::make_shared<Node>(NodeRecord{.name = std::string(name), .first_seen = now, .last_seen = now});
  nodes_.emplace(name, node);
  return node;
}

std::vector<std::shared_ptr<Node>> NodeRegistry::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Node>> nodes;
  nodes.reserve(nodes_.size());
  for (const auto& [name, node] : nodes_) nodes.push_back(node);
  return nodes;
}

Result<bool> NodeRegistry::save(Node& node) {
  // Who has nothing to say waits for nobody.
  if (!node.unsaved()) return false;
  const std::lock_guard saving(saving_mutex_);
  const std::string name = node.name();
  auto unsaved = node.unsaved();
  if (!unsaved || find(name).get() != &node) return false;
  Revision& revision = revisions_[name];
  auto put = table_.put({.row = std::move(unsaved->record), .revision = revision});
  if (put) {
    revision = *put;
    node.note_saved(unsaved->version);
    return true;
  }
  if (put.error().kind == ErrorKind::busy) ASSAY_CHECK(take_over(node));
  return std::move(put).error();
}

/// What a node says of itself is newer here, whoever wrote; what an administrator said is newer there.
Result<void> NodeRegistry::take_over(Node& node) {
  const std::string name = node.name();
  auto stored = table_.find(name);
  if (!stored && stored.error().kind != ErrorKind::not_found) return std::move(stored).error();
  revisions_[name] = stored ? stored->revision : 0;
  if (stored) node.set_draining(stored->row.draining, std::move(stored->row.drain_reason), stored->row.maintenance);
  return {};
}

Result<void> NodeRegistry::save_all() {
  const std::lock_guard saving(saving_mutex_);
  std::vector<NodeTable::Seen> seen;
  for (const auto& node : all()) {
    NodeRecord record = node->record();
    seen.push_back({.name = std::move(record.name), .time = record.last_seen});
  }
  return table_.note_seen(seen);
}

Result<void> NodeRegistry::forget(std::string_view name) {
  // Who only looks does not wait for the disk.
  const std::lock_guard saving(saving_mutex_);
  const auto node = find(name);
  if (!node) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no node '{}'", name)};
  }
  if (node->state(clock_.now()) != NodeState::offline) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("node '{}' is online and would be back at once", name),
                 .hint = "Stop its agent first."};
  }
  ASSAY_CHECK(table_.remove(name));
  revisions_.erase(node->name());
  const std::lock_guard lock(mutex_);
  nodes_.erase(nodes_.find(name));
  return {};
}

void NodeRegistry::excuse() {
  const SteadyTime now = clock_.now();
  for (const auto& node : all()) {
    const auto last = last_states_.find(node->name());
    if (last != last_states_.end() && last->second != NodeState::offline) node->excuse(now);
  }
}

std::vector<NodeRegistry::StateChange> NodeRegistry::look_at_states() {
  const SteadyTime now = clock_.now();
  std::map<std::string, NodeState> states;
  std::vector<StateChange> changes;
  for (const auto& node : all()) {
    const std::string name = node->name();
    const NodeState state = node->state(now);
    states[name] = state;
    const auto before = last_states_.find(name);
    const NodeState from = before == last_states_.end() ? NodeState::offline : before->second;
    if (from != state) changes.push_back({.node = name, .from = from, .to = state});
  }
  last_states_ = std::move(states);
  return changes;
}

}  // namespace assay
