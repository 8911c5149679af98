#include "leader/slurm_desk.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "protocol/slurm_report.h"

namespace assay {
namespace {

/// Nodes that the jobs of one report may be on, one after the other: more than there are nodes of a leader.
constexpr std::size_t kMostNames = 100'000;
/// Jobs that are named where a node is used.
constexpr std::size_t kMostNamed = 3;

std::string named(const SlurmQueueEntry& job) {
  return job.user.empty() ? printable(job.id) : fmt::format("{} ({})", printable(job.id), printable(job.user));
}

std::map<std::string, std::string, std::less<>> uses_of_nodes(const SlurmJobs& jobs) {
  std::map<std::string, std::vector<const SlurmQueueEntry*>, std::less<>> by_node;
  std::size_t names = 0;
  for (const auto& job : jobs.jobs) {
    for (auto& node : names_in_node_list(job.nodes, kMostNames - names)) {
      by_node[std::move(node)].push_back(&job);
      ++names;
    }
  }
  std::map<std::string, std::string, std::less<>> uses;
  for (const auto& [node, there] : by_node) {
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(there.size(), kMostNamed); ++i) shown.push_back(named(*there[i]));
    auto& text = uses[node];
    text = fmt::format("is used by Slurm job{} {}", there.size() == 1 ? "" : "s", join(shown, ", "));
    if (there.size() > kMostNamed) text += fmt::format(" and {} more", there.size() - kMostNamed);
  }
  return uses;
}

}  // namespace

SlurmDesk::SlurmDesk(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), started_(clock.now()) {}

Result<void> SlurmDesk::check_teller(std::string_view node) const {
  if (node == options_.told_by) return {};
  return Error{.kind = ErrorKind::denied,
               .message = fmt::format("it is not for node '{}' to say which machines Slurm uses", node),
               .hint = "An administrator of the leader names the node that is believed: 'slurm_from'."};
}

Result<void> SlurmDesk::take(std::string_view node, SlurmReport report) {
  ASSAY_CHECK(check_teller(node));
  const std::lock_guard lock(mutex_);
  problem_ = printable(report.problem);
  if (!problem_.empty()) return {};
  uses_ = uses_of_nodes(report.jobs);
  jobs_ = std::move(report.jobs);
  told_at_ = clock_.now();
  as_of_ = clock_.wall();
  return {};
}

bool SlurmDesk::is_known() const { return told_at_ && clock_.now() < *told_at_ + options_.memory; }

SlurmDesk::View SlurmDesk::view() const {
  const std::lock_guard lock(mutex_);
  View view{.told_by = options_.told_by, .as_of = {}, .problem = problem_, .jobs = {}};
  if (!is_known()) return view;
  view.as_of = as_of_;
  view.jobs = jobs_;
  if (problem_.empty() && clock_.now() > *told_at_ + std::chrono::minutes(1)) {
    view.problem = fmt::format("the agent of '{}' says nothing more", options_.told_by);
  }
  return view;
}

std::string SlurmDesk::use_of(std::string_view node) const {
  if (options_.told_by.empty()) return {};
  const std::lock_guard lock(mutex_);
  if (!told_at_ && clock_.now() < started_ + options_.first_word) {
    return fmt::format("is perhaps used by Slurm: '{}' has not told yet", options_.told_by);
  }
  if (!is_known()) return {};
  const auto found = uses_.find(node);
  return found == uses_.end() ? std::string() : found->second;
}

}  // namespace assay
