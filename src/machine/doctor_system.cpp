#include <fmt/format.h>
#include <sys/timex.h>

#include <array>
#include <chrono>

#include "base/text.h"
#include "base/units.h"
#include "machine/doctor_checks.h"
#include "machine/facts.h"

namespace assay {
namespace {

using Level = DoctorFinding::Level;

/// Soft and hard limit of a line of /proc/self/limits, as written there.
struct Limit {
  std::string soft;
  std::string hard;
};

std::optional<Limit> limit_of(const MachineView& view, std::string_view title) {
  const std::string limits = view.text("/proc/self/limits");
  for (const auto line : split(limits, '\n')) {
    if (!line.starts_with(title)) continue;
    std::vector<std::string> words;
    for (const auto word : split(line.substr(title.size()), ' ')) {
      if (!word.empty()) words.emplace_back(word);
    }
    if (words.size() >= 2) return Limit{words[0], words[1]};
  }
  return std::nullopt;
}

std::string container_kind(const MachineView& view) {
  if (view.environment.contains("KUBERNETES_SERVICE_HOST")) return "Kubernetes";
  if (view.environment.contains("APPTAINER_CONTAINER") || view.environment.contains("SINGULARITY_CONTAINER")) {
    return "Apptainer";
  }
  if (view.exists("/run/.containerenv")) return "Podman";
  if (view.exists("/.dockerenv")) return "Docker";
  // systemd and LXC tell the first process of a container what it is.
  const std::string variables = view.text("/proc/1/environ");
  for (const auto entry : split(variables, '\0')) {
    if (entry.starts_with("container=")) return std::string(entry.substr(10));
  }
  return {};
}

std::string virtual_machine_kind(const MachineView& view) {
  const std::string cpuinfo = view.text("/proc/cpuinfo");
  const auto flags = split(status_value(cpuinfo, "flags"), ' ');
  if (std::find(flags.begin(), flags.end(), "hypervisor") == flags.end()) return {};
  const std::string product = view.line("/sys/class/dmi/id/product_name");
  return product.empty() ? "a virtual machine" : fmt::format("a virtual machine ({})", product);
}

}  // namespace

ClockState read_clock(const MachineView& view) {
  ClockState state{.now = SystemClock().wall()};
  if (view.exists("/run/systemd/timesync/synchronized")) {
    state.synchronised = true;
    return state;
  }
  timex kernel{};
  if (::adjtimex(&kernel) >= 0) state.synchronised = (kernel.status & STA_UNSYNC) == 0;
  return state;
}

DoctorFinding check_clock(const ClockState& clock) {
  const auto date = std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(clock.now));
  const int year = static_cast<int>(date.year());
  auto finding = ok("Clock", "clock", iso8601(clock.now));
  if (year < 2024 || year > 2100) {
    return raised(finding, Level::problem, "The date is wrong. Set it with 'timedatectl set-ntp true' as root.");
  }
  if (!clock.synchronised) {
    finding.found += ", not known whether synchronised";
    return finding;
  }
  finding.found += *clock.synchronised ? ", synchronised" : ", not synchronised";
  if (*clock.synchronised) return finding;
  return raised(finding, Level::warning,
                "Events of several hosts cannot be put in order. Start chrony or systemd-timesyncd; in a container or "
                "virtual machine, on its host.");
}

DoctorFinding check_clock_source(const MachineView& view) {
  const std::string source = view.line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  auto finding = ok("Clock source", "clock_source", source.empty() ? "not visible" : source);
  static constexpr std::array<std::string_view, 5> kFast = {"", "tsc", "arch_sys_counter", "kvm-clock", "timebase"};
  if (std::find(kFast.begin(), kFast.end(), source) != kFast.end()) return finding;
  return raised(finding, Level::note,
                "Reading the time takes about a microsecond with this one, which short steps will show. The kernel "
                "log says why it did not take tsc.");
}

