#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "model/node_record.h"
#include "model/node_state.h"
#include "model/study.h"
#include "scheduler/job_request.h"
#include "scheduler/node_offer.h"

// What a specification is to the scheduler. Pure functions.

namespace assay {

class DurationHistory;
struct JobRecord;

/// The GPUs of the nodes that take runs, as far as they decide what runs need.
struct ClusterGpus {
  struct OfNode {
    std::vector<GpuOffer> gpus;
    bool joins = false;  ///< its agent does parts of runs over several nodes
    bool operator==(const OfNode&) const = default;
  };
  std::map<std::string, OfNode> nodes;

  /// The one that all GPUs have which are called as is wished; empty: they differ.
  std::string common_model(std::string_view wish) const;
  bool operator==(const ClusterGpus&) const = default;
};

/// Nodes that a run over several is pinned to by its specification; empty: any, or it is for one node.
std::vector<std::string> pinned_nodes(const PlannedRun& planned);
/// Runs of a study with the same one go one after the other: the node that it is for, or the first of several; empty:
/// any.
std::string lane_of(const PlannedRun& planned);
/// How many processes the place starts on each of its nodes.
int processes_per_node(const PlannedRun& planned);

/// What a node offers; nothing where its agent takes no runs. `used_by`: why somebody else's work keeps ours from it.
std::optional<NodeOffer> offer_of(const NodeRecord& record, NodeState state, const std::string& used_by = {});

/// A run uses as many GPUs as it has ranks, or, where it uses none or there are none, the CPUs of a node. A command
/// gets all GPUs of its node, since nobody knows what it uses. A run over several nodes needs the same of each.
JobNeeds needs_of(const JobRecord& job, const PlannedRun& planned, const ClusterGpus& gpus);
/// Nodes that it was given or will be, with those first that its needs name first: there are the first ranks.
void put_in_order(std::vector<std::string>& nodes, const JobNeeds& needs);
/// For people: "2 GPUs", "the CPUs of gpu03".
std::string needs_in_words(const JobNeeds& needs);

/// By what lengths of runs are remembered, from the narrowest to the widest: the same settings on the same GPU, the
/// same settings, the same model (or name, where there is none) on the same GPU, the same kind. `gpu`: its model;
/// empty: not known.
std::vector<std::string> length_keys(const json::object& spec, const std::string& name, const std::string& gpu);
/// The GPU of a job for `length_keys`; "cpu" where it uses none.
std::string gpu_for_length(const JobNeeds& needs, const ClusterGpus& gpus);
/// On which models of GPUs it takes longer than on another that it may be given, by what runs with the same settings
/// took there (`JobNeeds::slower`); empty: nothing is known, or there is no choice.
std::vector<std::pair<std::string, int>> slower_models(const JobNeeds& needs, const json::object& spec,
                                                       const DurationHistory& lengths, const ClusterGpus& gpus);
/// What its runs read that a node may have at hand: the path of a local data set; empty: nothing of the kind.
std::string data_of(const json::object& spec);
/// What the specification itself says of its length.
std::optional<Nanos> specified_length(const json::object& spec);
std::optional<Nanos> time_limit_of(const json::object& spec);

}  // namespace assay
