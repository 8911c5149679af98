#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/api_type.h"
#include "model/run.h"
#include "model/study.h"
#include "store/journal_state.h"
#include "store/lease.h"
#include "store/run_answers.h"
#include "store/run_curves.h"
#include "store/run_query.h"
#include "store/study_list.h"

namespace assay {

// What the API says of runs and studies, and what it is asked about them. Times that programs compare are nanoseconds
// since the Unix epoch.

/// Whose a run is; nobody's, perhaps.
struct LeaseState {
  std::optional<Lease> lease;
};
struct LeaseRenewal {
  Lease lease;
  Nanos length{};
};
struct LeaseRelease {
  Lease lease;
  bool close = false;
};
/// A further process of the same job.
struct JoiningRank {
  std::string name;
};

/// A run that its caller records, and the lease that it wants; without, the run waits.
struct NewRun {
  Run run;
  std::optional<LeaseTerms> terms;
};
struct KeptRun {
  Run run;
  std::optional<Lease> lease;
};
/// A run as it should be, if it still is as its caller read it.
struct RunRewrite {
  Run run;
  std::string before;
};
struct TagChange {
  std::vector<std::string> add;
  std::vector<std::string> remove;
};
struct RunTags {
  std::vector<std::string> tags;
};
struct OwnedRunRewrite {
  Lease lease;
  Run run;
  std::string before;
};

struct RunChanges {
  std::vector<RunChange> changes;
  std::uint64_t newest = 0;
};
struct RunCurves {
  std::vector<RunCurve> curves;
};
struct RunJournals {
  std::vector<JournalState> journals;
};
struct JournalSize {
  std::uint64_t size = 0;
};
struct RunArtifacts {
  std::vector<Artifact> artifacts;
};

/// What somebody wants a cluster to do.
struct RunOrder {
  std::string spec;
  std::string file = "spec.yaml";
  std::string name;
  std::vector<std::string> tags;
  std::vector<std::string> set;
  std::string node;
  std::optional<std::vector<std::string>> gpus;
  bool each_node = false;
  int priority = 0;
  std::string within;  ///< `6h`; empty: whenever it is done
  bool hold = false;
  int retries = 0;
  std::vector<std::string> after;
  std::string key;
};
struct OrderedRun {
  std::string run;
  std::string study;
};
/// How a study is gone on with.
struct StudyResumption {
  std::string node;
  std::optional<std::vector<std::string>> gpus;
};
struct ResumedStudy {
  std::string study;
  std::vector<std::size_t> todo;
};
struct StudyJobs {
  std::vector<std::string> runs;
};

// Answers and bodies with no more than the name of something.
struct NamedRun {
  std::string run;
};
struct NamedStudy {
  std::string study;
};
struct NamedArtifact {
  std::string name;
};
struct Removed {
  std::string removed;
};

template <>
const ApiEnum<RunState>& api_enum();
template <>
const ApiEnum<Verdict>& api_enum();
template <>
const ApiEnum<JournalOwner>& api_enum();
template <>
const ApiEnum<Condition::Op>& api_enum();
template <>
const ApiEnum<CurveQuestion::Axis>& api_enum();

template <>
const ApiType<Run>& api_type();
template <>
const ApiType<Flag>& api_type();
template <>
const ApiType<RunError>& api_type();
template <>
const ApiType<Placement>& api_type();
template <>
const ApiType<SeriesSummary>& api_type();
template <>
const ApiType<GpuInfo>& api_type();
template <>
const ApiType<Provenance>& api_type();
template <>
const ApiType<PlannedRun>& api_type();
template <>
const ApiType<Study>& api_type();

template <>
const ApiType<Lease>& api_type();
template <>
const ApiType<LeaseTerms>& api_type();
template <>
const ApiType<LeaseState>& api_type();
template <>
const ApiType<LeaseRenewal>& api_type();
template <>
const ApiType<LeaseRelease>& api_type();
template <>
const ApiType<JoiningRank>& api_type();
template <>
const ApiType<NewRun>& api_type();
template <>
const ApiType<KeptRun>& api_type();
template <>
const ApiType<RunRewrite>& api_type();
template <>
const ApiType<TagChange>& api_type();
template <>
const ApiType<RunTags>& api_type();
template <>
const ApiType<OwnedRunRewrite>& api_type();

template <>
const ApiType<RunRow>& api_type();
template <>
const ApiType<RunPage>& api_type();
template <>
const ApiType<Condition>& api_type();
template <>
const ApiType<RunQuery>& api_type();
template <>
const ApiType<RunChange>& api_type();
template <>
const ApiType<RunChanges>& api_type();
template <>
const ApiType<CurveQuestion>& api_type();
template <>
const ApiType<RunCurve>& api_type();
template <>
const ApiType<RunCurves>& api_type();
template <>
const ApiType<JournalState>& api_type();
template <>
const ApiType<RunJournals>& api_type();
template <>
const ApiType<JournalSize>& api_type();
template <>
const ApiType<Artifact>& api_type();
template <>
const ApiType<RunArtifacts>& api_type();
template <>
const ApiType<StoreProblem>& api_type();
template <>
const ApiType<ReindexReport>& api_type();
template <>
const ApiType<StudyRow>& api_type();
template <>
const ApiType<StudyPage>& api_type();
template <>
const ApiType<RunOrder>& api_type();
template <>
const ApiType<OrderedRun>& api_type();
template <>
const ApiType<StudyResumption>& api_type();
template <>
const ApiType<ResumedStudy>& api_type();
template <>
const ApiType<StudyJobs>& api_type();
template <>
const ApiType<NamedRun>& api_type();
template <>
const ApiType<NamedStudy>& api_type();
template <>
const ApiType<NamedArtifact>& api_type();
template <>
const ApiType<Removed>& api_type();

}  // namespace assay
