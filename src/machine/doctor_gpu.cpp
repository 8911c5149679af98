#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "base/units.h"
#include "machine/doctor_checks.h"
#include "machine/facts.h"

namespace assay {
namespace {

using Level = DoctorFinding::Level;

int nvidia_devices_on_pci(const MachineView& view) {
  int count = 0;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(view.root / "sys/bus/pci/devices", code)) {
    const std::string device = "/sys/bus/pci/devices/" + entry.path().filename().string();
    // Class 03 is display controllers, which compute-only cards are too.
    if (view.line(device + "/vendor") == "0x10de" && view.line(device + "/class").starts_with("0x03")) ++count;
  }
  return count;
}

std::string user_of(const MachineView& view, std::int64_t pid) {
  const std::string status = view.text(fmt::format("/proc/{}/status", pid));
  const std::string uid(split(status_value(status, "Uid"), '\t')[0]);
  if (uid.empty()) return {};
  const std::string passwd = view.text("/etc/passwd");
  for (const auto line : split(passwd, '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() > 2 && fields[2] == uid) return std::string(fields[0]);
  }
  return "user " + uid;
}

std::string first_line(std::string_view text) { return std::string(trim(split(trim(text), '\n')[0])); }

/// What nvidia-smi said instead of a list.
std::string complaint_of_nvidia_smi(const Result<CommandOutput>& answer) {
  if (!answer) return answer.error().text();
  if (answer->exit_code == 0) return {};
  // Most of its complaints are on standard output.
  const std::string said = first_line(trim(answer->out).empty() ? answer->error : answer->out);
  return said.empty() ? "nvidia-smi failed without a word" : said;
}

std::string short_uuid(const std::string& uuid) { return uuid.substr(0, 12); }

/// Each GPU for which `wrong` gives a text, as "GPU-1234abcd: text".
template <typename Wrong>
std::vector<std::string> complaints(const GpuSurvey& survey, Wrong wrong) {
  std::vector<std::string> found;
  for (const auto& gpu : survey.gpus) {
    const std::string text = wrong(gpu);
    if (!text.empty()) found.push_back(fmt::format("{}: {}", short_uuid(gpu.info.uuid), text));
  }
  return found;
}

std::string describe(const GpuSurvey::Process& entry) {
  std::string text = fmt::format("pid {}", entry.process.pid);
  if (!entry.process.name.empty()) text += fmt::format(" ({})", entry.process.name);
  if (!entry.user.empty()) text += fmt::format(" of {}", entry.user);
  if (entry.process.memory_bytes) text += fmt::format(" with {}", format_bytes({*entry.process.memory_bytes}));
  return text + fmt::format(" on {}", short_uuid(entry.process.gpu_uuid));
}

}  // namespace

GpuSurvey survey_gpus(const MachineView& view) {
  GpuSurvey survey;
  survey.driver_expected = may_have_nvidia(view);
  survey.pci_devices = nvidia_devices_on_pci(view);
  survey.kernel_driver = driver_version_from(view.text("/proc/driver/nvidia/version"));
  if (!survey.driver_expected) return survey;
  const auto answer = query_nvidia(view, "gpu", kSmiFields);
  survey.failure = complaint_of_nvidia_smi(answer);
  if (!survey.failure.empty()) return survey;
  survey.gpus = gpus_from(answer->out);
  if (survey.gpus.empty()) return survey;
  if (const auto apps = query_nvidia(view, "compute-apps", kGpuProcessFields); apps && apps->exit_code == 0) {
    for (auto& process : gpu_processes_from(apps->out)) {
      auto user = user_of(view, process.pid);
      survey.processes.push_back({std::move(process), std::move(user)});
    }
  }
  return survey;
}

DoctorFinding check_gpu_driver(const GpuSurvey& survey) {
  auto finding = ok("GPU driver", "gpu_driver", "none");
  if (!survey.driver_expected) {
    if (survey.pci_devices == 0) {
      return raised(finding, Level::note, "No NVIDIA GPU is in this machine; workloads run on the CPU.");
    }
    finding.found = fmt::format("{} NVIDIA GPUs, but no driver is loaded", survey.pci_devices);
    return raised(finding, Level::problem, "Install the NVIDIA driver, or load it with 'modprobe nvidia' as root.");
  }
  if (survey.failure.find("version mismatch") != std::string::npos) {
    finding.found = fmt::format("{} (loaded kernel module: {})", survey.failure,
                                survey.kernel_driver.empty() ? "not known" : survey.kernel_driver);
    return raised(finding, Level::problem,
                  "The driver was updated under a running kernel module. Reboot, or stop everything that uses the GPUs "
                  "and run 'rmmod nvidia_drm nvidia_modeset nvidia_uvm nvidia && modprobe nvidia' as root.");
  }
  if (!survey.failure.empty()) {
    finding.found = survey.failure;
    return raised(finding, Level::problem,
                  "nvidia-smi must work before anything else on a GPU does: see 'dmesg | grep -i nvrm', and in a "
                  "container whether it was started with GPUs.");
  }
  finding.found = survey.kernel_driver;
  if (!survey.gpus.empty() && !survey.gpus[0].driver.empty()) finding.found = survey.gpus[0].driver;
  return finding;
}

DoctorFinding check_gpus_present(const GpuSurvey& survey) {
  auto finding = ok("GPUs", "gpus", "none");
  if (!survey.driver_expected || !survey.failure.empty()) {
    return survey.pci_devices == 0 && !survey.driver_expected ? finding
                                                              : raised(finding, Level::problem, "See 'GPU driver'.");
  }
  if (survey.gpus.empty()) {
    return raised(finding, Level::problem,
                  "A driver is there but shows no GPU: ask the batch system or container for one, or see 'dmesg | grep "
                  "-i nvrm' for one that fell off the bus.");
  }
  std::map<std::string, int> kinds;
  for (const auto& gpu : survey.gpus) {
    ++kinds[fmt::format("{} ({})", gpu.info.name.empty() ? "unnamed" : gpu.info.name,
                        format_bytes({gpu.info.memory_bytes}))];
  }
  std::vector<std::string> parts;
  parts.reserve(kinds.size());
  for (const auto& [kind, count] : kinds) parts.push_back(fmt::format("{} × {}", count, kind));
  finding.found = join(parts, ", ");
  return finding;
}

DoctorFinding check_gpus_busy(const GpuSurvey& survey) {
  auto finding = ok("GPUs in use", "gpus_busy", survey.gpus.empty() ? "no GPU" : "by nobody");
  std::vector<std::string> users;
  users.reserve(survey.processes.size());
  for (const auto& entry : survey.processes) users.push_back(describe(entry));
  if (!users.empty()) {
    finding.found = join(users, "; ");
    return raised(finding, Level::warning,
                  "Wait until these have ended, or measure on other GPUs (CUDA_VISIBLE_DEVICES).");
  }
  // Processes of another container are not listed, but their work shows.
  constexpr std::int64_t kIdlePercent = 5;
  const auto at_work = complaints(survey, [](const SmiGpu& gpu) {
    const auto percent = gpu.utilization_percent.value_or(0);
    return percent > kIdlePercent ? fmt::format("{} % busy", percent) : std::string();
  });
  if (at_work.empty()) return finding;
  finding.found = join(at_work, "; ") + ", by a process that is not visible from here";
  return raised(finding, Level::warning, "Look for it on the host, outside of this container.");
}

DoctorFinding check_gpu_persistence(const GpuSurvey& survey) {
  auto finding = ok("GPU persistence mode", "gpu_persistence", survey.gpus.empty() ? "no GPU" : "on");
  const auto off = complaints(
      survey, [](const SmiGpu& gpu) { return gpu.persistence == false ? std::string("off") : std::string(); });
  if (off.empty()) return finding;
  finding.found = fmt::format("off on {} of {} GPUs", off.size(), survey.gpus.size());
  return raised(
      finding, Level::note,
      "The driver unloads between runs, and each start takes seconds longer. Run 'nvidia-smi -pm 1' as root.");
}

DoctorFinding check_gpu_errors(const GpuSurvey& survey) {
  auto finding = ok("GPU memory errors", "gpu_errors", survey.gpus.empty() ? "no GPU" : "none uncorrected");
  const auto broken = complaints(survey, [](const SmiGpu& gpu) {
    const auto errors = gpu.uncorrected_errors.value_or(0);
    return errors > 0 ? fmt::format("{} uncorrected ECC errors", errors) : std::string();
  });
  if (broken.empty()) return finding;
  finding.found = join(broken, "; ");
  return raised(
      finding, Level::problem,
      "Results of this GPU cannot be trusted. Drain the node, reset the GPU with 'nvidia-smi -r', and have it "
      "replaced if errors come back.");
}

DoctorFinding check_gpu_temperature(const GpuSurvey& survey) {
  constexpr std::int64_t kHot = 80;
  auto finding = ok("GPU temperature", "gpu_temperature", "not known");
  std::optional<std::int64_t> hottest;
  for (const auto& gpu : survey.gpus) {
    if (gpu.temperature_c) hottest = std::max(hottest.value_or(*gpu.temperature_c), *gpu.temperature_c);
  }
  if (hottest) finding.found = fmt::format("{} °C at most", *hottest);
  if (survey.gpus.empty()) finding.found = "no GPU";
  if (!hottest || *hottest <= kHot) return finding;
  finding.found = join(complaints(survey,
                                  [](const SmiGpu& gpu) {
                                    const auto degrees = gpu.temperature_c.value_or(0);
                                    return degrees > kHot ? fmt::format("{} °C", degrees) : std::string();
                                  }),
                       "; ");
  return raised(
      finding, Level::warning,
      "So hot before a benchmark, it will throttle during one. Let it cool down and check the fans and air flow.");
}

}  // namespace assay
