#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "scheduler/simulate/policy.h"

namespace assay {

/// What schedulers often do: each job is bound to a node when it comes and waits in that node's queue. A gang waits in
/// the queues of all its nodes and starts when it is first in each; queues share one order, so that this always comes.
class NodeQueues final : public SimulatedPolicy {
 public:
  enum class Rule {
    round_robin,  ///< nodes in turn, first come first served
    least_work,   ///< the least work left by the estimates, the shortest job first
  };
  NodeQueues(const std::vector<NodeOffer>& nodes, Rule rule);

  bool submit(const JobRequest& job) override;
  void ended(const std::string& id, WallTime now) override;
  std::vector<JobPlacement> decide(WallTime now) override;

 private:
  using Ticket = std::pair<double, std::uint64_t>;  ///< key and sequence
  struct QueueJob {
    std::string id;
    JobNeeds needs;
    double seconds = 0;  ///< expected
    std::vector<std::size_t> nodes;
    JobPlacement placement;
  };
  struct QueueNode {
    const NodeOffer* offer = nullptr;
    std::vector<bool> taken;
    std::size_t free = 0;
    std::set<Ticket> queue;
    double work = 0;  ///< GPU seconds that wait or run, as estimated when they came
  };

  bool suits(const QueueNode& node, const JobNeeds& needs) const;
  std::vector<std::size_t> choose(const JobNeeds& needs);
  bool can_start(const Ticket& ticket, const QueueJob& job) const;
  void start(const Ticket& ticket, QueueJob& job);
  void set_work(std::size_t node, double work);

  Rule rule_;
  std::vector<NodeOffer> offers_;
  std::vector<QueueNode> nodes_;
  std::set<std::pair<double, std::size_t>> by_work_;  ///< work per GPU
  std::size_t turn_ = 0;
  std::uint64_t next_ = 0;
  std::unordered_map<std::uint64_t, QueueJob> jobs_;
  std::unordered_map<std::string, std::uint64_t> numbers_;
  std::set<std::size_t> changed_;  ///< nodes whose first job may be able to start
};

}  // namespace assay
