#include "scheduler/simulate/node_queues.h"

#include <algorithm>

namespace assay {

NodeQueues::NodeQueues(const std::vector<NodeOffer>& nodes, Rule rule) : rule_(rule), offers_(nodes) {
  for (const NodeOffer& offer : offers_) {
    QueueNode node{.offer = &offer, .taken = std::vector<bool>(offer.gpus.size()), .free = offer.gpus.size()};
    nodes_.push_back(std::move(node));
    by_work_.emplace(0, nodes_.size() - 1);
  }
}

bool NodeQueues::suits(const QueueNode& node, const JobNeeds& needs) const {
  const NodeOffer& offer = *node.offer;
  if (offer.gpus.size() < static_cast<std::size_t>(std::max(1, needs.gpus))) return false;
  if (!needs.gpu_model.empty() && offer.gpus.front().model != needs.gpu_model) return false;
  return needs.on.empty() || std::find(needs.on.begin(), needs.on.end(), offer.name) != needs.on.end();
}

/// The nodes of a job; empty: too few suit.
std::vector<std::size_t> NodeQueues::choose(const JobNeeds& needs) {
  const auto count = static_cast<std::size_t>(needs.nodes);
  std::vector<std::size_t> chosen;
  if (rule_ == Rule::least_work) {
    for (const auto& [work, node] : by_work_) {
      if (chosen.size() == count) break;
      if (suits(nodes_[node], needs)) chosen.push_back(node);
    }
  } else {
    std::size_t looked = 0;
    for (; looked < nodes_.size() && chosen.size() < count; ++looked) {
      const std::size_t node = (turn_ + looked) % nodes_.size();
      if (suits(nodes_[node], needs)) chosen.push_back(node);
    }
    turn_ = (turn_ + looked) % nodes_.size();
  }
  if (chosen.size() < count) chosen.clear();
  return chosen;
}

void NodeQueues::set_work(std::size_t number, double work) {
  QueueNode& node = nodes_[number];
  const auto gpus = static_cast<double>(std::max<std::size_t>(1, node.offer->gpus.size())) * node.offer->speed;
  by_work_.erase({node.work / gpus, number});
  // Sums of what comes and goes leave crumbs.
  node.work = std::max(0.0, node.queue.empty() && node.free == node.taken.size() ? 0.0 : work);
  by_work_.emplace(node.work / gpus, number);
}

bool NodeQueues::submit(const JobRequest& request) {
  QueueJob job{.id = request.id, .needs = request.needs, .seconds = seconds_of(request.estimate.expected)};
  job.nodes = choose(request.needs);
  if (job.nodes.empty()) return false;
  const std::uint64_t number = next_++;
  const double key = rule_ == Rule::least_work ? job.seconds : static_cast<double>(number);
  for (const std::size_t node : job.nodes) {
    nodes_[node].queue.emplace(key, number);
    set_work(node, nodes_[node].work + job.seconds * std::max(1, job.needs.gpus));
    changed_.insert(node);
  }
  numbers_[job.id] = number;
  jobs_.emplace(number, std::move(job));
  return true;
}

void NodeQueues::ended(const std::string& id, WallTime) {
  const std::uint64_t number = numbers_.at(id);
  QueueJob& job = jobs_.at(number);
  for (std::size_t i = 0; i < job.nodes.size(); ++i) {
    QueueNode& node = nodes_[job.nodes[i]];
    for (std::size_t gpu = 0; gpu < node.taken.size(); ++gpu) {
      const auto& held = job.placement.shares[i].gpus;
      if (std::find(held.begin(), held.end(), node.offer->gpus[gpu].uuid) == held.end()) continue;
      node.taken[gpu] = false;
      ++node.free;
    }
    set_work(job.nodes[i], node.work - job.seconds * std::max(1, job.needs.gpus));
    changed_.insert(job.nodes[i]);
  }
  numbers_.erase(id);
  jobs_.erase(number);
}

bool NodeQueues::can_start(const Ticket& ticket, const QueueJob& job) const {
  return std::all_of(job.nodes.begin(), job.nodes.end(), [&](std::size_t number) {
    const QueueNode& node = nodes_[number];
    const auto needed = job.needs.alone() ? node.taken.size() : static_cast<std::size_t>(job.needs.gpus);
    return !node.queue.empty() && *node.queue.begin() == ticket && node.free >= needed;
  });
}

void NodeQueues::start(const Ticket& ticket, QueueJob& job) {
  job.placement.job = job.id;
  for (const std::size_t number : job.nodes) {
    QueueNode& node = nodes_[number];
    auto needed = job.needs.alone() ? node.taken.size() : static_cast<std::size_t>(job.needs.gpus);
    NodeShare share{.node = node.offer->name};
    for (std::size_t gpu = 0; gpu < node.taken.size() && needed > 0; ++gpu) {
      if (node.taken[gpu]) continue;
      node.taken[gpu] = true;
      --node.free;
      --needed;
      share.gpus.push_back(node.offer->gpus[gpu].uuid);
    }
    node.queue.erase(ticket);
    job.placement.shares.push_back(std::move(share));
  }
}

std::vector<JobPlacement> NodeQueues::decide(WallTime) {
  std::vector<JobPlacement> started;
  while (!changed_.empty()) {
    const std::size_t number = *changed_.begin();
    const QueueNode& node = nodes_[number];
    if (node.queue.empty()) {
      changed_.erase(changed_.begin());
      continue;
    }
    const Ticket ticket = *node.queue.begin();
    QueueJob& job = jobs_.at(ticket.second);
    if (!can_start(ticket, job)) {
      changed_.erase(changed_.begin());
      continue;
    }
    start(ticket, job);
    // The next in each of these queues may have its turn.
    changed_.insert(job.nodes.begin(), job.nodes.end());
    started.push_back(job.placement);
  }
  return started;
}

}  // namespace assay
