#include "api/queue_types.h"

#include "api/run_types.h"

namespace assay {

template <>
const ApiType<ExpectedLength>& api_type() {
  static const auto type =
      ApiType<ExpectedLength>("ExpectedLength", "How long a run will probably take.")
          .field("seconds", &ExpectedLength::seconds, "From its start to its end")
          .field("factor", &ExpectedLength::factor, "Two of three runs take between 1/factor and factor times that")
          .field("from_runs", &ExpectedLength::from_runs, "Runs like it that this rests on; 0: a guess");
  return type;
}

template <>
const ApiType<QueuedRun>& api_type() {
  static const auto type =
      ApiType<QueuedRun>("QueuedRun", "A run that the cluster was asked for and that has not ended.")
          .field("run", &QueuedRun::run, "Its id")
          .field("name", &QueuedRun::name, "What it is called")
          .field("kind", &QueuedRun::kind, "train, command, …")
          .optional("study", &QueuedRun::study, "The study it is part of")
          .optional("variant", &QueuedRun::variant, "Which configuration of the study")
          .field("by", &QueuedRun::by, "Who asked for it")
          .field("owner", &QueuedRun::owner, "Whose it is: `user ada`, `token ci`; empty: not known")
          .field("state", &QueuedRun::state, "queued until its node has taken it")
          .field("stopping", &QueuedRun::stopping, "Whether somebody has ended it")
          .field("held", &QueuedRun::held, "Whether it waits until somebody releases it")
          .field("priority", &QueuedRun::priority, "A step counts as an hour of waiting; 0 is usual")
          .field("needs", &QueuedRun::needs, "For people: 2 GPUs; the CPUs of a node")
          .field("node", &QueuedRun::node, "Where it is or must be done; empty: not decided yet")
          .optional("further", &QueuedRun::further, "The other nodes of a run over several")
          .field("gpus", &QueuedRun::gpus, "UUIDs of the GPUs it has been given, on all of its nodes")
          .field("after", &QueuedRun::after, "Runs that must have succeeded first")
          .field("attempt", &QueuedRun::attempt, "Which one this is, from 1")
          .field("attempts", &QueuedRun::attempts, "How many there may be in all")
          .field("created", &QueuedRun::created, "When it was asked for")
          .optional("started", &QueuedRun::started, "When its node began")
          .optional("deadline", &QueuedRun::deadline, "When it is to have ended; its turn comes as early as that takes")
          .field("length", &QueuedRun::length, "How long it will probably take")
          .optional("expected_end", &QueuedRun::expected_end, "Of one that has begun: when it will probably end")
          .optional("reason", &QueuedRun::reason,
                    "Of one that waits: held, dependency, never, retry_delay, quota, no_such_node, set_aside, "
                    "maintenance, gpus_busy")
          .optional("why", &QueuedRun::why, "The same for people; of one that has begun: that its node is lost")
          .optional("ahead", &QueuedRun::ahead, "Runs that come before it for the same nodes")
          .optional("expected_node", &QueuedRun::expected_node, "Where it will probably be done")
          .optional("expected_further", &QueuedRun::expected_further,
                    "The same for the other nodes of a run over several")
          .optional("expected_start", &QueuedRun::expected_start, "When it will probably start")
          .optional("late_start", &QueuedRun::late_start, "When, if the runs before it take as long as they well may");
  return type;
}

template <>
const ApiType<QueueList>& api_type() {
  static const auto type =
      ApiType<QueueList>("QueueList", "What the cluster has to do.")
          .field("runs", &QueueList::runs, "Those that go on first, then those that wait in the order of their starts")
          .added("total", &QueueList::total, "How many there are on all pages together")
          .added("next", &QueueList::next, "For `after`: there are more; empty: that is all");
  return type;
}

template <>
const ApiType<NewPriority>& api_type() {
  static const auto type =
      ApiType<NewPriority>("NewPriority", "How urgent a run is.")
          .field("priority", &NewPriority::priority, "A step counts as an hour of waiting; above 0 for administrators");
  return type;
}

template <>
const ApiType<PreviewedRun>& api_type() {
  static const auto type =
      ApiType<PreviewedRun>("PreviewedRun", "What would become of a run if it were asked for.")
          .field("variant", &PreviewedRun::variant, "Which configuration of the study")
          .field("repeat", &PreviewedRun::repeat, "Which repeat, from 0")
          .field("needs", &PreviewedRun::needs, "For people: 2 GPUs; the CPUs of a node")
          .field("gpus", &PreviewedRun::gpus, "GPUs that it would have, on all of its nodes")
          .field("nodes", &PreviewedRun::nodes, "Nodes that it would have")
          .field("node", &PreviewedRun::node, "Where it would probably be done; empty: nowhere now")
          .optional("further", &PreviewedRun::further, "The other nodes of a run over several")
          .field("length", &PreviewedRun::length, "How long it would probably take")
          .optional("why", &PreviewedRun::why, "Why it could not be done now")
          .optional("expected_start", &PreviewedRun::expected_start, "When it would probably start")
          .optional("late_start", &PreviewedRun::late_start,
                    "When, if the runs before it take as long as they well may");
  return type;
}

template <>
const ApiType<PricedRun>& api_type() {
  static const auto type = ApiType<PricedRun>("PricedRun", "What would become of a run, and what it would cost.")
                               .all_of(&PricedRun::run)
                               .optional("cost", &PricedRun::cost, "By the price of its specification");
  return type;
}

template <>
const ApiType<OrderPreview>& api_type() {
  static const auto type =
      ApiType<OrderPreview>("OrderPreview", "What would come of an order. Nothing was asked for.")
          .field("name", &OrderPreview::name, "Of the run or study")
          .field("runs", &OrderPreview::runs, "In the order in which they would be done")
          .optional("expected_end", &OrderPreview::expected_end, "When all of it would probably be done")
          .optional("cost", &OrderPreview::cost, "Of all of it, by the price of the specification")
          .optional("currency", &OrderPreview::currency, "Of the costs");
  return type;
}

}  // namespace assay
