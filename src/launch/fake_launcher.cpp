#include "launch/fake_launcher.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

namespace assay {

namespace {

/// Behind the time limit of a job, which whoever asked keeps.
constexpr Nanos kExtraTime = std::chrono::minutes(1);

}  // namespace

/// A job as it goes on, whoever looks at it.
class FakeWork {
 public:
  FakeWork(Job job, JobScript script, std::string handle, SteadyTime now)
      : job_(std::move(job)),
        script_(std::move(script)),
        handle_(std::move(handle)),
        runs_at_(now + script_.queued),
        step_at_(runs_at_) {
    if (job_.time_limit > Nanos(0)) stop_at_ = runs_at_ + job_.time_limit + kExtraTime;
    stop_grace_ = job_.grace;
  }

  const std::string& handle() const { return handle_; }
  const std::string& token() const { return job_.token; }
  bool ended() const { return ended_; }
  bool is_queued(SteadyTime now) const { return !ended_ && now < runs_at_; }
  bool streams_ended() const { return ended_ && !script_.holds_streams; }
  const std::string& written(JobStream stream) const { return written_[stream]; }

  Result<std::optional<JobEnding>> ending() const {
    if (ended_ && script_.lost) return *script_.lost;
    return ended_ ? std::optional(ending_) : std::nullopt;
  }

  /// When the next thing happens; never, if nothing does.
  SteadyTime next() const { return ended_ ? SteadyTime::max() : std::min({step_at_, stop_at_, kill_at_}); }

  /// Does everything that is due.
  void play(SteadyTime now) {
    while (!ended_ && next() <= now) {
      if (kill_at_ <= std::min(step_at_, stop_at_)) {
        end({.signal = SIGKILL});
      } else if (stop_at_ <= step_at_) {
        stop(stop_at_, stop_grace_);
      } else if (step_ < script_.steps.size()) {
        std::visit([this](const auto& step) { perform(step); }, script_.steps[step_++]);
      } else if (script_.forever) {
        step_at_ = SteadyTime::max();
      } else {
        end_by_itself();
      }
    }
  }

  void interrupt(SteadyTime now, Nanos grace) {
    if (ended_) return;
    stop_at_ = now + grace;
    stop_grace_ = grace;
    take(SIGINT, script_.on_interrupt);
  }
  void stop(SteadyTime now, Nanos grace) {
    if (ended_) return;
    stop_at_ = SteadyTime::max();
    kill_at_ = std::min(kill_at_, now + grace);
    take(SIGTERM, script_.on_terminate);
  }
  void kill() {
    if (!ended_) take(SIGKILL, {});
  }
  void lose(const Error& why) {
    if (std::exchange(ended_, true)) return;
    script_.lost = why;
  }

  bool has_owner = false;

 private:
  void perform(const JobScript::Say& step) { written_[step.stream] += step.text; }
  void perform(const JobScript::Flood& step) { written_[step.stream].append(step.bytes, 'x'); }
  void perform(const JobScript::Wait& step) { step_at_ += step.duration; }
  void perform(const JobScript::SayFolder&) {
    written_[JobStream::out] += job_.folder.value_or("/").lexically_normal().string() + "\n";
  }
  void perform(const JobScript::SayVariable& step) {
    const auto environment = environment_with_devices(job_);
    const auto found = environment.find(step.name);
    written_[JobStream::out] += found == environment.end() ? fmt::format("{} is not set\n", step.name)
                                                           : fmt::format("{}={}\n", step.name, found->second);
  }

  void take(int signal, const JobScript::OnSignal& reaction) {
    ending_.stopped = true;
    if (reaction.ignores) return;
    if (reaction.exit_code) {
      written_[JobStream::out] += "cleaned up\n";
      end({.exit_code = reaction.exit_code});
    } else {
      end({.signal = signal});
    }
  }
  void end_by_itself() {
    JobEnding ending{.left_behind = script_.leaves_behind};
    if (script_.signal) {
      ending.signal = script_.signal;
    } else {
      ending.exit_code = script_.exit_code;
    }
    end(std::move(ending));
  }
  void end(JobEnding ending) {
    ending.stopped = ending_.stopped;
    ending.usage = script_.usage;
    ending.ran_for = script_.ran_for;
    ending_ = std::move(ending);
    ended_ = true;
  }

