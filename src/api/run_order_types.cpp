#include "api/run_types.h"

namespace assay {

template <>
const ApiType<StudyRow>& api_type() {
  static const auto type =
      ApiType<StudyRow>("StudyRow", "What a list shows of a study.")
          .field("id", &StudyRow::id, "What it is known by")
          .field("name", &StudyRow::name, "What its user calls it; may be empty")
          .field("tags", &StudyRow::tags, "key=value or bare words")
          .field<AsNanos>("created_ns", &StudyRow::created, "When it was asked for")
          .field("spec_hash", &StudyRow::spec_hash, "A hash of the settings, or of the imported files")
          .field("configurations", &StudyRow::configurations, "How many different ones its plan has")
          .field("planned", &StudyRow::planned, "How many runs its plan has")
          .field("begun", &StudyRow::begun, "How many of them were begun");
  return type;
}

template <>
const ApiType<StudyPage>& api_type() {
  static const auto type = ApiType<StudyPage>("StudyPage", "Some of the studies that are kept.")
                               .field("studies", &StudyPage::rows, "Newest first")
                               .field("next", &StudyPage::next, "For `after`: there are more; empty: that is all");
  return type;
}

template <>
const ApiType<RunOrder>& api_type() {
  static const auto type =
      ApiType<RunOrder>("RunOrder", "What a cluster is to do.")
          .field("spec", &RunOrder::spec, "The specification, as YAML text")
          .optional("file", &RunOrder::file, "Its name, for messages about mistakes")
          .optional("name", &RunOrder::name, "Of the run or study")
          .optional("tags", &RunOrder::tags, "Further tags")
          .optional("set", &RunOrder::set, "Changed settings: batch_size=64")
          .optional("node", &RunOrder::node, "Where, unless the specification says; without: wherever it fits")
          .optional("gpus", &RunOrder::gpus, "UUIDs of the GPUs to use; without: as many as it needs")
          .optional("each_node", &RunOrder::each_node, "One run on each node that takes runs")
          .optional("priority", &RunOrder::priority, "A step counts as an hour of waiting; above 0 for administrators")
          .optional("within", &RunOrder::within, "It is to have ended so soon: 6h; for administrators")
          .optional("hold", &RunOrder::hold, "It waits until somebody releases it")
          .optional("retries", &RunOrder::retries, "Further attempts where a node is lost")
          .optional("after", &RunOrder::after, "Ids of runs that must have succeeded first")
          .optional("key", &RunOrder::key, "Whoever asks again with the same key is given the same run");
  return type;
}

template <>
const ApiType<OrderedRun>& api_type() {
  static const auto type = ApiType<OrderedRun>("OrderedRun", "What came of an order.")
                               .field("run", &OrderedRun::run, "The id of the run; of a study, of its first")
                               .optional("study", &OrderedRun::study, "The id of the study, where it is one");
  return type;
}

template <>
const ApiType<StudyResumption>& api_type() {
  static const auto type =
      ApiType<StudyResumption>("StudyResumption", "How to go on with a study.")
          .optional("node", &StudyResumption::node, "Where, for what names no node")
          .optional("gpus", &StudyResumption::gpus, "UUIDs of the GPUs to use; without: as many as each run needs");
  return type;
}

template <>
const ApiType<ResumedStudy>& api_type() {
  static const auto type = ApiType<ResumedStudy>("ResumedStudy", "What is left of a study.")
                               .field("study", &ResumedStudy::study, "The id of the study")
                               .field("todo", &ResumedStudy::todo, "Places in its plan, from 0, that will be done");
  return type;
}

template <>
const ApiType<StudyJobs>& api_type() {
  static const auto type = ApiType<StudyJobs>("StudyJobs", "What a cluster still does of a study.")
                               .field("runs", &StudyJobs::runs, "The ids of its runs that wait or go on");
  return type;
}

template <>
const ApiType<NamedRun>& api_type() {
  static const auto type =
      ApiType<NamedRun>("NamedRun", "Which run it is about.").field("run", &NamedRun::run, "The id of the run");
  return type;
}

template <>
const ApiType<NamedStudy>& api_type() {
  static const auto type = ApiType<NamedStudy>("NamedStudy", "Which study it is about.")
                               .field("study", &NamedStudy::study, "The id of the study");
  return type;
}

template <>
const ApiType<NamedArtifact>& api_type() {
  static const auto type = ApiType<NamedArtifact>("NamedArtifact", "Which artifact it is about.")
                               .field("name", &NamedArtifact::name, "What it is called");
  return type;
}

template <>
const ApiType<Removed>& api_type() {
  static const auto type =
      ApiType<Removed>("Removed", "What is gone now.").field("removed", &Removed::removed, "Its id");
  return type;
}

}  // namespace assay
