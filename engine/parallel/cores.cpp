#include "parallel/cores.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <tuple>

namespace assay::engine {
namespace {

/// More than any machine has; Linux wants a set at least as large as its own.
constexpr int kMostCpus = 1 << 14;

struct FreeCpuSet {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};
using CpuSet = std::unique_ptr<cpu_set_t, FreeCpuSet>;

std::size_t cpu_set_bytes() { return CPU_ALLOC_SIZE(kMostCpus); }

CpuSet empty_cpu_set() {
  CpuSet set(CPU_ALLOC(kMostCpus));
  if (!set) throw std::bad_alloc();
  CPU_ZERO_S(cpu_set_bytes(), set.get());
  return set;
}

/// The number at the end of `cpu12`; nothing for `cpufreq`.
std::optional<int> number_after(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  int number = 0;
  const char* begin = name.data() + prefix.size();
  const char* end = name.data() + name.size();
  const auto [stop, code] = std::from_chars(begin, end, number);
  if (code != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<int> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  int number = 0;
  if (!(stream >> number)) return std::nullopt;
  return number;
}

int numa_node_of(const std::filesystem::path& cpu) {
  std::error_code code;
  for (std::filesystem::directory_iterator entry(cpu, code), end; !code && entry != end; entry.increment(code)) {
    if (const auto node = number_after(entry->path().filename().string(), "node")) return *node;
  }
  return 0;
}

/// The allowed CPUs grouped by core, in the order of the hardware.
std::vector<std::vector<int>> grouped_by_core(const std::vector<int>& allowed, const CoreTopology& topology) {
  // A CPU that the topology does not know is a core of its own, after the known ones.
  std::map<std::tuple<bool, CoreTopology::Place, int>, std::vector<int>> groups;
  for (const int cpu : allowed) {
    const auto known = topology.cpus.find(cpu);
    const auto key = known == topology.cpus.end() ? std::tuple(true, CoreTopology::Place{}, cpu)
                                                  : std::tuple(false, known->second, 0);
    groups[key].push_back(cpu);
  }
  std::vector<std::vector<int>> cores;
  for (auto& [key, cpus] : groups) {
    std::sort(cpus.begin(), cpus.end());
    cores.push_back(std::move(cpus));
  }
  return cores;
}

}  // namespace

CoreTopology read_core_topology(const std::string& root) {
  CoreTopology topology;
  std::error_code code;
  const std::filesystem::path folder = std::filesystem::path(root) / "devices/system/cpu";
  for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const auto cpu = number_after(entry->path().filename().string(), "cpu");
    if (!cpu) continue;
    const auto package = number_in(entry->path() / "topology/physical_package_id");
    const auto core = number_in(entry->path() / "topology/core_id");
    if (!package || !core) continue;
    topology.cpus[*cpu] = {.numa_node = numa_node_of(entry->path()), .package = *package, .core = *core};
  }
  return topology;
}

CoreShare cores_for(const std::vector<int>& allowed, const CoreTopology& topology, int local_rank, int local_size) {
  if (allowed.empty() || local_rank < 0 || local_rank >= local_size) {
    throw std::invalid_argument("cores_for: no CPU, or no such rank");
  }
  std::vector<std::vector<int>> units = grouped_by_core(allowed, topology);
  const auto ranks = static_cast<std::size_t>(local_size);
  const auto rank = static_cast<std::size_t>(local_rank);
  CoreShare share;
  if (units.size() < ranks) {
    share.shares_a_core = true;
    std::vector<std::vector<int>> threads;
    for (const auto& core : units) {
      for (const int cpu : core) threads.push_back({cpu});
    }
    units = std::move(threads);
  }
  if (units.size() < ranks) {
    share.oversubscribed = true;
    share.cores = units[rank % units.size()];
    return share;
  }
  const std::size_t begin = units.size() * rank / ranks;
  const std::size_t end = units.size() * (rank + 1) / ranks;
  for (std::size_t i = begin; i < end; ++i) {
    share.cores.insert(share.cores.end(), units[i].begin(), units[i].end());
  }
  std::sort(share.cores.begin(), share.cores.end());
  return share;
}

std::vector<int> allowed_cores() {
  const CpuSet set = empty_cpu_set();
  if (::sched_getaffinity(0, cpu_set_bytes(), set.get()) != 0) {
    throw std::system_error(errno, std::generic_category(), "asking for the allowed CPUs");
  }
  std::vector<int> cores;
  for (int cpu = 0; cpu < kMostCpus; ++cpu) {
    if (CPU_ISSET_S(cpu, cpu_set_bytes(), set.get())) cores.push_back(cpu);
  }
  return cores;
}

void pin_to(const std::vector<int>& cores) {
  const CpuSet set = empty_cpu_set();
  for (const int cpu : cores) {
    if (cpu < 0 || cpu >= kMostCpus) throw std::system_error(EINVAL, std::generic_category(), "binding to CPUs");
    CPU_SET_S(cpu, cpu_set_bytes(), set.get());
  }
  if (::sched_setaffinity(0, cpu_set_bytes(), set.get()) != 0) {
    throw std::system_error(errno, std::generic_category(), "binding to CPUs");
  }
  // BLAS libraries start their threads when they are loaded, before anybody could bind them. One that ends meanwhile
  // is no loss, hence no check.
  std::error_code code;
  for (std::filesystem::directory_iterator task("/proc/self/task", code), end; !code && task != end;
       task.increment(code)) {
    if (const auto thread = number_after(task->path().filename().string(), "")) {
      ::sched_setaffinity(*thread, cpu_set_bytes(), set.get());
    }
  }
}

}  // namespace assay::engine
