#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace assay {

/// How many processes a job is and over how many nodes. With more than one process in all, each finds its place in
/// RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
struct JobRanks {
  std::int64_t nodes = 1;
  std::int64_t per_node = 1;
};

/// Stand at the beginning of arguments and of values of the environment for paths that only the place knows.
inline constexpr std::string_view kAssayOfPlace = "{assay}";  ///< this program
inline constexpr std::string_view kEngineOfPlace = "{assay-engine}";
inline constexpr std::string_view kScratchOfPlace = "{scratch}";  ///< where the contents of `Job::scratch` are

/// Everything it takes to start a program somewhere.
struct Job {
  /// Program and its arguments, passed on untouched but for the paths of the place.
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  ///< added to that of the place where it runs
  std::optional<std::filesystem::path> folder;     ///< to run in
  /// A folder that was made for it, with what it needs: belongs to whoever the job runs as.
  /// Another machine gets a copy of it, and what the job leaves in its `artifacts` is here again before it has ended.
  std::optional<std::filesystem::path> scratch = {};
  /// UUIDs of the GPUs that are its own: it sees these and no other. An empty list: it sees none. Absent: whatever the
  /// place shows it.
  std::optional<std::vector<std::string>> devices;
  /// Else its standard input is empty. Only where the job runs beside whoever asks; elsewhere `unsupported`.
  bool inherit_input = false;
  JobRanks ranks = {};
  /// How many GPUs it needs on each node, for places that hand them out by number. Absent: it uses those that it sees.
  std::optional<std::int64_t> gpus_per_node = {};
  /// Names of the nodes that it has to run on, as the place knows them, one for each of `ranks.nodes`. Empty: any.
  std::vector<std::string> nodes = {};
  /// Between the signals that end it when nobody is there to say: the one who asked died, or its first process has
  /// ended and left others.
  Nanos grace = std::chrono::seconds(5);
  /// After which whoever asks ends it. Places where it outlives that one end it by themselves a while later; 0: none.
  Nanos time_limit{};
  std::string name;  ///< for people, where a place lists its jobs
  /// Known before the start and unique to it (a run and the epoch of its lease), so that one that is asked for twice is
  /// not done twice: see `Launcher::start`. Empty: nobody will ask.
  std::string token;
  /// How often its place is to measure its machines while it runs there, for the stream `readings`; 0: not at all. This
  /// machine is measured by whoever asks.
  Nanos reading_period{};
};

/// The job's environment, with what shows it its devices and no other (CUDA_VISIBLE_DEVICES; this wins over what
/// `environment` says about it). For launchers.
std::map<std::string, std::string> environment_with_devices(const Job& job);

/// What the place-holders stand for. An empty one is left as it is written.
struct PlacePaths {
  std::string assay, engine, scratch;
};
Job with_paths_of_place(Job job, const PlacePaths& paths);

/// Whether it cannot be started where there is no assay-engine: its program is `kEngineOfPlace`.
bool needs_engine(const Job& job);

}  // namespace assay
