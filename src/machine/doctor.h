#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "machine/machine.h"

namespace assay {

/// One thing that doctor looked at.
struct DoctorFinding {
  enum class Level {
    ok,
    note,     ///< worth knowing, nothing to do
    warning,  ///< results will be noisier or slower than they could be
    problem,  ///< a benchmark would fail or be invalid
  };
  std::string check;  ///< "CPU governor"
  std::string id;     ///< "cpu_governor": stable, for scripts
  Level level = Level::ok;
  std::string found;   ///< "powersave on 64 of 64 cores"
  std::string remedy;  ///< what to do about it; empty when ok
};

std::string_view name_of(DoctorFinding::Level level);
json::object to_json(const DoctorFinding& finding);

struct DoctorOptions {
  std::filesystem::path data_folder;
  std::filesystem::path engine;  ///< empty: not found
  bool quick = false;            ///< without what takes seconds: loading the engine, starting Python
};

/// Looks at everything that makes benchmarks fail or lie: CPU governor, free memory, load, disk space and file
/// system of the data folder, clock, GPU driver and library versions, busy GPUs, the engine (present, loading,
/// BLAS, bf16), permissions. Takes a second or two; where a GPU driver or the engine hangs, up to the deadlines of
/// their commands (10 s and 60 s). Changes nothing on the machine.
std::vector<DoctorFinding> examine(const MachineView& view, const DoctorOptions& options);

/// What reading this machine's telemetry once gave.
struct TelemetrySurvey {
  std::size_t series = 0;
  std::vector<std::string> missing;  ///< metrics that are there and could not be read
  std::vector<std::string> failed;   ///< a phrase for each source that gave nothing: "nvml: the driver does not answer"
};
/// A warning where figures would be absent from every run and every alert.
DoctorFinding check_telemetry(const TelemetrySurvey& survey);

}  // namespace assay
