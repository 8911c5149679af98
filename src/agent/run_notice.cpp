#include "agent/run_notice.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include "base/process_tree.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kLongestRunId = 128;
/// In a folder that everybody can write to, somebody may leave any number of files.
constexpr int kMostEntries = 1024;
constexpr std::size_t kMostRuns = 64;

/// A folder of the given path that is no link: in /tmp anybody may have put something else there first.
bool make_shared_folder(const fs::path& folder) {
  struct stat found{};
  if (::lstat(folder.c_str(), &found) == 0) return S_ISDIR(found.st_mode);
  if (::mkdir(folder.c_str(), 0777) != 0) return ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  // mkdir obeys the umask; and nobody may remove the notices of others.
  return ::chmod(folder.c_str(), 01777) == 0;
}

std::optional<fs::path> write_notice(const fs::path& folder, std::string_view run) {
  const auto self = read_process_stat(::getpid());
  if (!self || !make_shared_folder(folder)) return std::nullopt;
  fs::path path = folder / fmt::format("{}-{}", self->pid, self->start_ticks);
  auto file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);
  if (!file) return std::nullopt;
  // An agent of another user has to read it, whatever our umask is.
  static_cast<void>(::fchmod(file->get(), 0644));
  if (!write_all(file->get(), run.substr(0, kLongestRunId))) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  return path;
}

struct NoticeName {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
};

std::optional<NoticeName> parse_name(std::string_view name) {
  const auto dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  NoticeName parsed;
  const auto whole = [](std::string_view text, auto& number) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
    return problem == std::errc() && end == text.data() + text.size();
  };
  if (!whole(name.substr(0, dash), parsed.pid) || !whole(name.substr(dash + 1), parsed.start_ticks))
    return std::nullopt;
  return parsed.pid > 0 ? std::optional(parsed) : std::nullopt;
}

bool is_alive(const NoticeName& name) {
  const auto process = read_process_stat(name.pid);
  return process && process->start_ticks == name.start_ticks && process->alive();
}

/// Nobody may speak for the process of another user.
bool may_speak_for(uid_t user, pid_t pid) {
  struct stat process{};
  return user == 0 || (::stat(fmt::format("/proc/{}", pid).c_str(), &process) == 0 && process.st_uid == user);
}

/// Empty where it is no plain file of the process's own user. Never waits, whatever somebody has put there.
std::string read_run_id(int folder, const char* name, pid_t pid) {
  const FileDescriptor file(::openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return {};
  if (!may_speak_for(found.st_uid, pid)) return {};
  std::array<char, kLongestRunId> text{};
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  return size <= 0 ? std::string() : printable(trim({text.data(), static_cast<std::size_t>(size)}));
}

void collect(const fs::path& path, std::vector<NoticedRun>& runs) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path.c_str()), ::closedir);
  if (!folder) return;
  for (int seen = 0; seen < kMostEntries && runs.size() < kMostRuns; ++seen) {
    const dirent* entry = ::readdir(folder.get());
    if (entry == nullptr) return;
    const auto name = parse_name(entry->d_name);
    if (!name || !is_alive(*name)) continue;
    if (auto run = read_run_id(::dirfd(folder.get()), entry->d_name, name->pid); !run.empty()) {
      runs.push_back({.pid = name->pid, .run = std::move(run)});
    }
  }
}

}  // namespace

std::vector<fs::path> notice_folders() { return {"/run/assay/runs", "/tmp/assay-runs"}; }

RunNotice RunNotice::announce(std::string_view run, const std::vector<fs::path>& folders) {
  for (const auto& folder : folders) {
    if (auto file = write_notice(folder, run)) return RunNotice(std::move(*file));
  }
  return RunNotice({});
}

RunNotice::~RunNotice() {
  if (!file_.empty()) ::unlink(file_.c_str());
}

std::vector<NoticedRun> runs_on_this_machine(const std::vector<fs::path>& folders) {
  std::vector<NoticedRun> runs;
  for (const auto& folder : folders) collect(folder, runs);
  return runs;
}

}  // namespace assay
