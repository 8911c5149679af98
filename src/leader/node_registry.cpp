#include "leader/node_registry.h"

#include <fmt/format.h>

#include "base/log.h"

namespace assay {
namespace {

constexpr std::string_view kNodeKind = "node";

ClusterDocument document_of(const NodeRecord& record) {
  return {.id = record.name, .time = record.first_seen, .content = to_json(record)};
}

}  // namespace

Result<std::unique_ptr<NodeRegistry>> NodeRegistry::load(ClusterStore& store, const Clock& clock) {
  std::unique_ptr<NodeRegistry> registry(new NodeRegistry(store, clock));
  ASSAY_TRY(const auto documents, store.list({.kind = std::string(kNodeKind)}));
  for (const auto& document : documents) {
    auto record = node_record_from_json(document.content);
    if (!record) {
      log_warning("What is kept of node '{}' cannot be read ({}); it is made again when the node speaks.", document.id,
                  record.error().text());
      continue;
    }
    registry->last_states_[record->name] = NodeState::offline;
    registry->nodes_[record->name] = std::make_shared<Node>(*record);
  }
  return registry;
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

Result<void> NodeRegistry::save(const Node& node) {
  const std::lock_guard saving(saving_mutex_);
  if (find(node.name()).get() != &node) return {};
  return store_.put(kNodeKind, document_of(node.record()), true);
}

Result<void> NodeRegistry::save_all() {
  const std::lock_guard saving(saving_mutex_);
  std::vector<ClusterDocument> documents;
  for (const auto& node : all()) documents.push_back(document_of(node->record()));
  return store_.put_all(kNodeKind, documents, true);
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
  ASSAY_CHECK(store_.remove(kNodeKind, name));
  const std::lock_guard lock(mutex_);
  nodes_.erase(nodes_.find(name));
  return {};
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
