#include "scheduler/simulate/policy.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "scheduler/simulate/node_queues.h"

namespace assay {
namespace {

struct PolicyRow {
  PolicyKind kind;
  std::string_view name;
  std::string_view title;
};

constexpr std::array<PolicyRow, 4> kPolicies = {{
    {PolicyKind::rr_fcfs, "rr-fcfs", "round robin + FCFS"},
    {PolicyKind::lwl_sjf, "lwl-sjf", "least work + SJF"},
    {PolicyKind::central_sjf, "central-sjf", "central SJF"},
    {PolicyKind::two_tier, "two-tier", "two-tier"},
}};
constexpr std::array<PolicyKind, 4> kKinds = {kPolicies[0].kind, kPolicies[1].kind, kPolicies[2].kind,
                                              kPolicies[3].kind};

const PolicyRow& row_of(PolicyKind kind) {
  return *std::find_if(kPolicies.begin(), kPolicies.end(), [&](const PolicyRow& row) { return row.kind == kind; });
}

/// The code that a leader runs, with the simulation's time.
class OwnScheduler final : public SimulatedPolicy {
 public:
  OwnScheduler(const std::vector<NodeOffer>& nodes, const SchedulerOptions& options) : scheduler_(options) {
    for (const NodeOffer& node : nodes) {
      places_.put(node);
      const auto up = scheduler_.node_up(node);
      ASSAY_ASSERT(up.ok());
    }
  }

  bool submit(const JobRequest& job) override {
    return places_.could_ever_fit(job.needs, places_.fits_of(job.needs)) && scheduler_.submit(job).ok();
  }
  void ended(const std::string& id, WallTime now) override {
    const auto after = scheduler_.ended(id, JobOutcome::succeeded, now);
    ASSAY_ASSERT(after.ok());
  }
  std::vector<JobPlacement> decide(WallTime now) override { return scheduler_.decide(now).start; }

 private:
  Places places_;  ///< empty nodes: what could ever fit
  Scheduler scheduler_;
};

}  // namespace

std::span<const PolicyKind> all_policies() { return kKinds; }

std::string_view name_of(PolicyKind kind) { return row_of(kind).name; }

std::string_view title_of(PolicyKind kind) { return row_of(kind).title; }

std::optional<PolicyKind> policy_from(std::string_view name) {
  for (const PolicyRow& row : kPolicies) {
    if (row.name == name) return row.kind;
  }
  return std::nullopt;
}

std::unique_ptr<SimulatedPolicy> make_policy(PolicyKind kind, const std::vector<NodeOffer>& nodes,
                                             const SchedulerOptions& options) {
  switch (kind) {
    case PolicyKind::rr_fcfs: return std::make_unique<NodeQueues>(nodes, NodeQueues::Rule::round_robin);
    case PolicyKind::lwl_sjf: return std::make_unique<NodeQueues>(nodes, NodeQueues::Rule::least_work);
    case PolicyKind::two_tier: return std::make_unique<OwnScheduler>(nodes, options);
    case PolicyKind::central_sjf: break;
  }
  SchedulerOptions shortest;
  shortest.order.order = QueueOrder::shortest;
  shortest.fair_share.strength = 0;
  return std::make_unique<OwnScheduler>(nodes, shortest);
}

}  // namespace assay
