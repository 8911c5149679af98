#include "telemetry/procfs/own_cgroup.h"

#include <algorithm>
#include <string>

#include "base/files.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr double kMicro = 1e-6;
constexpr std::size_t kMaxDepth = 32;

/// The path in the line of version 2, `0::/user.slice/…`; nothing if there is none.
std::optional<std::filesystem::path> own_path(const std::filesystem::path& proc) {
  const auto text = read_file(proc / "self/cgroup", 65536);
  if (!text) return std::nullopt;
  for (const auto line : split(*text, '\n')) {
    if (line.starts_with("0::/")) return std::filesystem::path(line.substr(4));
  }
  return std::nullopt;
}

/// Cores of `cpu.max`: `200000 100000` are two, `max 100000` no limit.
std::optional<double> cores_in(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  std::string_view line = take_line(*text);
  const auto quota = number_in(take_word(line));
  const auto period = number_in(take_word(line));
  if (!quota || !period || *period <= 0) return std::nullopt;
  return *quota / *period;
}

}  // namespace

OwnCgroup::OwnCgroup(const std::filesystem::path& root) {
  const auto path = own_path(root / "proc");
  const auto top = root / "sys/fs/cgroup";
  std::error_code ignored;
  if (!path || !std::filesystem::exists(top / *path / "cgroup.controllers", ignored)) return;
  memory_used_.emplace(top / *path / "memory.current");
  cpu_stat_.emplace(top / *path / "cpu.stat");
  std::filesystem::path group = *path;
  for (std::size_t depth = 0; depth < kMaxDepth; ++depth) {
    limits_.push_back({.memory = KeptNumber(top / group / "memory.max"), .cpu = KeptFile(top / group / "cpu.max")});
    if (group.empty()) break;
    group = group.parent_path();
  }
}

void OwnCgroup::read(SteadyTime now, ReadingBuilder& builder) {
  if (!memory_used_) return;
  if (const auto used = memory_used_->read()) builder.add("host.cgroup_memory_used_bytes", *used);
  std::optional<double> memory, cores;
  const auto tighten = [](std::optional<double>& least, std::optional<double> limit) {
    if (limit) least = std::min(least.value_or(*limit), *limit);
  };
  for (auto& limits : limits_) {
    tighten(memory, limits.memory.read());
    tighten(cores, cores_in(limits.cpu.read()));
  }
  if (memory) builder.add("host.cgroup_memory_limit_bytes", *memory);
  if (cores) builder.add("host.cgroup_cpu_limit", *cores);
  read_cpu(now, builder);
}

void OwnCgroup::read_cpu(SteadyTime now, ReadingBuilder& builder) {
  auto text = cpu_stat_->read().value_or(std::string_view());
  std::optional<double> used, throttled;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view name = take_word(line);
    if (name == "usage_usec") used = number_in(take_word(line));
    if (name == "throttled_usec") throttled = number_in(take_word(line));
  }
  if (const auto rate = cpu_rate_.update(used, now)) builder.add("host.cgroup_cpu_util", *rate * kMicro);
  if (throttled) builder.add("host.cgroup_throttled_seconds", *throttled * kMicro);
}

}  // namespace assay
