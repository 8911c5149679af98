#include "machine/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "machine/facts.h"
#include "machine/job_place.h"
#include "machine/nvidia.h"
#include "redact/redact.h"

namespace assay {
namespace {

fs::path below(const fs::path& root, std::string_view path) { return root / fs::path(path).relative_path(); }

void inspect_system(const MachineView& view, Provenance& provenance) {
  provenance.os = os_name_from(view.text("/etc/os-release"));
  provenance.hostname = view.line("/proc/sys/kernel/hostname");
  provenance.kernel = view.line("/proc/sys/kernel/osrelease");
  // Sandboxes such as gVisor have neither file.
  if (utsname names{}; ::uname(&names) == 0) {
    if (provenance.hostname.empty()) provenance.hostname = names.nodename;
    if (provenance.kernel.empty()) provenance.kernel = names.release;
  }
  provenance.cpu_model = cpu_model_from(view.text("/proc/cpuinfo"));
  provenance.cpu_cores = usable_cores(view);
  provenance.memory_bytes = memory_from(view.text("/proc/meminfo")).total.value_or(0);
  const auto found = governors(view);
  const std::set<std::string> distinct(found.begin(), found.end());
  provenance.cpu_governor = join(distinct, ", ");
}

void inspect_gpus(const MachineView& view, Provenance& provenance) {
  provenance.gpu_driver = driver_version_from(view.text("/proc/driver/nvidia/version"));
  if (!may_have_nvidia(view)) return;
  const auto answer = query_nvidia(view, "gpu", kSmiBasicFields);
  if (!answer || answer->exit_code != 0) return;
  for (auto& gpu : gpus_from(answer->out)) {
    if (!gpu.driver.empty()) provenance.gpu_driver = gpu.driver;
    provenance.gpus.push_back(std::move(gpu.info));
  }
}

bool is_commit(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void inspect_git(const MachineView& view, const fs::path& folder, Provenance& provenance) {
  const CommandOptions options{.deadline = std::chrono::seconds(2), .environment = {{"GIT_OPTIONAL_LOCKS", "0"}}};
  const auto commit = view.run({"git", "-C", folder.string(), "rev-parse", "HEAD"}, options);
  if (!commit || commit->exit_code != 0 || !is_commit(trim(commit->out))) return;
  provenance.git_commit = trim(commit->out);
  // Without fsmonitor, which would leave a daemon behind in the user's repository.
  const auto status = view.run(
      {"git", "-C", folder.string(), "-c", "core.fsmonitor=false", "status", "--porcelain", "--untracked-files=no"},
      options);
  if (status && status->exit_code == 0) provenance.git_dirty = !trim(status->out).empty();
}

}  // namespace

MachineView MachineView::real() {
  MachineView view;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view pair = *entry;
    const auto equals = pair.find('=');
    if (equals != std::string_view::npos) view.environment.emplace(pair.substr(0, equals), pair.substr(equals + 1));
  }
  return view;
}

std::string MachineView::text(std::string_view path) const {
  return read_file(below(root, path), std::size_t{16} << 20).value_or("");
}

std::string MachineView::line(std::string_view path) const { return std::string(trim(text(path))); }

bool MachineView::exists(std::string_view path) const {
  std::error_code ignored;
  return fs::exists(below(root, path), ignored);
}

bool MachineView::has_program(std::string_view name) const {
  const auto path = environment.find("PATH");
  if (path == environment.end()) return false;
  const auto folders = split(path->second, ':');
  return std::any_of(folders.begin(), folders.end(), [&](std::string_view folder) {
    return !folder.empty() && ::access((below(root, folder) / name).c_str(), X_OK) == 0;
  });
}

Provenance inspect_machine(const MachineView& view, const std::filesystem::path& folder, bool python_modules) {
  Provenance provenance;
  inspect_system(view, provenance);
  inspect_gpus(view, provenance);
  if (python_modules) {
    auto python = python_facts(view);
    provenance.python_version = std::move(python.version);
    provenance.torch_version = std::move(python.torch);
  }
  inspect_git(view, folder, provenance);
  provenance.environment = shareable_environment(view.environment);
  provenance.job = job_variables(view.environment);
  return provenance;
}

}  // namespace assay
