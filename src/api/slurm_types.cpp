#include "api/slurm_types.h"

namespace assay {

template <>
const ApiType<SlurmQueueEntry>& api_type() {
  static const auto type =
      ApiType<SlurmQueueEntry>("SlurmJob", "A job of a Slurm cluster that waits or runs, whoever's it is.")
          .field("id", &SlurmQueueEntry::id, "12; of arrays 13_2, and 13_[4-9] for those that wait")
          .field("user", &SlurmQueueEntry::user, "Whose it is; empty: Slurm keeps that to itself")
          .field("name", &SlurmQueueEntry::name, "What it is called; empty: Slurm keeps that to itself")
          .field("state", &SlurmQueueEntry::state, "As Slurm says it: RUNNING, PENDING, COMPLETING, …")
          .field("partition", &SlurmQueueEntry::partition, "Several, with commas, of one that waits")
          .field("nodes", &SlurmQueueEntry::nodes,
                 "Those that it has, as Slurm writes them: node[1-2]; empty: none yet")
          .field("node_count", &SlurmQueueEntry::node_count, "How many it has, or asks for")
          .optional("gpus", &SlurmQueueEntry::gpus, "In all; absent: Slurm does not say")
          .optional("since", &SlurmQueueEntry::since, "When it began, or was asked for if it waits")
          .optional("reason", &SlurmQueueEntry::reason, "Why it waits, in Slurm's words")
          .optional("of_assay", &SlurmQueueEntry::of_assay, "Whether it says that it is the job of a run of assay");
  return type;
}

template <>
const ApiType<ListedSlurmJob>& api_type() {
  static const auto type = ApiType<ListedSlurmJob>("ListedSlurmJob", "A job of Slurm and where it is.")
                               .all_of(&ListedSlurmJob::job)
                               .field("on", &ListedSlurmJob::on, "Those of its nodes that this leader knows");
  return type;
}

template <>
const ApiType<SlurmJobList>& api_type() {
  static const auto type =
      ApiType<SlurmJobList>("SlurmJobList",
                            "What Slurm does and has to do on machines that it shares with this leader.")
          .field("told_by", &SlurmJobList::told_by, "The node whose agent tells of it; empty: none does")
          .optional("as_of", &SlurmJobList::as_of, "When Slurm said so; absent: it was not heard of yet")
          .optional("problem", &SlurmJobList::problem, "Why nothing newer is known")
          .field("keeps_private", &SlurmJobList::keeps_private,
                 "Whether users and names are left out, since Slurm shows jobs to their owners alone")
          .field("left_out", &SlurmJobList::left_out, "Further jobs that wait and are not listed")
          .field("jobs", &SlurmJobList::jobs, "Those that have nodes, then those that wait");
  return type;
}

}  // namespace assay
