#include "launch/hosted/job_host.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/process_tree.h"
#include "base/text.h"
#include "launch/hosted/rank_output.h"
#include "launch/job.h"
#include "launch/job_ending.h"

namespace assay {
namespace {

// Wishes are looked for so often. Not by inotify: it does not see what another machine of a network file system does.
constexpr Nanos kWishPeriod = std::chrono::milliseconds(100);
// With several processes, the longest that output of one waits while another one is listened to.
constexpr Nanos kListenPeriod = std::chrono::milliseconds(20);
// All writers are dead when a job has ended; a stream that still does not end is held by a stranger.
constexpr Nanos kStreamPatience = std::chrono::seconds(2);
// Nodes of one job need not start at once: images are pulled, queues are long.
constexpr Nanos kRendezvousPatience = std::chrono::minutes(10);
constexpr Nanos kRendezvousPause = std::chrono::milliseconds(200);
// Of the program's exit codes: this machine cannot.
constexpr int kCannot = 3;

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("localhost");
}

HostRecord describe_host(int port, json::object machine) {
  const auto self = read_process_stat(::getpid());
  return {.host = machine_name(),
          .pid = ::getpid(),
          .start_ticks = self ? self->start_ticks : 0,
          .boot = std::string(trim(read_file("/proc/sys/kernel/random/boot_id", 256).value_or(""))),
          .rendezvous_port = port,
          .machine = std::move(machine)};
}

/// Files of one part, open for appending.
struct PartFiles {
  PerStream<FileDescriptor> streams;

  static Result<PartFiles> open(const JobFolder& folder, std::int64_t part) {
    PartFiles files;
    for (const auto stream : kJobStreams) {
      ASSAY_TRY(files.streams[stream], open_file(folder.stream(part, stream), O_WRONLY | O_CREAT | O_APPEND, 0600));
    }
    return files;
  }
};

/// One process of the job on this machine.
class HostedRank {
 public:
  HostedRank(std::unique_ptr<RunningJob> job, std::int64_t rank, const PartFiles& files)
      : job_(std::move(job)),
        out_(files.streams[JobStream::out].get(), mark_of(rank)),
        error_(files.streams[JobStream::error].get(), mark_of(rank)),
        events_(files.streams[JobStream::events].get(), ""),
        speaks_(rank == 0) {}

  RunningJob& job() { return *job_; }
  const std::optional<PartEnding>& ending() const { return ending_; }

  /// Waits, takes what there is, and says whether that was anything. `woken` becomes true with the descriptor.
  Result<bool> listen(SteadyTime deadline, int wake_fd, bool& woken, const Clock& clock) {
    const JobReady ready = job_->wait(deadline, wake_fd);
    woken = woken || ready.woken;
    bool anything = false;
    for (const auto stream : kJobStreams) {
      if (!ready.streams[stream]) continue;
      anything = true;
      ASSAY_CHECK(take(stream));
    }
    if (ready.ended && !ending_) {
      auto ending = job_->ending();
      if (!ending || *ending) {
        anything = true;
        ending_ = ending ? PartEnding(**std::move(ending)) : PartEnding(std::move(ending).error());
        ended_at_ = clock.now();
      }
    }
    return anything;
  }

  bool is_done(SteadyTime now) const { return ending_ && (all_of(closed_) || now > ended_at_ + kStreamPatience); }

  Result<void> finish() {
    ASSAY_CHECK(out_.finish());
    return error_.finish();
  }

 private:
  static std::string mark_of(std::int64_t rank) { return rank == 0 ? "" : fmt::format("[rank {}] ", rank); }

  Result<void> take(JobStream stream) {
    std::array<char, 65536> buffer;
    const auto got = job_->read(stream, buffer);
    if (!got) {
      closed_[stream] = true;
      return {};
    }
    const std::string_view bytes(buffer.data(), *got);
    if (stream == JobStream::events) return speaks_ ? events_.add(bytes) : Result<void>();
    return (stream == JobStream::out ? out_ : error_).add(bytes);
  }

  std::unique_ptr<RunningJob> job_;
  RankOutput out_, error_, events_;
  bool speaks_;
  PerStream<bool> closed_;
  std::optional<PartEnding> ending_;
  SteadyTime ended_at_;
};

bool is_removed(const JobFolder& folder) {
  std::error_code code;
  return !fs::exists(folder.order(), code);
}

class JobHost {
 public:
  JobHost(const JobFolder& folder, const HostOptions& options, Launcher& local, const Clock& clock)
      : folder_(folder), options_(options), local_(local), clock_(clock), stop_fd_(options.stop_fd) {}

