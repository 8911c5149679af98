#include "base/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <unordered_map>

#include "base/files.h"

namespace assay {
namespace {

/// Takes space-separated numbers off the front of a line. A negative or missing one makes it fail.
class NumberReader {
 public:
  explicit NumberReader(std::string_view text) : rest_(text) {}

  std::uint64_t next() {
    skip_spaces();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    failed_ = failed_ || error != std::errc();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }
  void skip(int fields) {
    for (; fields > 0; --fields) {
      skip_spaces();
      rest_.remove_prefix(std::min(rest_.find(' '), rest_.size()));
    }
  }
  bool failed() const { return failed_; }

 private:
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string_view rest_;
  bool failed_ = false;
};

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

std::vector<ProcessStat> all_processes(const std::filesystem::path& proc) {
  std::vector<ProcessStat> processes;
  const std::unique_ptr<DIR, CloseFolder> folder(::opendir(proc.c_str()));
  if (!folder) return processes;
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name(entry->d_name);
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (auto process = read_process_stat(pid, proc)) processes.push_back(std::move(*process));
  }
  return processes;
}

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  // The name is in brackets and may itself hold brackets, spaces and newlines: the last bracket closes it.
  const auto open = text.find(" (");
  const auto close = text.rfind(") ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open + 2) return std::nullopt;
  if (text.size() < close + 4) return std::nullopt;

  ProcessStat process;
  NumberReader before(text.substr(0, open));
  process.pid = static_cast<pid_t>(before.next());
  process.name = text.substr(open + 2, close - open - 2);
  process.state = text[close + 2];
  NumberReader after(text.substr(close + 3));
  process.parent = static_cast<pid_t>(after.next());
  after.skip(9);  // process group … major faults of waited-for children
  process.cpu_ticks = after.next();
  process.cpu_ticks += after.next();
  process.waited_cpu_ticks = after.next();
  process.waited_cpu_ticks += after.next();
  after.skip(2);  // priority, nice
  process.threads = static_cast<std::int64_t>(after.next());
  after.skip(1);
  process.start_ticks = after.next();
  if (before.failed() || after.failed()) return std::nullopt;
  return process;
}

std::optional<ProcessStat> read_process_stat(pid_t pid, const std::filesystem::path& proc) {
  const FileDescriptor file(::open(fmt::format("{}/{}/stat", proc.native(), pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 2048> buffer;
  const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
  if (got <= 0) return std::nullopt;  // ESRCH: it ended between open and read
  return parse_process_stat({buffer.data(), static_cast<std::size_t>(got)});
}

std::vector<ProcessStat> descendants_of(pid_t ancestor, const std::filesystem::path& proc) {
  std::unordered_map<pid_t, std::vector<ProcessStat>> children;
  for (auto& process : all_processes(proc)) {
    const pid_t parent = process.parent;
    children[parent].push_back(std::move(process));
  }
  std::vector<ProcessStat> found;
  std::vector<pid_t> unvisited{ancestor};
  while (!unvisited.empty()) {
    const pid_t parent = unvisited.back();
    unvisited.pop_back();
    // Taken out of the map: numbers reused while we looked may form a circle.
    auto node = children.extract(parent);
    if (node.empty()) continue;
    for (auto& child : node.mapped()) {
      unvisited.push_back(child.pid);
      found.push_back(std::move(child));
    }
  }
  return found;
}

bool has_default_action(pid_t pid, int signal, const std::filesystem::path& proc) {
  const auto status = read_file(fmt::format("{}/{}/status", proc.native(), pid), 65536);
  if (!status) return false;
  for (const std::string_view mask_name : {"\nSigBlk:\t", "\nSigIgn:\t", "\nSigCgt:\t"}) {
    const auto found = status->find(mask_name);
    if (found == std::string::npos) return false;
    std::uint64_t mask = 0;
    const char* digits = status->data() + found + mask_name.size();
    if (std::from_chars(digits, status->data() + status->size(), mask, 16).ec != std::errc()) return false;
    if ((mask >> (signal - 1) & 1) != 0) return false;
  }
  return true;
}

void send_signal(const ProcessStat& process, int signal) {
  const FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0U)));
  const int open_error = errno;
  // The handle pins the number; what it stands for is checked after that, not before.
  const auto now = read_process_stat(process.pid);
  if (!now || now->start_ticks != process.start_ticks) return;
  if (handle) {
    ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0U);
  } else if (open_error != ESRCH) {
    ::kill(process.pid, signal);  // no pidfd on this kernel or in this sandbox
  }
}

}  // namespace assay
