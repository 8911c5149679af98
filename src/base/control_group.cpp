#include "base/control_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace assay {
namespace {

/// The part of the process that has divided its group, and how those of workloads begin.
constexpr std::string_view kOwnPart = "agent";
constexpr std::string_view kWorkloadPart = "run-";

/// One value into a file of the kernel's: in one write, or it means something else.
Result<void> set(const fs::path& file, std::string_view value) {
  const FileDescriptor open(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (open && ::write(open.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size())) return {};
  return system_error(errno, fmt::format("cannot write '{}' to {}", value, file.string()));
}

Result<void> make_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0755) == 0 || errno == EEXIST) return {};
  return system_error(errno, fmt::format("cannot make the control group {}", folder.string()));
}

/// Path of the process's group of version 2 below the mount: the line `0::/system.slice/assay-agent.service`.
std::optional<std::string> own_group(std::string_view membership) {
  while (!membership.empty()) {
    const auto line = membership.substr(0, membership.find('\n'));
    if (line.starts_with("0::/")) return std::string(line.substr(4));
    membership.remove_prefix(std::min(line.size() + 1, membership.size()));
  }
  return std::nullopt;
}

/// What limits take, as the kernel names it: "memory pids".
std::vector<std::string> controllers_for(const GroupLimits& limits) {
  std::vector<std::string> names;
  if (limits.memory_bytes) names.emplace_back("memory");
  if (limits.processes) names.emplace_back("pids");
  return names;
}

Error no_controller(const std::string& name, const fs::path& folder) {
  return {.kind = ErrorKind::unsupported,
          .message = fmt::format("the control group {} has no '{}' to limit runs by", folder.string(), name),
          .hint =
              "It takes cgroup v2, and under systemd `Delegate=memory pids` in the unit, as ours has it. Without "
              "run_memory and run_processes the agent does without."};
}

Result<void> check_controllers(const fs::path& folder, const std::vector<std::string>& wanted) {
  const auto available = read_file(folder / "cgroup.controllers", 4096);
  if (!available) return no_controller(wanted.front(), folder);
  const std::string list = fmt::format(" {} ", trim(*available));
  for (const auto& name : wanted) {
    if (list.find(fmt::format(" {} ", name)) == std::string::npos) return no_controller(name, folder);
  }
  return {};
}

/// Groups of workloads whose agent was killed; one that still has processes stays.
void remove_leftovers(const fs::path& folder) {
  std::error_code code;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    if (entry->path().filename().native().starts_with(kWorkloadPart)) ::rmdir(entry->path().c_str());
  }
}

}  // namespace

ControlGroup::~ControlGroup() {
  // A process that not even SIGKILL ends keeps it; the next agent removes it.
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

bool ControlGroup::ran_out_of_memory() const {
  const auto events = read_file(folder_ / "memory.events", 4096);
  if (!events) return false;
  const auto at = events->find("oom_kill ");
  return at != std::string::npos && events->compare(at, 10, "oom_kill 0") != 0;
}

Result<ControlGroups> ControlGroups::divide(const GroupLimits& limits, const fs::path& mount,
                                            const fs::path& membership) {
  ASSAY_TRY(const auto lines, read_file(membership, 65536));
  const auto group = own_group(lines);
  fs::path folder = mount / group.value_or("");
  // An agent that has divided it before is in its own part already.
  if (folder.filename() == kOwnPart) folder = folder.parent_path();
  const auto wanted = controllers_for(limits);
  if (!group) return no_controller(wanted.front(), folder);
  ASSAY_CHECK(check_controllers(folder, wanted));
  ASSAY_CHECK(make_folder(folder / kOwnPart));
  ASSAY_CHECK(join_control_group(folder / kOwnPart));
  for (const auto& name : wanted) ASSAY_CHECK(set(folder / "cgroup.subtree_control", "+" + name));
  remove_leftovers(folder);
  return ControlGroups(std::move(folder), limits);
}

Result<ControlGroup> ControlGroups::make(std::string_view name) const {
  const fs::path folder = folder_ / fmt::format("{}{}", kWorkloadPart, name);
  ASSAY_CHECK(make_folder(folder));
  ControlGroup group(folder);
  if (limits_.memory_bytes) {
    ASSAY_CHECK(set(folder / "memory.max", std::to_string(*limits_.memory_bytes)));
    // Paging would turn the limit into slowness. Kernels without swap have no such file.
    if (fs::exists(folder / "memory.swap.max")) ASSAY_CHECK(set(folder / "memory.swap.max", "0"));
  }
  if (limits_.processes) ASSAY_CHECK(set(folder / "pids.max", std::to_string(*limits_.processes)));
  return group;
}

Result<void> join_control_group(const fs::path& folder) { return set(folder / "cgroup.procs", "0"); }

}  // namespace assay
