#include "launch/local/local_launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/guard.h"
#include "base/ids.h"
#include "launch/job.h"
#include "launch/job_ending.h"
#include "launch/living_jobs.h"

namespace assay {
namespace {

JobEnding ending_from(GuardReport report) {
  return {.exit_code = report.exit_code,
          .signal = report.signal,
          .usage = JobUsage{.user_time = report.user_time,
                            .system_time = report.system_time,
                            .peak_rss_bytes = report.peak_rss_bytes},
          .left_behind = std::move(report.left_behind),
          .still_running = std::move(report.still_running),
          .stopped = report.stopped};
}

std::string own_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

class LocalJob final : public RunningJob {
 public:
  LocalJob(GuardedProcess process, std::optional<ControlGroup> group, LivingName token, LivingName handle)
      : token_(std::move(token)), handle_(std::move(handle)), group_(std::move(group)), process_(std::move(process)) {
    fds_[JobStream::out] = process_.out_fd();
    fds_[JobStream::error] = process_.error_fd();
    fds_[JobStream::events] = process_.events_fd();
    fds_[JobStream::readings] = -1;
  }

  JobReady wait(SteadyTime deadline, int wake_fd) override {
    // poll passes over what is below zero.
    constexpr std::size_t kReport = kJobStreams.size();
    std::array<pollfd, kReport + 2> watched{};
    for (std::size_t i = 0; i < kJobStreams.size(); ++i) watched[i].fd = fds_.values[i];
    watched[kReport].fd = ending_told_ ? -1 : process_.report_fd();
    watched[kReport + 1].fd = wake_fd;
    for (auto& source : watched) source.events = POLLIN;
    // Nobody measures for it: that stream has nothing but its end, and that comes with the job's.
    const bool only_readings_open = ending_told_ && !readings_end_told_;
    if (only_readings_open) deadline = SteadyTime();
    const auto patience = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().now()).count();
    JobReady ready;
    ready.streams[JobStream::readings] = only_readings_open;
    if (::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<std::int64_t>(patience, 0, 60'000))) <= 0) {
      return ready;
    }
    for (const auto stream : {JobStream::out, JobStream::error, JobStream::events}) {
      ready.streams[stream] = watched[static_cast<std::size_t>(stream)].revents != 0;
    }
    ready.ended = watched[kReport].revents != 0;
    ready.woken = watched[kReport + 1].revents != 0;
    return ready;
  }

  std::optional<std::size_t> read(JobStream stream, std::span<char> into) override {
    if (stream == JobStream::readings) {
      if (!ending_told_) return 0;
      readings_end_told_ = true;
    }
    int& fd = fds_[stream];
    while (fd >= 0) {
      const ssize_t got = ::read(fd, into.data(), into.size());
      if (got > 0) return static_cast<std::size_t>(got);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return 0;
      fd = -1;
    }
    return std::nullopt;
  }

  void interrupt(Nanos grace) override { process_.interrupt(grace); }
  void stop(Nanos grace) override { process_.stop(grace); }
  void kill() override { process_.kill_now(); }

  Result<std::optional<JobEnding>> ending() override {
    auto report = process_.poll_report();
    ending_told_ = !report || report->has_value();
    if (!report) return std::move(report).error();
    if (!*report) return std::optional<JobEnding>();
    auto ending = ending_from(**std::move(report));
    ending.out_of_memory = group_ && group_->ran_out_of_memory();
    return std::optional(std::move(ending));
  }

  std::string handle() const override { return handle_.text(); }
  std::optional<pid_t> first_process() const override { return process_.workload_pid(); }

