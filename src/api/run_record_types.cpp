// Runs and studies are kept as JSON for years, which src/model writes and reads with care for what older programs
// wrote. Here stands what that JSON is; run_types_test.cpp holds full and empty ones against it.

#include "api/error_types.h"
#include "api/run_types.h"

namespace assay {
namespace {

using Texts = std::vector<std::string>;
using TextMap = std::map<std::string, std::string>;

}  // namespace

template <>
const ApiEnum<RunState>& api_enum() {
  static const auto words =
      named_enum<RunState>("RunState", "How far a run is; it never goes back.",
                           {RunState::queued, RunState::starting, RunState::running, RunState::ended});
  return words;
}

template <>
const ApiEnum<Verdict>& api_enum() {
  static const auto words = named_enum<Verdict>(
      "Verdict", "What the figures of a run are worth; none until it has ended.",
      {Verdict::none, Verdict::valid, Verdict::flagged, Verdict::invalid, Verdict::failed, Verdict::interrupted});
  return words;
}

template <>
const ApiType<Flag>& api_type() {
  static const auto type = ApiType<Flag>("Flag", "Something found wrong or noteworthy about a result.")
                               .field("kind", &Flag::kind, "Stable name for scripts: left_processes, non_finite")
                               .added("about", &Flag::about, "A metric, a node, a setting; may be empty")
                               .added("message", &Flag::message, "One sentence for people");
  return type;
}

template <>
const ApiType<RunError>& api_type() {
  static const auto type = ApiType<RunError>("RunError", "How a workload failed.")
                               .field("kind", &RunError::kind, "Of the failure")
                               .field("message", &RunError::message, "What happened")
                               .field("hint", &RunError::hint, "What to do about it; may be empty");
  return type;
}

template <>
const ApiType<FurtherNode>& api_type() {
  static const auto type = ApiType<FurtherNode>("FurtherNode", "A node of a run over several, behind the first.")
                               .field("node", &FurtherNode::node, "Its name")
                               .field("gpus", &FurtherNode::gpus, "UUIDs of the GPUs that it gives to the run");
  return type;
}

template <>
const ApiType<Placement>& api_type() {
  static const auto type =
      ApiType<Placement>("Placement", "Where a run is to be done, or was.")
          .optional("node", &Placement::node, "The node of a cluster")
          .optional("gpus", &Placement::gpus, "UUIDs of its GPUs; without: all that it has")
          .optional("place", &Placement::place, "Where its job goes on whatever becomes of its owner: `ssh:gpu01`")
          .optional("further", &Placement::further, "Of a run over several nodes: those behind the first")
          .optional("part", &Placement::part, "In an agent's own store: which of these nodes it is");
  return type;
}

template <>
const ApiType<SeriesSummary>& api_type() {
  static const auto type =
      ApiType<SeriesSummary>("SeriesSummary", "One series of numbers of a run, summed up.")
          .field("name", &SeriesSummary::name, "loss, host.cpu_util, …")
          .optional("labels", &SeriesSummary::labels, "What tells it from others of the same name: rank, gpu")
          .added("unit", &SeriesSummary::unit, "s, B, 1/s, W, °C, or empty")
          .added("points", &SeriesSummary::points, "How many there are")
          .optional("non_finite", &SeriesSummary::non_finite, "NaN and infinity among them, left out of the figures")
          .added("first", &SeriesSummary::first, "The first value")
          .added("last", &SeriesSummary::last, "The last value")
          .added("min", &SeriesSummary::min, "The smallest value")
          .added("max", &SeriesSummary::max, "The largest value")
          .added("mean", &SeriesSummary::mean, "The mean of all");
  return type;
}

template <>
const ApiType<GpuInfo>& api_type() {
  static const auto type = ApiType<GpuInfo>("GpuInfo", "A GPU as found at the start of a run.")
                               .added("uuid", &GpuInfo::uuid, "What it is known by")
                               .added("name", &GpuInfo::name, "Its model")
                               .added("memory_bytes", &GpuInfo::memory_bytes, "Its memory");
  return type;
}

template <>
const ApiType<Provenance>& api_type() {
  static const auto type =
      ApiType<Provenance>("Provenance", "Where a result came from. What is not known is left out.")
          .row<std::string>("assay_version", "The version of assay", false)
          .row<std::string>("assay_commit", "The commit it was built from", false)
          .row<std::string>("hostname", "The machine", false)
          .row<std::string>("os", "Its operating system", false)
          .row<std::string>("kernel", "Its kernel", false)
          .row<std::string>("cpu_model", "Its processor", false)
          .row<std::int64_t>("cpu_cores", "Cores that the run might use", false)
          .row<std::int64_t>("machine_cores", "Cores that the machine has", false)
          .row<std::int64_t>("memory_bytes", "Memory of the machine", false)
          .row<std::string>("cpu_governor", "How its clocks are governed", false)
          .row<std::vector<GpuInfo>>("gpus", "Its GPUs", false)
          .row<std::string>("gpu_driver", "The version of their driver", false)
          .row<std::string>("python_version", "The version of Python", false)
          .row<std::string>("torch_version", "The version of PyTorch", false)
          .row<std::string>("engine_version", "The version of assay-engine", false)
          .row<std::string>("git_commit", "The commit of the folder it ran in", false)
          .row<bool>("git_dirty", "Whether that folder had changes", false)
          .row<Texts>("command", "What was started, without secrets", false)
          .row<std::string>("working_directory", "Where", false)
          .row<TextMap>("environment", "Variables of the environment that may be shown", false)
          .row<TextMap>("job", "Variables of Slurm, MPI and torchrun", false)
          .row<std::map<std::string, std::uint64_t>>("seeds", "Seeds of random numbers, by purpose", false)
          .by_hand([](const Provenance& provenance) { return to_json(provenance); }, provenance_from_json);
  return type;
}

template <>
const ApiType<Run>& api_type() {
  static const auto type =
      ApiType<Run>("Run", "One execution of one workload: everything but its events, points and output.")
          .row<std::int64_t>("schema", "The version of this form")
          .row<std::string>("id", "What it is known by")
          .row<std::string>("name", "What its user calls it")
          .row<std::string>("kind", "Of its specification: train, command, …")
          .row<Texts>("tags", "key=value or bare words")
          .row<RunState>("state", "How far it is")
          .row<Verdict>("verdict", "What its figures are worth")
          .row<std::string>("study", "The id of the study it belongs to", false)
          .row<std::string>("variant", "Which configuration of the study", false)
          .row<std::int64_t>("repeat", "Which repeat of that, from 0 on", false)
          .row<std::int64_t>("ranks", "How many processes compute together")
          .row<std::int64_t>("nodes", "On how many machines")
          .row<Placement>("placement", "Where it is to be done, or was", false)
          .row<std::vector<Flag>>("flags", "What was found wrong or noteworthy")
          .row<RunError>("error", "How it failed", false)
          .row<WallTime>("created", "When it was asked for", false)
          .row<WallTime>("started", "When its workload was started", false)
          .row<WallTime>("ended", "When it ended", false)
          .row<double>("duration_seconds", "How long its workload took, by the monotonic clock")
          .row<std::int64_t>("exit_code", "Of the workload, unless a signal ended it", false)
          .row<std::int64_t>("signal", "That ended the workload", false)
          .row<std::map<std::string, double>>("metrics", "Final values by name")
          .row<std::vector<SeriesSummary>>("series", "Its series, summed up")
          .row<json::object>("spec", "Its settings, with defaults filled in")
          .row<std::string>("spec_hash", "A hash of those")
          .row<Provenance>("provenance", "Where the result came from")
          .by_hand([](const Run& run) { return to_json(run); }, run_from_json)
          .open();
  return type;
}

template <>
const ApiType<PlannedRun>& api_type() {
  static const auto type =
      ApiType<PlannedRun>("PlannedRun", "One run that a study plans to do.")
          .row<std::string>("variant", "Which configuration: baseline, ranks=4")
          .row<std::int64_t>("repeat", "Which repeat of it, from 0 on")
          .row<std::int64_t>("configuration", "The place of its configuration in the specification, from 0 on")
          .row<std::int64_t>("ranks", "How many processes compute together")
          .row<std::int64_t>("nodes", "On how many machines")
          .row<std::string>("node", "Where it must run; without: anywhere", false)
          .row<std::string>("run", "The id of the run that does it, once there is one", false)
          .row<json::object>("spec", "Complete settings of this run")
          .by_hand([](const PlannedRun& planned) { return to_json(planned); }, planned_run_from_json);
  return type;
}

template <>
const ApiType<Study>& api_type() {
  static const auto type =
      ApiType<Study>("Study", "Several runs that answer one question.")
          .row<std::int64_t>("schema", "The version of this form")
          .row<std::string>("id", "What it is known by")
          .row<std::string>("name", "What its user calls it")
          .row<Texts>("tags", "key=value or bare words")
          .row<WallTime>("created", "When it was asked for")
          .row<std::string>("source", "The specification as it was written, or the list of imported files")
          .row<std::string>("spec_hash", "A hash of the settings, or of the imported files")
          .row<std::vector<PlannedRun>>("plan", "Its runs, in the order in which they are done")
          .row<std::vector<Flag>>("flags", "What was found about the runs together", false)
          .by_hand([](const Study& study) { return to_json(study); }, study_from_json)
          .open();
  return type;
}

}  // namespace assay
