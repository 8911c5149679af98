#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/job_request.h"
#include "scheduler/node_offer.h"
#include "scheduler/scheduler.h"

namespace assay {

/// A way to decide who runs where and when, as the simulation asks it.
class SimulatedPolicy {
 public:
  virtual ~SimulatedPolicy() = default;
  /// False where the job fits on none of the nodes.
  virtual bool submit(const JobRequest& job) = 0;
  virtual void ended(const std::string& id, WallTime now) = 0;
  virtual std::vector<JobPlacement> decide(WallTime now) = 0;
};

enum class PolicyKind {
  two_tier,     ///< assay's own scheduler
  rr_fcfs,      ///< nodes in turn, first come first served on each
  lwl_sjf,      ///< the node with the least work left, the shortest job first on each
  central_sjf,  ///< one queue, the shortest job first
};

/// In the order in which tables show them.
std::span<const PolicyKind> all_policies();
std::string_view name_of(PolicyKind kind);   ///< "two-tier"
std::string_view title_of(PolicyKind kind);  ///< "least work + SJF"
std::optional<PolicyKind> policy_from(std::string_view name);

std::unique_ptr<SimulatedPolicy> make_policy(PolicyKind kind, const std::vector<NodeOffer>& nodes,
                                             const SchedulerOptions& options = {});

}  // namespace assay
