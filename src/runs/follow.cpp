#include "runs/follow.h"

#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "launch/job_stream.h"
#include "launch/launcher.h"
#include "runs/judge.h"
#include "runs/recorder.h"
#include "telemetry/metric_source.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

/// What was recorded is handed to the operating system at least this often, so that even `kill -9` of assay loses
/// no more. Shorter would cost a system call and a small frame per line.
constexpr Nanos kFlushPeriod = std::chrono::milliseconds(50);
/// Between marks of a workload that is silent: as long, at most, the time without an owner seems longer than it was.
constexpr Nanos kMarkPeriod = std::chrono::seconds(10);
constexpr Nanos kProgressPeriod = std::chrono::milliseconds(200);
/// All writers are dead when the job has ended; streams that still do not end are held by a stranger.
constexpr Nanos kDrainLimit = std::chrono::seconds(2);
constexpr Nanos kReadingLimit = std::chrono::milliseconds(500);
/// Reads of one stream in a row, so that a flood on one does not starve the others.
constexpr int kReadsInARow = 4;

class Follower {
 public:
  Follower(RunningJob& job, RunRecorder& recorder, std::vector<std::unique_ptr<MetricSource>>& sources,
           RunObserver& observer, const FollowOptions& options, const Clock& clock)
      : job_(job),
        recorder_(recorder),
        sources_(sources),
        observer_(observer),
        options_(options),
        stop_fd_(options.stop_fd),
        clock_(clock),
        started_(clock.now() - options.elapsed),
        next_sample_(clock.now()),
        next_progress_(clock.now() + kProgressPeriod),
        last_flush_(clock.now()),
        buffer_(std::size_t{256} << 10) {}

  Ending run() {
    while (!done()) {
      const JobReady ready = job_.wait(next_wake(), stop_fd_);
      // One that was told to end in its queue is in none afterwards, either.
      if (ending_.by == EndedBy::itself && !ready.ended) began_ = began_ || job_.waiting().empty();
      const SteadyTime now = clock_.now();
      for (const auto stream : kJobStreams) {
        if (ready.streams[stream]) read_stream(stream);
      }
      if (ready.ended) take_ending(now);
      first_look_ = false;
      if (ready.woken) take_stop_request();
      check_time_limit(now);
      sample(now);
      if (now - last_flush_ >= (dirty_ ? kFlushPeriod : kMarkPeriod)) flush(now);
      if (now >= next_progress_) {
        observer_.on_progress(recorder_.facts(), now - started_);
        next_progress_ = now + kProgressPeriod;
      }
    }
    // Of one that has run for a moment between two looks, its place knows for how long.
    ending_.never_began = ending_.by == EndedBy::user && !began_ && !ending_.job.ran_for;
    // What is left in the streams is for whoever attaches.
    ending_.left ? recorder_.flush() : recorder_.close();
    return ending_;
  }

 private:
  bool done() const {
    if (ending_.left) return true;
    if (!ended_at_) return false;
    return closed_ == kJobStreams.size() || clock_.now() - *ended_at_ > kDrainLimit;
  }

  SteadyTime next_wake() const {
    SteadyTime wake = next_progress_;
    if (dirty_) wake = std::min(wake, last_flush_ + kFlushPeriod);
    if (ended_at_) return wake;
    if (options_.time_limit.count() > 0 && ending_.by == EndedBy::itself)
      wake = std::min(wake, started_ + options_.time_limit);
    return std::min(wake, next_sample_);
  }

  void read_stream(JobStream stream) {
    for (int i = 0; i < kReadsInARow; ++i) {
      const auto got = job_.read(stream, buffer_);
      if (!got) ++closed_;
      if (!got || *got == 0) return;
      dirty_ = began_ = true;
      const std::string_view bytes(buffer_.data(), *got);
      if (stream == JobStream::events) {
        recorder_.add_events(bytes);
      } else if (stream == JobStream::readings) {
        recorder_.add_readings(bytes);
      } else {
        const auto output = stream == JobStream::out ? OutputStream::out : OutputStream::error;
        const std::string_view text = recorder_.add_output(output, bytes);
        if (!text.empty()) observer_.on_output(output, text);
      }
    }
  }

  void take_ending(SteadyTime now) {
    auto ending = job_.ending();
    if (!ending) {
      ending_.lost = std::move(ending).error();
    } else if (*ending) {
      ending_.job = **std::move(ending);
    } else {
      return;
    }
    ending_.at_first_look = first_look_;
    // One more reading at the very end: a run shorter than the period has rates, too.
    read_sources(now);
    ended_at_ = now;
  }

  void take_stop_request() {
    char byte = 0;
    const ssize_t got = ::read(stop_fd_, &byte, 1);
    if (got == 0) stop_fd_ = -1;  // nobody is left who could ask
    if (got != 1) return;
    if (byte == FollowOptions::kLeave) {
      ending_.left = !ended_at_ && ending_.by == EndedBy::itself;
      return;
    }
    if (byte == FollowOptions::kLostPeer) {
      if (ending_.by != EndedBy::itself) return;
      job_.stop(options_.grace);
      ending_.by = EndedBy::lost_peer;
      return;
    }
    if (ending_.by == EndedBy::user) {
      job_.kill();
    } else if (byte == FollowOptions::kInterrupt) {
      job_.interrupt(options_.grace);
    } else {
      job_.stop(options_.grace);
    }
    ending_.by = EndedBy::user;
  }

  void check_time_limit(SteadyTime now) {
    if (options_.time_limit.count() == 0 || ending_.by != EndedBy::itself || ended_at_) return;
    if (now - started_ < options_.time_limit) return;
    ending_.by = EndedBy::time_limit;
    job_.stop(options_.grace);
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

  RunningJob& job_;
  RunRecorder& recorder_;
  std::vector<std::unique_ptr<MetricSource>>& sources_;
  RunObserver& observer_;
  const FollowOptions& options_;
  int stop_fd_;
  const Clock& clock_;
  SteadyTime started_;
  SteadyTime next_sample_;
  SteadyTime next_progress_;
  SteadyTime last_flush_;
  std::optional<SteadyTime> ended_at_;
  std::vector<char> buffer_;
  std::size_t closed_ = 0;  ///< streams that have ended
  bool dirty_ = false;
  bool first_look_ = true;
  bool began_ = false;  ///< it is in no queue of its place any more
  Ending ending_;
};

}  // namespace

void await_turn(RunningJob& job, RunObserver& observer, int stop_fd, const Clock& clock) {
  const SteadyTime began = clock.now();
  for (auto why = job.waiting(); !why.empty(); why = job.waiting()) {
    observer.on_waiting(why, clock.now() - began);
    const JobReady ready = job.wait(clock.now() + kProgressPeriod, stop_fd);
    // Left for `follow` to take.
    if (ready.woken || ready.ended) return;
  }
}

Ending follow(RunningJob& job, RunRecorder& recorder, std::vector<std::unique_ptr<MetricSource>>& sources,
              RunObserver& observer, const FollowOptions& options, const Clock& clock) {
  return Follower(job, recorder, sources, observer, options, clock).run();
}

}  // namespace assay