  PartEnding host() {
    ASSAY_TRY(job_, folder_.read_job());
    job_.scratch = folder_.scratch();
    if (is_unwanted()) return JobEnding{.signal = SIGTERM, .stopped = true};
    int port = 0;
    ASSAY_TRY(const auto rendezvous, meeting_place(port));
    auto machine = options_.describe_machine();
    ASSAY_TRY(files_, PartFiles::open(folder_, options_.part.number));
    started_ = clock_.now();
    ASSAY_CHECK(start(rendezvous));
    ASSAY_CHECK(write_file_atomically(folder_.host(options_.part.number),
                                      pretty_json(to_json(describe_host(port, std::move(machine))))));
    begin_watch();
    ASSAY_CHECK(follow());
    if (watch_) keep_readings(watch_->finish());
    return together();
  }

 private:
  /// Whether its owner does not want it any more.
  bool is_unwanted() {
    const auto wish = folder_.read_wish(options_.part.number);
    return wish && wish->has_value();
  }

  Result<Rendezvous> meeting_place(int& port) {
    if (options_.part.of * job_.ranks.per_node == 1) return Rendezvous();
    if (options_.rendezvous && options_.rendezvous->port != 0) return *options_.rendezvous;
    // Told alone: the place knows the name under which the others reach us, and nobody knows a free port.
    std::string address = options_.rendezvous ? options_.rendezvous->address : machine_name();
    if (options_.part.number == 0) {
      port = unused_port();
      if (port == 0) return Error{.kind = ErrorKind::io, .message = "no port is free for the ranks to meet at"};
      return Rendezvous{.address = options_.part.of == 1 ? "127.0.0.1" : std::move(address), .port = port};
    }
    const auto limit = clock_.now() + kRendezvousPatience;
    while (clock_.now() < limit) {
      if (is_unwanted()) return Error{.kind = ErrorKind::interrupted, .message = "it was stopped before it began"};
      ASSAY_TRY(const auto first, folder_.read_host(0));
      if (first) return Rendezvous{.address = first->host, .port = first->rendezvous_port};
      std::this_thread::sleep_for(kRendezvousPause);
    }
    return Error{.kind = ErrorKind::lost_peer,
                 .message = fmt::format("the first of {} nodes did not begin within {} min", options_.part.of,
                                        std::chrono::ceil<std::chrono::minutes>(kRendezvousPatience).count())};
  }

  Result<void> start(const Rendezvous& rendezvous) {
    for (std::int64_t local = 0; local < job_.ranks.per_node; ++local) {
      Job one = job_;
      for (const auto& [name, value] : rank_variables(job_.ranks, options_.part, local, rendezvous)) {
        one.environment[name] = value;
      }
      one.ranks = {};
      one.nodes.clear();
      if (!one.token.empty()) one.token += fmt::format("/{}/{}", options_.part.number, local);
      ASSAY_TRY(auto running, local_.start(one));
      ranks_.emplace_back(std::move(running), options_.part.number * job_.ranks.per_node + local, files_);
    }
    return {};
  }

  void begin_watch() {
    if (!options_.watch || job_.reading_period.count() == 0) return;
    WatchedPart watched{.job = job_, .part = options_.part, .host = machine_name(), .processes = {}};
    const auto number = static_cast<std::size_t>(options_.part.number);
    if (number < job_.nodes.size()) watched.host = job_.nodes[number];
    for (auto& rank : ranks_) {
      if (const auto process = rank.job().first_process()) watched.processes.push_back(*process);
    }
    watch_ = options_.watch(watched);
  }

  /// What cannot be written is missing in the record of the run; its work is not ended for that.
  void keep_readings(std::string_view lines) {
    if (lines.empty() || readings_lost_) return;
    if (auto written = write_all(files_.streams[JobStream::readings].get(), lines); !written) {
      readings_lost_ = true;
      log_warning("readings of the machine are lost: {}", written.error().text());
    }
  }

  Result<void> follow() {
    while (true) {
      const auto now = clock_.now();
      if (std::all_of(ranks_.begin(), ranks_.end(), [&](const HostedRank& rank) { return rank.is_done(now); })) break;
      ASSAY_CHECK(listen(now));
      take_wish();
      keep_time(clock_.now());
    }
    for (auto& rank : ranks_) ASSAY_CHECK(rank.finish());
    return {};
  }

  Result<void> listen(SteadyTime now) {
    bool woken = false;
    bool anything = false;
    for (auto& rank : ranks_) {
      // A single one is waited for; of several, each is asked what there is.
      ASSAY_TRY(const bool heard, rank.listen(ranks_.size() == 1 ? now + kWishPeriod : now,
                                              ranks_.size() == 1 ? stop_fd_ : -1, woken, clock_));
      anything = anything || heard;
      if (first_failed_ == nullptr && rank.ending() && has_failed(*rank.ending())) {
        first_failed_ = &rank;
        end_others_at_ = clock_.now() + job_.grace;
      }
    }
    if (!anything && ranks_.size() > 1) {
      ASSAY_TRY(const bool heard, ranks_.front().listen(now + kListenPeriod, stop_fd_, woken, clock_));
      (void)heard;
    }
    if (woken) obey_signal();
    if (watch_) keep_readings(watch_->take());
    options_.on_look();
    return {};
  }