 private:
  LivingName token_, handle_;  ///< given back after the job has ended
  std::optional<ControlGroup> group_;
  GuardedProcess process_;
  PerStream<int> fds_;  ///< of `process_`; -1: at its end
  bool ending_told_ = false;
  bool readings_end_told_ = false;
};

class LocalLauncher final : public Launcher {
 public:
  LocalLauncher(std::optional<Programs> programs, std::optional<Confinement> confinement,
                std::optional<ControlGroups> groups)
      : programs_(std::move(programs)), confinement_(std::move(confinement)), groups_(std::move(groups)) {}

  std::string_view name() const override { return "local"; }

  Result<std::unique_ptr<RunningJob>> start(const Job& asked) override {
    ASSAY_TRY(const Job job, with_own_paths(asked));
    LivingName token(living_, job.token);
    if (!token.ours()) {
      return Error{.kind = ErrorKind::busy,
                   .message = fmt::format("the job '{}' was started already and still runs", job.token)};
    }
    if (confinement_ && job.scratch) ASSAY_CHECK(hand_over(*job.scratch, confinement_->user));
    const std::string id = new_id();
    std::optional<ControlGroup> group;
    if (groups_) {
      ASSAY_TRY(auto made, groups_->make(id));
      group.emplace(std::move(made));
    }
    ASSAY_TRY(auto process, GuardedProcess::start({.arguments = job.arguments,
                                                   .environment = environment_with_devices(job),
                                                   .folder = job.folder,
                                                   .inherit_input = job.inherit_input,
                                                   .grace = job.grace,
                                                   .confinement = confinement_,
                                                   .group = group ? std::optional(group->folder()) : std::nullopt}));
    LivingName handle(living_, "local:" + id);
    return std::unique_ptr<RunningJob>(
        std::make_unique<LocalJob>(std::move(process), std::move(group), std::move(token), std::move(handle)));
  }

  Result<std::unique_ptr<RunningJob>> attach(std::string_view handle, PerStream<std::uint64_t>) override {
    if (living_.contains(handle)) {
      return Error{.kind = ErrorKind::busy, .message = fmt::format("the job '{}' has its owner already", handle)};
    }
    return Error{
        .kind = ErrorKind::not_found,
        .message = fmt::format("the job '{}' is gone: on this machine a job ends with whoever started it", handle),
        .hint = "Start it again."};
  }

 private:
  Result<Job> with_own_paths(const Job& job) const {
    if (job.ranks.nodes > 1) {
      return Error{
          .kind = ErrorKind::unsupported,
          .message = fmt::format("this run needs {} nodes, and `assay run` has this machine alone", job.ranks.nodes),
          .hint =
              "Name more of them, for example with '--on ssh:gpu01,gpu02', or ask a leader whose agents take it: "
              "'--leader URL'."};
    }
    if (!job.nodes.empty() && job.nodes.front() != own_name()) {
      return Error{.kind = ErrorKind::unsupported,
                   .message = fmt::format("this run is pinned to the node '{}', and this machine is '{}'",
                                          job.nodes.front(), own_name()),
                   .hint = fmt::format("Run it there: --on ssh:{0}, or --node {0} with a leader.", job.nodes.front())};
    }
    if (job.ranks.per_node > 1) {
      return Error{.kind = ErrorKind::unsupported, .message = "on one machine, a job starts its ranks by itself"};
    }
    if (!programs_) return job;
    if (needs_engine(job) && programs_->engine.empty()) return no_engine_error();
    return with_paths_of_place(job, {.assay = programs_->self.string(),
                                     .engine = programs_->engine.string(),
                                     .scratch = job.scratch ? job.scratch->string() : std::string()});
  }

  const std::optional<Programs> programs_;
  const std::optional<Confinement> confinement_;
  const std::optional<ControlGroups> groups_;
  LivingJobs living_;
};

}  // namespace

std::unique_ptr<Launcher> make_local_launcher(std::optional<Programs> programs, std::optional<Confinement> confinement,
                                              std::optional<ControlGroups> groups) {
  return std::make_unique<LocalLauncher>(std::move(programs), std::move(confinement), std::move(groups));
}

}  // namespace assay
