#pragma once

#include <map>
#include <string>
#include <vector>

namespace assay::engine {

/// Where the hardware threads ("CPUs" to Linux) of a node are.
struct CoreTopology {
  struct Place {
    int numa_node = 0;
    int package = 0;
    int core = 0;  ///< within the package; hyper-threads of one core have the same
    auto operator<=>(const Place&) const = default;
  };
  std::map<int, Place> cpus;  ///< by Linux's number; what is not listed counts as a core of its own
};

/// Reads <root>/devices/system/cpu; what cannot be read is left out.
CoreTopology read_core_topology(const std::string& root = "/sys");

/// What one rank of a node may use.
struct CoreShare {
  std::vector<int> cores;       ///< Linux's numbers, ascending
  bool oversubscribed = false;  ///< fewer CPUs than ranks: the result is no measure of anything
  bool shares_a_core = false;   ///< another rank runs on a hyper-thread of the same core
};

/// An even share of the `allowed` CPUs for rank `local_rank` of `local_size`: neighbours by NUMA node, package and
/// core. Whole cores where there are enough of them, else single hyper-threads, else one CPU for several ranks.
/// Needs at least one allowed CPU and 0 ≤ local_rank < local_size.
CoreShare cores_for(const std::vector<int>& allowed, const CoreTopology& topology, int local_rank, int local_size);

/// The CPUs that this process may run on, ascending.
std::vector<int> allowed_cores();

/// Binds every thread of this process, and those to come. Libraries that have already counted the CPUs (OpenMP)
/// must be told separately. Throws std::system_error.
void pin_to(const std::vector<int>& cores);

}  // namespace assay::engine
