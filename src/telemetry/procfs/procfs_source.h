#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "telemetry/metric_source.h"

namespace assay {

struct ProcfsOptions {
  std::filesystem::path root = "/";  ///< where proc/ and sys/ are; tests put recordings there
  const Clock* clock = nullptr;      ///< the machine's if null; must outlive the source
};

/// The machine: CPU, memory, load, disks, network (`host.*`). Keeps its files open; a reading takes well under a
/// millisecond and never blocks. An error only if nothing at all could be read.
std::unique_ptr<MetricSource> make_procfs_source(const ProcfsOptions& options);

/// The same machine in detail (`host.*` with labels): each core, disk, network interface and InfiniBand port, sensors
/// of temperature, local file systems, and the limits of our own cgroup. For agents that watch a node, where a run
/// needs the sums alone. What a machine does not have is left out. Sensors, file systems and limits every ten seconds.
/// Never blocks: network file systems, which could, are not asked.
std::unique_ptr<MetricSource> make_host_details_source(const ProcfsOptions& options);

/// The processes of one workload (`workload.*`): everything below the guard of `workload`, which is what
/// `GuardedProcess::workload_pid()` gives, wherever it was forked to. Error `not_found` once the guard is gone.
std::unique_ptr<MetricSource> make_process_tree_source(pid_t workload, const ProcfsOptions& options = {});

}  // namespace assay
