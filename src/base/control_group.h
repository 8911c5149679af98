#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/result.h"

namespace assay {

/// What the processes of one group may take up together. Absent: as much as there is.
struct GroupLimits {
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> processes;  ///< threads count, too

  bool any() const { return memory_bytes || processes; }
};

/// A control group with limits. Destroying it removes it, which takes that its processes have ended.
class ControlGroup {
 public:
  explicit ControlGroup(fs::path folder) : folder_(std::move(folder)) {}
  ControlGroup(ControlGroup&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}
  ControlGroup& operator=(ControlGroup&&) = delete;
  ~ControlGroup();

  const fs::path& folder() const { return folder_; }
  /// Whether the kernel has ended a process of it for lack of memory within its limit.
  bool ran_out_of_memory() const;

 private:
  fs::path folder_;
};

/// The group that this process was started in (cgroup v2), divided: one part for this process, one for each workload.
/// Any thread.
class ControlGroups {
 public:
  /// Moves this process into its own part: the kernel wants no processes beside groups with limits. So it is for a
  /// process that has not started others yet. Once is enough, further calls find it done.
  /// `unsupported`: no cgroup v2, or one without what the limits take; `denied`: the group is not ours to divide.
  /// `mount`: where control groups are; `membership`: what the kernel says of this process, as /proc/self/cgroup.
  static Result<ControlGroups> divide(const GroupLimits& limits, const fs::path& mount = "/sys/fs/cgroup",
                                      const fs::path& membership = "/proc/self/cgroup");

  /// An empty group with the limits, for a workload of that name.
  Result<ControlGroup> make(std::string_view name) const;

 private:
  ControlGroups(fs::path folder, GroupLimits limits) : folder_(std::move(folder)), limits_(limits) {}

  fs::path folder_;
  GroupLimits limits_;
};

/// Moves this process, and with it whatever it starts from now on, into a group.
Result<void> join_control_group(const fs::path& folder);

}  // namespace assay
