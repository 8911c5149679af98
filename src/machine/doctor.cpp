#include "machine/doctor.h"

#include <iterator>

#include "machine/doctor_checks.h"

namespace assay {

std::string_view name_of(Finding::Level level) {
  switch (level) {
    case Finding::Level::ok: return "ok";
    case Finding::Level::note: return "note";
    case Finding::Level::warning: return "warning";
    case Finding::Level::problem: return "problem";
  }
  return "ok";
}

std::vector<Finding> examine(const MachineView& view, const DoctorOptions& options) {
  const GpuSurvey gpus = survey_gpus(view);
  std::vector<Finding> findings = {
      check_cpu_governor(view),
      check_cpu_cores(view),
      check_smt(view),
      check_load(view),
      check_memory(view),
      check_swap(view),
      check_data_folder(options.data_folder),
      check_disk_space(options.data_folder, free_bytes_at(options.data_folder)),
      check_file_system(options.data_folder, file_system_of(options.data_folder)),
      check_clock(read_clock(view)),
      check_clock_source(view),
      check_surroundings(view),
      check_open_files(view),
      check_shared_memory(shared_memory_bytes(view)),
      check_core_dumps(view),
      check_gpu_driver(gpus),
      check_gpus_present(gpus),
  };
  if (!gpus.gpus.empty()) {
    for (auto* check : {check_gpus_busy, check_gpu_persistence, check_gpu_errors, check_gpu_temperature}) {
      findings.push_back(check(gpus));
    }
  }
  auto engine = check_engine(view, options.engine, gpus.gpus.size());
  std::move(engine.begin(), engine.end(), std::back_inserter(findings));
  findings.push_back(check_python(view));
  return findings;
}

}  // namespace assay
