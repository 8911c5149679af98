#include <algorithm>
#include <iterator>

#include "api/slurm_types.h"
#include "http/api_routes.h"
#include "http/api_table.h"
#include "leader/leader.h"
#include "leader/node_registry.h"
#include "leader/slurm_desk.h"

namespace assay {
namespace {

/// Nodes of all jobs, one after the other, that are looked for among the leader's.
constexpr std::size_t kMostNames = 100'000;

SlurmJobList list_slurm_jobs(Leader& leader, std::string_view of_node) {
  auto view = leader.slurm().view();
  SlurmJobList list{.told_by = std::move(view.told_by),
                    .as_of = view.as_of,
                    .problem = std::move(view.problem),
                    .keeps_private = view.jobs.keeps_private,
                    .left_out = view.jobs.left_out,
                    .jobs = {}};
  std::size_t room = kMostNames;
  for (auto& job : view.jobs.jobs) {
    ListedSlurmJob listed{.job = std::move(job), .on = {}};
    const auto names = names_in_node_list(listed.job.nodes, room);
    room -= names.size();
    std::copy_if(names.begin(), names.end(), std::back_inserter(listed.on),
                 [&](const std::string& name) { return leader.nodes().find(name) != nullptr; });
    const bool wanted = of_node.empty() || std::find(names.begin(), names.end(), of_node) != names.end();
    if (wanted) list.jobs.push_back(std::move(listed));
  }
  return list;
}

}  // namespace

void add_slurm_endpoints(ApiTable& table, Leader& leader) {
  table.add({.path = "/api/v1/slurm/jobs",
             .summary = "Jobs of the Slurm cluster that gives out the same machines, whoever's they are: those that "
                        "have nodes, then those that wait. What Slurm keeps private stays out",
             .parameters = {{.name = "node", .description = "On this node only, by the name that Slurm gives it"}},
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<SlurmJobList> {
               return list_slurm_jobs(leader, request.query_value("node").value_or(""));
             })});
}

}  // namespace assay
