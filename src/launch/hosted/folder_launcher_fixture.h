#pragma once

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "launch/hosted/folder_job.h"
#include "launch/hosted/job_host.h"
#include "launch/job.h"
#include "launch/launcher.h"
#include "launch/local/local_launcher.h"

namespace assay {

/// Measures by counting how often it was asked: three lines, of which the last one comes at the end.
class CountingWatch final : public MachineWatch {
 public:
  explicit CountingWatch(const WatchedPart& part)
      : who_(fmt::format("{} of {} with {}", part.host, part.part.of, part.processes.size())) {}
  std::string take() override { return taken_ < 2 ? line() : ""; }
  std::string finish() override { return line(); }

 private:
  std::string line() { return fmt::format("{}: {}\n", who_, taken_++); }
  std::string who_;
  int taken_ = 0;
};

/// Jobs in folders of this machine, each part hosted by a process that nobody waits for: the mechanism of the launchers
/// over a shared file system, without any. For tests.
class FolderLauncher final : public Launcher {
 public:
  explicit FolderLauncher(fs::path root) : root_(std::move(root)) {}

  std::string_view name() const override { return "folder"; }

  Result<std::unique_ptr<RunningJob>> start(const Job& job) override {
    const JobFolder folder = folder_for(root_, job.token);
    ASSAY_CHECK(folder.create(job));
    for (std::int64_t part = 0; part < job.ranks.nodes; ++part) host_apart(folder, {part, job.ranks.nodes});
    const auto begun = await_start(folder, job.ranks.nodes, SystemClock().now() + std::chrono::seconds(90));
    if (!begun) {
      std::error_code code;
      fs::remove_all(folder.path(), code);
      return begun.error();
    }
    return own_folder_job(folder, {.handle = handle_of(folder)});
  }

  Result<std::unique_ptr<RunningJob>> attach(std::string_view handle, PerStream<std::uint64_t> taken) override {
    const bool is_token = !handle.starts_with("folder:");
    const JobFolder folder =
        is_token ? folder_for(root_, handle.empty() ? "none" : handle) : JobFolder(root_ / handle.substr(7));
    return own_folder_job(folder, {.handle = std::string(handle), .taken = taken});
  }

  static std::string handle_of(const JobFolder& folder) { return "folder:" + folder.path().filename().string(); }

 private:
  /// As an orphan in a session of its own: it neither ends with us nor has to be waited for.
  static void host_apart(const JobFolder& folder, PartOfJob part) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::setsid();
      if (::fork() != 0) ::_exit(0);
      const auto local = make_local_launcher(Programs{.self = "/proc/self/exe", .engine = {}});
      const auto watch = [](const WatchedPart& watched) { return std::make_unique<CountingWatch>(watched); };
      const HostOptions options{.part = part, .watch = watch, .extra_time = std::chrono::seconds(1)};
      (void)host_job(folder, options, *local, SystemClock()).ok();
      ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
  }

  fs::path root_;
};

}  // namespace assay
