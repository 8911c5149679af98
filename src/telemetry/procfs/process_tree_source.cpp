#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "base/process_tree.h"
#include "telemetry/procfs/kept_file.h"
#include "telemetry/procfs/procfs_source.h"
#include "telemetry/reading_builder.h"

namespace assay {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

/// The processes below one ancestor, followed over time. A big machine runs thousands of processes and nearly all of
/// them are somebody else's: those are looked at once, since a process can never become our descendant later.
class FollowedTree {
 public:
  FollowedTree(pid_t ancestor, std::filesystem::path proc)
      : ancestor_(ancestor), proc_(std::move(proc)), folder_(::opendir(proc_.c_str())) {}

  /// The living ones and the zombies among them as they are now.
  std::vector<ProcessStat> read();

 private:
  std::unordered_set<pid_t> listed() const;
  void place(std::unordered_map<pid_t, ProcessStat> newcomers, std::vector<ProcessStat>& ours);

  pid_t ancestor_;
  std::filesystem::path proc_;
  std::unique_ptr<DIR, CloseFolder> folder_;
  std::unordered_map<pid_t, std::uint64_t> ours_;  ///< with their start times
  std::unordered_set<pid_t> others_;
};

std::vector<ProcessStat> FollowedTree::read() {
  const auto present = listed();
  std::erase_if(others_, [&](pid_t pid) { return !present.contains(pid); });
  const auto before = std::exchange(ours_, {});

  std::vector<ProcessStat> ours;
  std::unordered_map<pid_t, ProcessStat> newcomers;
  for (const pid_t pid : present) {
    if (others_.contains(pid)) continue;
    auto process = read_process_stat(pid, proc_);
    if (!process) continue;
    const auto known = before.find(pid);
    if (known != before.end() && known->second == process->start_ticks) {
      ours_.emplace(pid, process->start_ticks);
      ours.push_back(std::move(*process));
    } else {
      newcomers.emplace(pid, std::move(*process));
    }
  }
  place(std::move(newcomers), ours);
  return ours;
}

/// Decides whose each newcomer is once that is known of its parent. One whose parent ended while we looked stays
/// undecided and is looked at again next time.
void FollowedTree::place(std::unordered_map<pid_t, ProcessStat> newcomers, std::vector<ProcessStat>& ours) {
  bool progress = true;
  while (std::exchange(progress, false)) {
    std::erase_if(newcomers, [&](auto& entry) {
      auto& [pid, process] = entry;
      if (process.parent == ancestor_ || ours_.contains(process.parent)) {
        ours_.emplace(pid, process.start_ticks);
        ours.push_back(std::move(process));
      } else if (pid == ancestor_ || process.parent == 0 || others_.contains(process.parent)) {
        others_.insert(pid);
      } else {
        return false;
      }
      return progress = true;
    });
  }
}

std::unordered_set<pid_t> FollowedTree::listed() const {
  std::unordered_set<pid_t> pids;
  if (!folder_) return pids;
  ::rewinddir(folder_.get());
  while (const dirent* entry = ::readdir(folder_.get())) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc() && end == name.data() + name.size()) pids.insert(pid);
  }
  return pids;
}

class ProcessTreeSource final : public MetricSource {
 public:
  ProcessTreeSource(pid_t workload, const ProcfsOptions& options)
      : proc_(options.root / "proc"),
        clock_(options.clock != nullptr ? *options.clock : system_clock_),
        guard_(read_process_stat(workload, proc_).value_or(ProcessStat{}).parent),
        tree_(guard_, proc_),
        cores_(count_cores()) {}

  std::string_view name() const override { return "process tree"; }
  Result<Reading> read(SteadyTime deadline) override;

 private:
  double count_cores() const;
  std::optional<double> cores_in_use(double cpu_seconds, SteadyTime now);
  double own_memory(pid_t pid) const;

  std::filesystem::path proc_;
  SystemClock system_clock_;
  const Clock& clock_;
  pid_t guard_;
  FollowedTree tree_;
  double cores_;
  double last_cpu_seconds_ = 0;
  std::optional<SteadyTime> last_time_;
};

Result<Reading> ProcessTreeSource::read(SteadyTime) {
  const SteadyTime now = clock_.now();
  const auto guard = read_process_stat(guard_, proc_);
  if (guard_ <= 0 || !guard || !guard->alive()) {
    return Error{.kind = ErrorKind::not_found, .message = "the workload has ended"};
  }
  // With what was waited for, down to the guard, the time of processes that have come and gone is not lost.
  std::uint64_t ticks = guard->waited_cpu_ticks;
  double memory = 0;
  int processes = 0;
  for (const auto& process : tree_.read()) {
    ticks += process.cpu_ticks + process.waited_cpu_ticks;
    if (!process.alive()) continue;
    ++processes;
    memory += own_memory(process.pid);
  }
  ReadingBuilder builder;
  const double cpu_seconds = static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (const auto cores = cores_in_use(cpu_seconds, now)) builder.add("workload.cpu_util", *cores);
  builder.add("workload.rss_bytes", memory);
  builder.add("workload.processes", processes);
  return builder.finish();
}

std::optional<double> ProcessTreeSource::cores_in_use(double cpu_seconds, SteadyTime now) {
  const double used = cpu_seconds - std::exchange(last_cpu_seconds_, cpu_seconds);
  const auto last = std::exchange(last_time_, now);
  if (!last || now <= *last) return std::nullopt;
  const double cores = used / seconds_of(now - *last);
  // The time of a process that is waited for while we read the tree is seen nowhere or twice, and that can be hours.
  // No real use is negative or more than the machine has (twice: ticks are coarse where readings are close).
  if (cores < 0 || cores > 2 * cores_) return std::nullopt;
  return cores;
}

/// Resident pages less those shared with files and shared memory: what the process has for itself, nearly.
double ProcessTreeSource::own_memory(pid_t pid) const {
  const auto text = read_file(fmt::format("{}/{}/statm", proc_.native(), pid), 4096);
  if (!text) return 0;  // it has just ended
  std::string_view line = *text;
  take_word(line);
  const auto resident = number_in(take_word(line));
  const auto shared = number_in(take_word(line));
  if (!resident || !shared) return 0;
  return std::max(0.0, *resident - *shared) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double ProcessTreeSource::count_cores() const {
  KeptFile stat(proc_ / "stat");
  auto text = stat.read().value_or(std::string_view());
  double cores = 0;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (line.starts_with("cpu") && !line.starts_with("cpu ")) ++cores;
  }
  return std::max(cores, 1.0);
}

}  // namespace

std::unique_ptr<MetricSource> make_process_tree_source(pid_t workload, const ProcfsOptions& options) {
  return std::make_unique<ProcessTreeSource>(workload, options);
}

}  // namespace assay