  Job job_;
  JobScript script_;
  std::string handle_;
  PerStream<std::string> written_;
  SteadyTime runs_at_;
  std::size_t step_ = 0;
  SteadyTime step_at_;
  SteadyTime stop_at_ = SteadyTime::max();
  Nanos stop_grace_{};
  SteadyTime kill_at_ = SteadyTime::max();
  JobEnding ending_;
  bool ended_ = false;
};

namespace {

bool is_readable(int fd) {
  pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
  return fd >= 0 && ::poll(&watched, 1, 0) > 0;
}

class FakeJob final : public RunningJob {
 public:
  FakeJob(std::shared_ptr<FakeWork> work, ManualClock& clock, PerStream<std::uint64_t> taken)
      : work_(std::move(work)), clock_(clock), taken_(taken) {
    work_->has_owner = true;
  }
  ~FakeJob() override { work_->has_owner = false; }

  JobReady wait(SteadyTime deadline, int wake_fd) override {
    for (;;) {
      work_->play(clock_.now());
      const JobReady ready = look(wake_fd);
      const bool any = ready.ended || ready.woken || any_of(ready.streams);
      if (any || clock_.now() >= deadline) return ready;
      clock_.advance(std::min(deadline, work_->next()) - clock_.now());
    }
  }

  std::optional<std::size_t> read(JobStream stream, std::span<char> into) override {
    work_->play(clock_.now());
    const std::string_view all = work_->written(stream);
    const std::string_view rest = all.substr(std::min<std::size_t>(taken_[stream], all.size()));
    if (rest.empty() && work_->streams_ended()) {
      closed_[stream] = true;
      return std::nullopt;
    }
    const std::size_t count = std::min(rest.size(), into.size());
    std::memcpy(into.data(), rest.data(), count);
    taken_[stream] += count;
    return count;
  }

  void interrupt(Nanos grace) override {
    work_->play(clock_.now());
    work_->interrupt(clock_.now(), grace);
  }
  void stop(Nanos grace) override {
    work_->play(clock_.now());
    work_->stop(clock_.now(), grace);
  }
  void kill() override {
    work_->play(clock_.now());
    work_->kill();
  }

  Result<std::optional<JobEnding>> ending() override {
    work_->play(clock_.now());
    ending_told_ = work_->ended();
    return work_->ending();
  }
  std::string waiting() const override { return work_->is_queued(clock_.now()) ? "waits for its turn" : ""; }
  std::string handle() const override { return work_->handle(); }
  std::optional<pid_t> first_process() const override { return std::nullopt; }

 private:
  JobReady look(int wake_fd) const {
    JobReady ready{.streams = {}, .ended = work_->ended() && !ending_told_, .woken = is_readable(wake_fd)};
    for (const auto stream : kJobStreams) {
      ready.streams[stream] =
          taken_[stream] < work_->written(stream).size() || (work_->streams_ended() && !closed_[stream]);
    }
    return ready;
  }

  std::shared_ptr<FakeWork> work_;
  ManualClock& clock_;
  PerStream<std::uint64_t> taken_;
  PerStream<bool> closed_;
  bool ending_told_ = false;
};

}  // namespace

FakeLauncher::~FakeLauncher() = default;

void FakeLauncher::lose_all(const Error& why) {
  for (const auto& work : works_) work->lose(why);
}

Result<std::unique_ptr<RunningJob>> FakeLauncher::start(const Job& job) {
  if (job.arguments.empty()) return Error{.kind = ErrorKind::usage, .message = "no program"};
  if (job.inherit_input) return Error{.kind = ErrorKind::unsupported, .message = "a fake job has no standard input"};
  for (const auto& work : works_) {
    // Also one that has ended: whoever asked may not have heard of it.
    if (job.token.empty() || work->token() != job.token) continue;
    return Error{.kind = ErrorKind::busy, .message = fmt::format("the job '{}' was started already", job.token)};
  }
  started.push_back(job);
  works_.push_back(std::make_shared<FakeWork>(job, script, fmt::format("fake:{}", works_.size() + 1), clock_.now()));
  return std::unique_ptr<RunningJob>(std::make_unique<FakeJob>(works_.back(), clock_, PerStream<std::uint64_t>()));
}

Result<std::unique_ptr<RunningJob>> FakeLauncher::attach(std::string_view handle, PerStream<std::uint64_t> taken) {
  const auto work = std::find_if(works_.begin(), works_.end(), [&](const auto& candidate) {
    return candidate->handle() == handle || (!handle.empty() && candidate->token() == handle);
  });
  if (work == works_.end()) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("no job '{}' was started here", handle)};
  }
  if ((*work)->has_owner) {
    return Error{.kind = ErrorKind::busy, .message = fmt::format("the job '{}' has its owner already", handle)};
  }
  return std::unique_ptr<RunningJob>(std::make_unique<FakeJob>(*work, clock_, taken));
}

}  // namespace assay
