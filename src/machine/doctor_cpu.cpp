#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "machine/cgroup.h"
#include "machine/doctor_checks.h"
#include "machine/facts.h"

namespace assay {
namespace {

using Level = DoctorFinding::Level;

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

int online_cores(const MachineView& view) {
  return count_of_list(view.line("/sys/devices/system/cpu/online")).value_or(0);
}

}  // namespace

DoctorFinding check_cpu_governor(const MachineView& view) {
  const auto found = governors(view);
  auto finding = ok("CPU governor", "cpu_governor", "no frequency control visible");
  if (found.empty()) return finding;
  std::map<std::string, std::size_t> count;
  for (const auto& governor : found) ++count[governor];
  std::vector<std::string> parts;
  parts.reserve(count.size());
  for (const auto& [governor, cores] : count) {
    parts.push_back(fmt::format("{} on {} of {} cores", governor, cores, found.size()));
  }
  finding.found = join(parts, ", ");
  if (count.size() == 1 && count.contains("performance")) return finding;
  return raised(finding, Level::warning,
                "Clocks will vary with the load. Run 'cpupower frequency-set -g performance' as root.");
}

DoctorFinding check_cpu_cores(const MachineView& view) {
  const int usable = usable_cores(view);
  const int online = std::max(online_cores(view), usable);
  const auto limit = cgroup_cpu_limit(view);
  if (limit && *limit < usable) {
    return raised(ok("CPU cores", "cpu_cores", fmt::format("{} cores, but CPU time for {:.3g} only", usable, *limit)),
                  Level::warning,
                  "A cgroup throttles this process, which shows as pauses in the middle of a run. Ask the container "
                  "or batch system for whole cores without a CPU quota.");
  }
  if (usable < online) {
    return raised(ok("CPU cores", "cpu_cores", fmt::format("{} of {} cores may be used", usable, online)), Level::note,
                  "Slurm, a container or taskset has set the affinity; ask there for more if that is not intended.");
  }
  return ok("CPU cores", "cpu_cores", fmt::format("all {} cores may be used", usable));
}

DoctorFinding check_load(const MachineView& view) {
  const std::string text = view.line("/proc/loadavg");
  auto finding = ok("Load", "load", "not known");
  if (text.empty()) return finding;
  const double load = std::strtod(text.c_str(), nullptr);
  const int cores = std::max({online_cores(view), usable_cores(view), 1});
  finding.found = fmt::format("{:.2f} in the last minute on {} cores", load, cores);
  // A quarter of the cores at work is enough to move the clocks of the others; a shell and a daemon are not.
  if (load <= std::max(1.0, cores * 0.25)) return finding;
  return raised(finding, Level::warning,
                "Other work slows a benchmark down. See 'top' for what runs, and wait or stop it.");
}

DoctorFinding check_smt(const MachineView& view) {
  const std::string active = view.line("/sys/devices/system/cpu/smt/active");
  if (active != "1") return ok("Simultaneous multithreading", "smt", active == "0" ? "off" : "not visible");
  return raised(ok("Simultaneous multithreading", "smt", "on: two logical cores share one"), Level::note,
                "CPU results depend on which logical cores a run gets; pin ranks to whole cores.");
}

DoctorFinding check_memory(const MachineView& view) {
  const auto memory = memory_from(view.text("/proc/meminfo"));
  auto finding = ok("Memory", "memory", "not known");
  if (!memory.total || !memory.available) return finding;
  std::int64_t available = *memory.available;
  std::int64_t total = *memory.total;
  std::string limited;
  if (const auto cgroup = cgroup_memory(view); cgroup && cgroup->limit_bytes < total) {
    total = cgroup->limit_bytes;
    available = std::min(available, std::max<std::int64_t>(0, cgroup->limit_bytes - cgroup->used_bytes));
    limited = ", the limit of its cgroup";
  }
  finding.found = fmt::format("{} of {} available{}", format_bytes({available}), format_bytes({total}), limited);
  const std::string remedy = "Stop what holds memory ('ps aux --sort=-rss'), or ask the batch system for more.";
  if (available < kGibibyte / 4) return raised(finding, Level::problem, remedy);
  if (available < kGibibyte || available < total / 10) return raised(finding, Level::warning, remedy);
  return finding;
}

DoctorFinding check_swap(const MachineView& view) {
  const auto memory = memory_from(view.text("/proc/meminfo"));
  const std::int64_t used = memory.swap_total.value_or(0) - memory.swap_free.value_or(0);
  if (memory.swap_total.value_or(0) == 0) return ok("Swap", "swap", "none");
  auto finding = ok("Swap", "swap", fmt::format("{} in use", format_bytes({used})));
  // Pages that a start-up script left there long ago cost nothing.
  constexpr std::int64_t kHarmless = std::int64_t{64} << 20;
  if (used <= kHarmless) return finding;
  return raised(finding, Level::warning,
                "A workload whose memory is swapped in and out is measured at the disk's speed. Free memory, then run "
                "'swapoff -a && swapon -a' as root.");
}

}  // namespace assay
