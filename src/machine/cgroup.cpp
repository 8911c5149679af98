#include "machine/cgroup.h"

#include <algorithm>

#include "base/text.h"
#include "machine/facts.h"

namespace assay {
namespace {

/// The folders of this process's cgroup and of its parents, innermost first: version 2 for an empty controller, else
/// version 1's hierarchy of that controller.
std::vector<std::string> cgroup_folders(const MachineView& view, std::string_view controller) {
  const std::string table = view.text("/proc/self/cgroup");
  for (const auto line : split(table, '\n')) {
    // "0::/user.slice" or "4:cpu,cpuacct:/docker/…"
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const auto names = split(controllers, ',');
    if (std::find(names.begin(), names.end(), controller) == names.end()) continue;
    std::string mount = "/sys/fs/cgroup";
    if (!controller.empty()) mount += "/" + std::string(controller);
    std::vector<std::string> folders;
    std::string path(line.substr(second + 1));
    // In a container the path may be the host's and not exist here; the mount's own files then hold the limit.
    if (!path.starts_with('/')) return {};
    for (; path.size() > 1; path.resize(path.rfind('/'))) folders.push_back(mount + path);
    folders.push_back(mount);
    return folders;
  }
  return {};
}

void keep_least(std::optional<double>& least, double value) { least = least ? std::min(*least, value) : value; }

}  // namespace

std::optional<double> cgroup_cpu_limit(const MachineView& view) {
  std::optional<double> limit;
  for (const auto& folder : cgroup_folders(view, "")) {
    const std::string text = view.line(folder + "/cpu.max");  // "150000 100000" or "max 100000"
    const auto fields = split(text, ' ');
    const auto quota = whole_number(fields[0]);
    const auto period = fields.size() > 1 ? whole_number(fields[1]) : std::nullopt;
    if (quota && period && *period > 0) keep_least(limit, static_cast<double>(*quota) / static_cast<double>(*period));
  }
  for (const auto& folder : cgroup_folders(view, "cpu")) {
    const auto quota = whole_number(view.line(folder + "/cpu.cfs_quota_us"));
    const auto period = whole_number(view.line(folder + "/cpu.cfs_period_us"));
    if (quota && *quota > 0 && period && *period > 0) {
      keep_least(limit, static_cast<double>(*quota) / static_cast<double>(*period));
    }
  }
  return limit;
}

std::optional<CgroupMemory> cgroup_memory(const MachineView& view) {
  struct Files {
    std::string_view controller, limit, used;
  };
  std::optional<CgroupMemory> tightest;
  for (const Files& files : {Files{"", "/memory.max", "/memory.current"},
                             Files{"memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes"}}) {
    for (const auto& folder : cgroup_folders(view, files.controller)) {
      const auto limit = whole_number(view.line(folder + std::string(files.limit)));
      // Version 1 writes "no limit" as almost 2⁶³.
      if (!limit || *limit > (std::int64_t{1} << 60)) continue;
      const auto used = whole_number(view.line(folder + std::string(files.used))).value_or(0);
      if (!tightest || *limit - used < tightest->limit_bytes - tightest->used_bytes) tightest = {*limit, used};
    }
  }
  return tightest;
}

}  // namespace assay
