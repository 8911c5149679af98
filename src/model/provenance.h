#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// One GPU as found at the start of a run. Known by its UUID, never by its index.
struct GpuInfo {
  std::string uuid;
  std::string name;
  std::int64_t memory_bytes = 0;
  bool operator==(const GpuInfo&) const = default;
};

/// Where a result came from: enough to say why two results differ, nothing that must stay secret.
/// Text that is not known stays empty and is left out of the JSON.
struct Provenance {
  std::string assay_version;
  std::string assay_commit;

  std::string hostname;
  std::string os;      ///< "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;  ///< "6.1.0-18-amd64"
  std::string cpu_model;
  int cpu_cores = 0;      ///< that this process may use
  int machine_cores = 0;  ///< that the machine has; a launcher may have bound this process to a few of them
  std::int64_t memory_bytes = 0;
  std::string cpu_governor;

  std::vector<GpuInfo> gpus;
  std::string gpu_driver;
  std::string python_version;
  std::string torch_version;
  std::string engine_version;

  std::string git_commit;
  std::optional<bool> git_dirty;

  std::vector<std::string> command;  ///< redacted
  std::string working_directory;
  std::map<std::string, std::string> environment;  ///< by allow-list, redacted
  std::map<std::string, std::string> job;          ///< Slurm, MPI and torchrun variables: job, rank, size
  std::map<std::string, std::uint64_t> seeds;      ///< by purpose

  bool operator==(const Provenance&) const = default;
};

json::object to_json(const Provenance& provenance);
Result<Provenance> provenance_from_json(const json::value& value);

}  // namespace assay
