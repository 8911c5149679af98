#include "runs/follow.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/log.h"

namespace assay {
namespace {

/// What was recorded is handed to the operating system at least this often, so that even `kill -9` of assay loses
/// no more. Shorter would cost a system call and a small frame per line.
constexpr Nanos kFlushPeriod = std::chrono::milliseconds(50);
constexpr Nanos kProgressPeriod = std::chrono::milliseconds(200);
/// All writers are dead when the report is there; pipes that still do not end are held by a stranger.
constexpr Nanos kDrainLimit = std::chrono::seconds(2);
constexpr Nanos kReadingLimit = std::chrono::milliseconds(500);
/// Reads of one pipe in a row, so that a flood on one does not starve the others.
constexpr int kReadsInARow = 4;

class Follower {
 public:
  Follower(GuardedProcess& process, RunRecorder& recorder, std::vector<std::unique_ptr<MetricSource>>& sources,
           RunObserver& observer, const FollowOptions& options, const Clock& clock)
      : process_(process),
        recorder_(recorder),
        sources_(sources),
        observer_(observer),
        options_(options),
        clock_(clock),
        started_(clock.now()),
        next_sample_(started_),
        next_progress_(started_ + kProgressPeriod),
        last_flush_(started_),
        buffer_(std::size_t{256} << 10) {}

  Ending run() {
    while (!done()) {
      wait();
      const SteadyTime now = clock_.now();
      for (int i = 0; i < 3; ++i) {
        if (polled_[i].revents) read_pipe(i);
      }
      if (polled_[3].revents) take_report(now);
      if (polled_[4].revents) take_stop_request();
      check_time_limit(now);
      sample(now);
      if (dirty_ && now - last_flush_ >= kFlushPeriod) flush(now);
      if (now >= next_progress_) {
        observer_.on_progress(recorder_.facts(), now - started_);
        next_progress_ = now + kProgressPeriod;
      }
    }
    recorder_.close();
    return ending_;
  }

 private:
  bool done() const {
    if (!ended_at_) return false;
    const bool drained = !open_[0] && !open_[1] && !open_[2];
    return drained || clock_.now() - *ended_at_ > kDrainLimit;
  }

  void wait() {
    const std::array<int, 5> fds = {open_[0] ? process_.out_fd() : -1, open_[1] ? process_.error_fd() : -1,
                                    open_[2] ? process_.events_fd() : -1, ended_at_ ? -1 : process_.report_fd(),
                                    options_.stop_fd};
    for (std::size_t i = 0; i < fds.size(); ++i) polled_[i] = {.fd = fds[i], .events = POLLIN, .revents = 0};
    SteadyTime wake = std::min(next_sample_, next_progress_);
    if (dirty_) wake = std::min(wake, last_flush_ + kFlushPeriod);
    if (options_.time_limit.count() > 0 && ending_.by == EndedBy::itself)
      wake = std::min(wake, started_ + options_.time_limit);
    const auto patience = std::chrono::ceil<std::chrono::milliseconds>(wake - clock_.now()).count();
    ::poll(polled_.data(), polled_.size(), static_cast<int>(std::clamp<std::int64_t>(patience, 0, 1000)));
  }

  void read_pipe(int which) {
    const int fd = polled_[static_cast<std::size_t>(which)].fd;
    for (int i = 0; i < kReadsInARow; ++i) {
      const ssize_t got = ::read(fd, buffer_.data(), buffer_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        open_[which] = false;
        return;
      }
      dirty_ = true;
      const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
      if (which == 2) {
        recorder_.add_events(bytes);
      } else {
        const auto stream = which == 0 ? OutputStream::out : OutputStream::error;
        const std::string_view text = recorder_.add_output(stream, bytes);
        if (!text.empty()) observer_.on_output(stream, text);
      }
    }
  }

  void take_report(SteadyTime now) {
    auto report = process_.poll_report();
    if (!report) {
      ending_.guard_error = std::move(report).error();
    } else if (*report) {
      ending_.report = **report;
    } else {
      return;
    }
    // One more reading at the very end: a run shorter than the period has rates, too.
    read_sources(now);
    ended_at_ = now;
  }

  void take_stop_request() {
    char byte = 0;
    if (::read(options_.stop_fd, &byte, 1) != 1) return;
    if (ending_.by == EndedBy::user) {
      process_.kill_now();
    } else if (byte == FollowOptions::kInterrupt) {
      process_.interrupt();
    } else {
      process_.stop();
    }
    ending_.by = EndedBy::user;
  }

  void check_time_limit(SteadyTime now) {
    if (options_.time_limit.count() == 0 || ending_.by != EndedBy::itself || ended_at_) return;
    if (now - started_ < options_.time_limit) return;
    ending_.by = EndedBy::time_limit;
    process_.stop();
  }

  void sample(SteadyTime now) {
    if (now < next_sample_ || ended_at_) return;
    read_sources(now);
    // On the grid of the start, so that a late reading does not shift the next ones.
    while (next_sample_ <= now) next_sample_ += options_.sample_period;
  }

  void read_sources(SteadyTime now) {
    for (auto& source : sources_) {
      auto reading = source->read(now + kReadingLimit);
      if (reading) {
        recorder_.add_reading(*reading);
        dirty_ = true;
      } else {
        log_debug("{}: {}", source->name(), reading.error().text());
      }
    }
  }

  void flush(SteadyTime now) {
    recorder_.flush();
    dirty_ = false;
    last_flush_ = now;
  }

  GuardedProcess& process_;
  RunRecorder& recorder_;
  std::vector<std::unique_ptr<MetricSource>>& sources_;
  RunObserver& observer_;
  const FollowOptions& options_;
  const Clock& clock_;
  SteadyTime started_;
  SteadyTime next_sample_;
  SteadyTime next_progress_;
  SteadyTime last_flush_;
  std::optional<SteadyTime> ended_at_;
  std::vector<char> buffer_;
  std::array<pollfd, 5> polled_{};
  std::array<bool, 3> open_ = {true, true, true};  ///< output, error, events
  bool dirty_ = false;
  Ending ending_;
};

}  // namespace

Ending follow(GuardedProcess& process, RunRecorder& recorder, std::vector<std::unique_ptr<MetricSource>>& sources,
              RunObserver& observer, const FollowOptions& options, const Clock& clock) {
  return Follower(process, recorder, sources, observer, options, clock).run();
}

}  // namespace assay