DoctorFinding check_surroundings(const MachineView& view) {
  const std::string container = container_kind(view);
  const std::string machine = virtual_machine_kind(view);
  if (container.empty() && machine.empty())
    return ok("Surroundings", "surroundings", "no container or virtual machine seen");
  const std::string inside = container.empty() ? machine
                             : machine.empty() ? fmt::format("a container ({})", container)
                                               : fmt::format("a container ({}) in {}", container, machine);
  return raised(ok("Surroundings", "surroundings", "in " + inside), Level::note,
                "Neighbours on the same hardware are not visible from here and may disturb results.");
}

DoctorFinding check_open_files(const MachineView& view) {
  const auto limit = limit_of(view, "Max open files");
  auto finding = ok("Open files", "open_files", "not known");
  if (!limit) return finding;
  finding.found = fmt::format("up to {}, can be raised to {}", limit->soft, limit->hard);
  constexpr std::int64_t kEnough = 4096;
  const auto hard = whole_number(limit->hard);
  if (!hard || *hard >= kEnough) return finding;
  return raised(finding, Level::warning,
                "Load tests with many connections will run out. Raise 'nofile' in /etc/security/limits.conf or "
                "LimitNOFILE of the service.");
}

DoctorFinding check_core_dumps(const MachineView& view) {
  const auto limit = limit_of(view, "Max core file size");
  const std::string pattern = view.line("/proc/sys/kernel/core_pattern");
  auto finding = ok("Core dumps", "core_dumps", "not known");
  if (!limit) return finding;
  if (limit->soft == "0") {
    finding.found = "off";
    return finding;
  }
  if (pattern.starts_with("|")) {
    finding.found = "go to a program that keeps or drops them";
    return finding;
  }
  const auto bytes = whole_number(limit->soft);
  finding.found = fmt::format("written as files, {}", bytes ? "up to " + format_bytes({*bytes}) : "of any size");
  return raised(
      finding, Level::note,
      "A crashing workload writes all of its memory to the disk. Run 'ulimit -c 0' before, unless you want that.");
}

std::optional<std::uint64_t> shared_memory_bytes(const MachineView& view) {
  std::error_code code;
  const auto space = fs::space(view.root / "dev/shm", code);
  if (code) return std::nullopt;
  return space.capacity;
}

DoctorFinding check_shared_memory(std::optional<std::uint64_t> total_bytes) {
  auto finding = ok("Shared memory", "shared_memory", "no /dev/shm");
  const std::string remedy =
      "NCCL and PyTorch's data loaders need it. Start the container with '--shm-size=8g' or '--ipc=host'.";
  if (!total_bytes) return raised(finding, Level::warning, remedy);
  finding.found = format_bytes({static_cast<std::int64_t>(*total_bytes)});
  constexpr std::uint64_t kLeast = std::uint64_t{1} << 30;
  return *total_bytes < kLeast ? raised(finding, Level::warning, remedy) : finding;
}

DoctorFinding check_python(const MachineView& view) {
  const auto facts = python_facts(view);
  auto finding = ok("Python", "python", "no python3 that answers");
  if (facts.version.empty()) {
    return raised(finding, Level::note, "Needed only for workloads written in Python.");
  }
  finding.found = fmt::format("Python {}, {}", facts.version,
                              facts.torch.empty() ? "no PyTorch" : fmt::format("PyTorch {}", facts.torch));
  return finding;
}

DoctorFinding check_telemetry(const TelemetrySurvey& survey) {
  auto finding = ok("Telemetry", "telemetry", fmt::format("{} values are read", survey.series));
  std::vector<std::string> problems = survey.failed;
  if (!survey.missing.empty()) problems.push_back("not read: " + join(survey.missing, ", "));
  if (problems.empty()) return finding;
  finding.found += "; " + join(problems, "; ");
  return raised(finding, Level::warning,
                "Runs and alerts will lack these figures. See whether this user may read them and whether the driver "
                "answers ('nvidia-smi').");
}

}  // namespace assay
