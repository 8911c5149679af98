#include "machine/doctor.h"

#include <iterator>

#include "machine/doctor_checks.h"

namespace assay {

std::string_view name_of(DoctorFinding::Level level) {
  switch (level) {
    case DoctorFinding::Level::ok: return "ok";
    case DoctorFinding::Level::note: return "note";
    case DoctorFinding::Level::warning: return "warning";
    case DoctorFinding::Level::problem: return "problem";
  }
  return "ok";
}

json::object to_json(const DoctorFinding& finding) {
  return {{"id", finding.id},
          {"check", finding.check},
          {"level", name_of(finding.level)},
          {"found", finding.found},
          {"remedy", finding.remedy}};
}

std::vector<DoctorFinding> examine(const MachineView& view, const DoctorOptions& options) {
  const GpuSurvey gpus = survey_gpus(view);
  std::vector<DoctorFinding> findings = {
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
  if (options.quick) return findings;
  auto engine = check_engine(view, options.engine, gpus.gpus.size());
  std::move(engine.begin(), engine.end(), std::back_inserter(findings));
  findings.push_back(check_python(view));
  return findings;
}

}  // namespace assay
