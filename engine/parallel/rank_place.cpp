#include "parallel/rank_place.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "base/hash.h"
#include "formats/failure.h"

namespace assay::engine {
namespace {

constexpr std::string_view kHint = "Set RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.";

[[noreturn]] void refuse(const std::string& message, const std::string& hint = std::string(kHint)) {
  throw Failure("bad_spec", message, hint);
}

std::optional<int> number_from(std::string_view text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

/// Variables of one launcher, as numbers.
class Variables {
 public:
  explicit Variables(const Environment& lookup) : lookup_(lookup) {}

  std::string text(const char* name) const { return lookup_(name); }
  bool has(const char* name) const { return !lookup_(name).empty(); }
  std::optional<int> number(const char* name) const {
    const std::string value = lookup_(name);
    if (value.empty()) return std::nullopt;
    const auto number = number_from(value);
    if (!number) refuse(std::string(name) + " is '" + value + "', not a whole number");
    return number;
  }
  int required(const char* name, const char* because_of) const {
    const auto value = number(name);
    if (!value) refuse(std::string(because_of) + " is set, but " + name + " is not");
    return *value;
  }
  std::string first_of(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (auto value = lookup_(name); !value.empty()) return value;
    }
    return {};
  }

 private:
  const Environment& lookup_;
};

void check_rank(const RankPlace& place, const char* rank, const char* size) {
  if (place.size < 1) refuse(std::string(size) + " is 0");
  if (place.rank >= place.size) {
    refuse(std::string(rank) + " is " + std::to_string(place.rank) + ", but " + size + " is " +
           std::to_string(place.size));
  }
}

void check_local(const RankPlace& place, const char* rank, const char* size) {
  if (place.local_size < 1) refuse(std::string(size) + " is 0");
  if (place.local_rank >= place.local_size) {
    refuse(std::string(rank) + " is " + std::to_string(place.local_rank) + ", but " + size + " is " +
           std::to_string(place.local_size));
  }
  if (place.local_size > place.size) {
    refuse(std::string(size) + " is " + std::to_string(place.local_size) + ", more than all " +
           std::to_string(place.size) + " ranks");
  }
  if (place.local_rank > place.rank) {
    refuse("rank " + std::to_string(place.rank) + " cannot be number " + std::to_string(place.local_rank) +
           " of its node (" + rank + ")");
  }
}

void take_port(const Variables& variables, RankPlace& place) {
  if (const auto port = variables.number("MASTER_PORT")) place.master_port = *port;
  if (place.size > 1 && (place.master_port < 1 || place.master_port > 65535)) {
    refuse("MASTER_PORT is " + std::to_string(place.master_port) + ", not a port (1 to 65535)");
  }
}

RankPlace from_plain(const Variables& variables) {
  RankPlace place;
  place.origin = RankPlace::Origin::environment;
  place.rank = variables.required("RANK", "WORLD_SIZE");
  place.size = variables.required("WORLD_SIZE", "RANK");
  check_rank(place, "RANK", "WORLD_SIZE");
  if (variables.has("LOCAL_RANK") || variables.has("LOCAL_WORLD_SIZE")) {
    place.local_rank = variables.required("LOCAL_RANK", "LOCAL_WORLD_SIZE");
    place.local_size = variables.required("LOCAL_WORLD_SIZE", "LOCAL_RANK");
  }
  check_local(place, "LOCAL_RANK", "LOCAL_WORLD_SIZE");
  const bool one_node = place.local_size == place.size;
  if (auto address = variables.text("MASTER_ADDR"); !address.empty()) {
    place.master_address = std::move(address);
  } else if (!one_node) {
    refuse("WORLD_SIZE is " + std::to_string(place.size) + " over several nodes, but MASTER_ADDR is not set");
  }
  if (place.size > 1 && !variables.has("MASTER_PORT")) refuse("RANK is set, but MASTER_PORT is not");
  take_port(variables, place);
  place.token = place.master_address + ':' + std::to_string(place.master_port);
  return place;
}

RankPlace from_open_mpi(const Variables& variables) {
  RankPlace place;
  place.origin = RankPlace::Origin::open_mpi;
  place.rank = variables.required("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  place.size = variables.required("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK");
  place.local_rank = variables.required("OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK");
  place.local_size = variables.required("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK");
  check_rank(place, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  check_local(place, "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (auto address = variables.text("MASTER_ADDR"); !address.empty()) {
    place.master_address = std::move(address);
  } else if (place.local_size != place.size) {
    refuse("these Open MPI ranks are on several nodes, and MASTER_ADDR does not say where rank 0 is",
           "Add `-x MASTER_ADDR=HOST` with the first host to mpirun.");
  }
  const std::string job = "openmpi:" + variables.first_of({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMIX_ID"});
  place.master_port = derived_port(job);
  take_port(variables, place);
  place.token = job;
  return place;
}

/// A step that `srun` started. Batch scripts have SLURM_PROCID and SLURM_NTASKS as well, but nobody else runs beside
/// them: they have no step id, and the shell of an interactive job has one of the reserved ids at the end of 32 bits.
bool is_slurm_step(const Variables& variables) {
  const std::string step = variables.first_of({"SLURM_STEP_ID", "SLURM_STEPID"});
  return variables.has("SLURM_PROCID") && !step.empty() && !step.starts_with("42949672");
}

/// How many tasks Slurm put on node `index`, from `2(x3),1`.
std::optional<int> tasks_on_node(std::string_view list, int index) {
  int node = 0;
  while (!list.empty()) {
    std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
    std::optional<int> repeats = 1;
    if (const auto bracket = entry.find("(x"); bracket != std::string_view::npos) {
      if (entry.back() != ')') return std::nullopt;
      repeats = number_from(entry.substr(bracket + 2, entry.size() - bracket - 3));
      entry = entry.substr(0, bracket);
    }
    const auto tasks = number_from(entry);
    if (!tasks || !repeats) return std::nullopt;
    node += *repeats;
    if (index < node) return tasks;
  }
  return std::nullopt;
}

int slurm_local_size(const Variables& variables, int size) {
  const std::string list = variables.first_of({"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"});
  if (list.empty()) {
    if (variables.first_of({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}) == "1") return size;
    refuse("SLURM_PROCID is set, but SLURM_STEP_TASKS_PER_NODE is not");
  }
  const int node = variables.number("SLURM_NODEID").value_or(0);
  const auto tasks = tasks_on_node(list, node);
  if (!tasks) {
    refuse("node " + std::to_string(node) + " (SLURM_NODEID) has no tasks in '" + list + "' (tasks per node)");
  }
  return *tasks;
}

RankPlace from_slurm(const Variables& variables) {
  RankPlace place;
  place.origin = RankPlace::Origin::slurm;
  place.rank = variables.required("SLURM_PROCID", "SLURM_STEP_ID");
  const char* tasks = variables.has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
  place.size = variables.required(tasks, "SLURM_PROCID");
  check_rank(place, "SLURM_PROCID", tasks);
  place.local_rank = variables.required("SLURM_LOCALID", "SLURM_PROCID");
  place.local_size = slurm_local_size(variables, place.size);
  check_local(place, "SLURM_LOCALID", "the number of tasks on this node");
  if (auto address = variables.text("MASTER_ADDR"); !address.empty()) {
    place.master_address = std::move(address);
  } else if (place.local_size != place.size) {
    place.master_address =
        first_host(variables.first_of({"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}));
    if (place.master_address.empty()) place.master_address = variables.text("SLURM_LAUNCH_NODE_IPADDR");
    if (place.master_address.empty()) refuse("neither SLURM_STEP_NODELIST nor MASTER_ADDR says where rank 0 is");
  }
  const std::string job = "slurm:" + variables.first_of({"SLURM_JOB_ID", "SLURM_JOBID"}) + '.' +
                          variables.first_of({"SLURM_STEP_ID", "SLURM_STEPID"});
  place.master_port = derived_port(job);
  take_port(variables, place);
  place.token = job;
  return place;
}

}  // namespace

int derived_port(std::string_view job) {
  constexpr std::uint64_t kFirst = 20000;
  constexpr std::uint64_t kCount = 12000;
  return static_cast<int>(kFirst + stable_hash(job) % kCount);
}

std::string first_host(std::string_view list) {
  std::string host;
  while (!list.empty() && list.front() != ',') {
    if (list.front() != '[') {
      host += list.front();
      list.remove_prefix(1);
      continue;
    }
    const auto close = list.find(']');
    host += list.substr(1, list.find_first_of("-,]") - 1);
    list.remove_prefix(close == std::string_view::npos ? list.size() : close + 1);
  }
  return host;
}

RankPlace rank_place_from(const Environment& lookup) {
  const Variables variables(lookup);
  RankPlace place;
  if (variables.has("RANK") || variables.has("WORLD_SIZE")) {
    place = from_plain(variables);
  } else if (variables.has("OMPI_COMM_WORLD_RANK") || variables.has("OMPI_COMM_WORLD_SIZE")) {
    place = from_open_mpi(variables);
  } else if (is_slurm_step(variables)) {
    place = from_slurm(variables);
  }
  if (auto token = variables.text("ASSAY_RUN_TOKEN"); !token.empty()) place.token = std::move(token);
  return place;
}

}  // namespace assay::engine