  void obey_signal() {
    char byte = 0;
    const ssize_t got = ::read(stop_fd_, &byte, 1);
    if (got == 0) stop_fd_ = -1;  // nobody is left who could ask
    if (got != 1) return;
    const auto kind = asked_to_end_ ? JobWish::Kind::kill
                      : byte == 'i' ? JobWish::Kind::interrupt
                                    : JobWish::Kind::stop;
    asked_to_end_ = true;
    grant({.kind = kind, .grace = job_.grace});
  }

  void take_wish() {
    const auto now = clock_.now();
    if (now < look_for_wish_at_) return;
    look_for_wish_at_ = now + kWishPeriod;
    // Nobody could ever learn how it went on.
    if (is_removed(folder_)) return grant({.kind = JobWish::Kind::kill});
    const auto wish = folder_.read_wish(options_.part.number);
    if (!wish) {
      log_warning("{}", wish.error().text());
    } else if (*wish && (*wish)->sequence > last_wish_) {
      last_wish_ = (*wish)->sequence;
      grant(**wish);
    }
  }

  void grant(const JobWish& wish) {
    for (auto& rank : ranks_) {
      switch (wish.kind) {
        case JobWish::Kind::interrupt: rank.job().interrupt(wish.grace); break;
        case JobWish::Kind::stop: rank.job().stop(wish.grace); break;
        case JobWish::Kind::kill: rank.job().kill(); break;
      }
    }
  }

  void keep_time(SteadyTime now) {
    if (job_.time_limit.count() > 0 && !out_of_time_ && now > started_ + job_.time_limit + options_.extra_time) {
      out_of_time_ = true;
      log_warning("nobody ended the job '{}' at its time limit; it is ended here", job_.name);
      grant({.kind = JobWish::Kind::stop, .grace = job_.grace});
    }
    if (end_others_at_ && now > *end_others_at_) {
      end_others_at_.reset();
      for (auto& rank : ranks_) {
        if (!rank.ending()) rank.job().stop(job_.grace);
      }
    }
  }

  PartEnding together() const {
    const PartEnding& decisive = first_failed_ ? *first_failed_->ending() : *ranks_.front().ending();
    if (!decisive) return decisive;
    JobEnding ending = *decisive;
    ending.ran_for = clock_.now() - started_;
    for (const auto& rank : ranks_) {
      if (&*rank.ending() != &decisive) add_to(ending, *rank.ending());
    }
    return ending;
  }

  const JobFolder& folder_;
  const HostOptions& options_;
  Launcher& local_;
  const Clock& clock_;
  int stop_fd_;
  Job job_;
  PartFiles files_;
  std::vector<HostedRank> ranks_;
  std::unique_ptr<MachineWatch> watch_;  // after the ranks: it is gone before they are
  bool readings_lost_ = false;
  SteadyTime started_;
  SteadyTime look_for_wish_at_;
  std::int64_t last_wish_ = 0;
  bool asked_to_end_ = false;
  bool out_of_time_ = false;
  const HostedRank* first_failed_ = nullptr;  ///< of `ranks_`
  std::optional<SteadyTime> end_others_at_;
};

}  // namespace

PartEnding host_job(const JobFolder& folder, const HostOptions& options, Launcher& local, const Clock& clock) {
  const auto part = options.part.number;
  // The fence: made by exactly one of several that are asked for the same part, also over NFS, and never again.
  if (::mkdir(folder.part(part).c_str(), 0700) != 0) {
    if (errno != EEXIST) return system_error(errno, fmt::format("cannot make '{}'", folder.part(part).string()));
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("part {} of the job in '{}' was begun already ({}), and is not done twice",
                                        text_of(options.part), folder.path().string(), owner_of(folder.lock(part)))};
  }
  ASSAY_TRY(const auto lock, FileLock::claim(folder.lock(part)));
  auto ending = JobHost(folder, options, local, clock).host();
  if (auto written = write_file_atomically(folder.ending(part), pretty_json(to_json(ending)));
      !written && !is_removed(folder)) {
    log_error("{}", written.error().text());
  }
  options.on_look();
  return ending;
}

int exit_code_for(const PartEnding& ending) {
  if (!ending) return kCannot;
  if (ending->exit_code) return *ending->exit_code;
  return 128 + ending->signal.value_or(SIGKILL);
}

}  // namespace assay
