#include "train/host_memory.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

namespace assay::engine {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

/// The value in bytes of a line `Name:  123 kB`; kUnknown where there is none.
std::int64_t kilobyte_line(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with(name + ":")) continue;
    std::istringstream value(line.substr(name.size() + 1));
    std::int64_t kilobytes = 0;
    return value >> kilobytes ? kilobytes * 1024 : kUnknown;
  }
  return kUnknown;
}

std::int64_t number_in(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? number : kUnknown;  // `max` is no number: no limit
}

/// cgroup v2: this process's own group, as the kernel names it.
std::string cgroup_folder(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("0::")) return root + "/sys/fs/cgroup" + line.substr(3);
  }
  return root + "/sys/fs/cgroup";
}

}  // namespace

std::int64_t resident_bytes() {
  const std::int64_t bytes = kilobyte_line("/proc/self/status", "VmRSS");
  return bytes == kUnknown ? 0 : bytes;
}

std::int64_t peak_resident_bytes() {
  const std::int64_t bytes = kilobyte_line("/proc/self/status", "VmHWM");
  return bytes == kUnknown ? 0 : bytes;
}

bool reset_peak_resident() {
  std::ofstream file("/proc/self/clear_refs");
  return static_cast<bool>(file << "5\n" << std::flush);
}

std::int64_t available_bytes(const std::string& root) {
  std::int64_t available = kilobyte_line(root + "/proc/meminfo", "MemAvailable");
  const std::string group = cgroup_folder(root);
  const std::int64_t limit = number_in(group + "/memory.max");
  const std::int64_t used = number_in(group + "/memory.current");
  if (limit != kUnknown && used != kUnknown) available = std::min(available, std::max<std::int64_t>(0, limit - used));
  return available;
}

void forbid_overcommit() {
  const std::int64_t now = kilobyte_line("/proc/self/status", "VmData");
  const std::int64_t available = available_bytes();
  if (now == kUnknown || available == kUnknown) return;
  // The rest of the machine needs some, too.
  const auto limit = static_cast<rlim_t>(now + available / 20 * 19);
  rlimit limits{};
  if (::getrlimit(RLIMIT_DATA, &limits) != 0 || limit >= limits.rlim_cur) return;
  limits.rlim_cur = limit;
  ::setrlimit(RLIMIT_DATA, &limits);
}

}  // namespace assay::engine
