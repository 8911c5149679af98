#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "machine/doctor.h"
#include "machine/nvidia.h"

// The single checks behind `examine`, one finding each. They see the machine through a view or as facts that were
// read before, never directly, so that each can be shown a good and a bad machine in tests.

namespace assay {

// CPU and memory (doctor_cpu.cpp)
DoctorFinding check_cpu_governor(const MachineView& view);
/// Cores this process may use against those of the machine, by affinity and by the CPU limit of its cgroups.
DoctorFinding check_cpu_cores(const MachineView& view);
DoctorFinding check_load(const MachineView& view);
DoctorFinding check_smt(const MachineView& view);
/// Available memory, or what the cgroup's limit leaves of it.
DoctorFinding check_memory(const MachineView& view);
DoctorFinding check_swap(const MachineView& view);

// The data folder (doctor_disk.cpp)
DoctorFinding check_disk_space(const std::filesystem::path& folder, std::optional<std::uint64_t> free_bytes);
DoctorFinding check_file_system(const std::filesystem::path& folder, const Result<FileSystemKind>& kind);
/// Writes nothing but a file without a name, and makes no folder.
DoctorFinding check_data_folder(const std::filesystem::path& folder);
/// Space for ordinary users on the file system of the path or of its nearest existing parent.
std::optional<std::uint64_t> free_bytes_at(const std::filesystem::path& path);

// Clock, limits, surroundings (doctor_system.cpp)
struct ClockState {
  WallTime now;
  std::optional<bool> synchronised;  ///< nothing: the kernel does not tell
};
ClockState read_clock(const MachineView& view);
DoctorFinding check_clock(const ClockState& clock);
DoctorFinding check_clock_source(const MachineView& view);
/// Container or virtual machine.
DoctorFinding check_surroundings(const MachineView& view);
DoctorFinding check_open_files(const MachineView& view);
DoctorFinding check_core_dumps(const MachineView& view);
DoctorFinding check_shared_memory(std::optional<std::uint64_t> total_bytes);
std::optional<std::uint64_t> shared_memory_bytes(const MachineView& view);
/// Python and PyTorch of the user, which workloads started by `assay exec` will see.
DoctorFinding check_python(const MachineView& view);

// GPUs (doctor_gpu.cpp)
struct GpuSurvey {
  bool driver_expected = false;  ///< a driver, its device file or nvidia-smi is there
  int pci_devices = 0;           ///< NVIDIA GPUs on the PCI bus, with or without a driver
  std::string kernel_driver;     ///< version of the loaded kernel module
  std::string failure;           ///< why nvidia-smi gave no list; empty when it did
  std::vector<SmiGpu> gpus;
  struct Process {
    SmiProcess process;
    std::string user;
  };
  std::vector<Process> processes;
};
GpuSurvey survey_gpus(const MachineView& view);
DoctorFinding check_gpu_driver(const GpuSurvey& survey);
DoctorFinding check_gpus_present(const GpuSurvey& survey);
DoctorFinding check_gpus_busy(const GpuSurvey& survey);
DoctorFinding check_gpu_persistence(const GpuSurvey& survey);
DoctorFinding check_gpu_errors(const GpuSurvey& survey);
DoctorFinding check_gpu_temperature(const GpuSurvey& survey);

// The engine (doctor_engine.cpp)
/// One finding when the engine is missing or does not load; else also its BLAS, bf16 and CUDA.
/// `gpus`: how many GPUs the machine has, since only then a missing CUDA matters.
std::vector<DoctorFinding> check_engine(const MachineView& view, const std::filesystem::path& engine, std::size_t gpus);

// How findings are written.
inline DoctorFinding ok(std::string check, std::string id, std::string found) {
  return {.check = std::move(check), .id = std::move(id), .level = DoctorFinding::Level::ok, .found = std::move(found)};
}
/// `ok` turned into something with a remedy.
inline DoctorFinding raised(DoctorFinding finding, DoctorFinding::Level level, std::string remedy) {
  finding.level = level;
  finding.remedy = std::move(remedy);
  return finding;
}

}  // namespace assay
