#include "launch/slurm/slurm_running_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/file_lock.h"
#include "base/text.h"
#include "launch/job_ending.h"

namespace assay {
namespace {

/// What a host wrote last takes this long to be seen, at worst: NFS remembers for a while that a file was not there.
constexpr Nanos kFileLag = std::chrono::seconds(10);
/// How long Slurm may take to say why it ended a job that the folder says was ended.
constexpr Nanos kReasonPatience = std::chrono::seconds(30);
/// Behind the grace of a wish, for its host to obey, before scancel does it.
constexpr Nanos kObedience = std::chrono::seconds(30);
/// Of those that people ask for: beyond it is as good as for ever.
constexpr Nanos kLongestGrace = std::chrono::hours(24 * 365);
constexpr Nanos kOutlivedGrace = std::chrono::seconds(5);
/// Between looks at what the queue says; the folder is looked at more often.
constexpr Nanos kQueuePause = std::chrono::milliseconds(500);
constexpr Nanos kReasonPause = std::chrono::milliseconds(100);
constexpr std::size_t kTailBytes = 400;

/// What srun and the hosts said before there were streams of the job.
std::string last_words(const JobFolder& folder) {
  const auto text = read_file(folder.path() / "slurm.out");
  if (!text) return {};
  const auto words = trim(*text);
  return printable(words.size() > kTailBytes ? words.substr(words.size() - kTailBytes) : words);
}

bool has_begun(const SlurmTicket& ticket) {
  for (std::int64_t part = 0; part < ticket.nodes; ++part) {
    const auto host = ticket.folder.read_host(part);
    const auto ending = ticket.folder.read_ending(part);
    if (!host || *host || !ending || *ending) return true;
  }
  return false;
}

Error nothing_heard(const SlurmTicket& ticket, const SlurmRecord& record) {
  const auto words = last_words(ticket.folder);
  return {.kind = ErrorKind::crash,
          .message = fmt::format("the Slurm job {} is over ({}), and nothing was heard of it{}{}", ticket.id,
                                 record.state, words.empty() ? "" : ": ", words),
          .hint = fmt::format("Every node must see '{}' and this program under the same paths as here; "
                              "'--on slurm:folder=…,assay=…' name others.",
                              ticket.folder.path().parent_path().string())};
}

class SlurmRunningJob final : public RunningJob {
 public:
  SlurmRunningJob(std::unique_ptr<RunningJob> inner, SlurmTicket ticket, SlurmWatch& watch)
      : inner_(std::move(inner)), ticket_(std::move(ticket)), watch_(watch) {
    look_at_queue();
  }
  ~SlurmRunningJob() override { watch_.forget(ticket_.id); }

  JobReady wait(SteadyTime deadline, int wake_fd) override {
    const Nanos pause = ending_ && !settled_ ? kReasonPause : kQueuePause;
    JobReady ready = inner_->wait(std::min(deadline, clock_.now() + pause), wake_fd);
    look_at_queue();
    stop_what_outlived();
    ready.ended = look_for_ending() && !ending_told_;
    return ready;
  }

  std::optional<std::size_t> read(JobStream stream, std::span<char> into) override {
    return inner_->read(stream, into);
  }

  void interrupt(Nanos grace) override {
    wish(SIGINT, 2 * std::min(grace, kLongestGrace));
    inner_->interrupt(grace);
  }
  void stop(Nanos grace) override {
    wish(SIGTERM, grace);
    inner_->stop(grace);
  }
  void kill() override {
    wish(SIGKILL, Nanos(0));
    inner_->kill();
  }

  Result<std::optional<JobEnding>> ending() override {
    if (!look_for_ending()) return std::optional<JobEnding>();
    ending_told_ = true;
    if (!*ending_) return ending_->error();
    return std::optional(**ending_);
  }

  std::string waiting() const override { return waiting_; }
  std::string handle() const override { return inner_->handle(); }
  std::optional<pid_t> first_process() const override { return std::nullopt; }
  json::object machine() const override { return inner_->machine(); }

 private:
  void wish(int signal, Nanos grace) {
    if (ending_) return;
    wished_ = signal;
    if (!begun_) {
      watch_.cancel(ticket_.id);
    } else {
      watch_.cancel_at(ticket_.id, clock_.now() + std::min(grace, 2 * kLongestGrace) + kObedience);
    }
  }

  void look_at_queue() {
    if (begun_) return;
    const auto sight = watch_.sight(ticket_.id);
    begun_ = (sight && stage_of(sight->record.state) != SlurmStage::waiting) || has_begun(ticket_);
    waiting_ = begun_  ? std::string()
               : sight ? waiting_text(ticket_.id, sight->record)
                       : fmt::format("Slurm job {} waits", ticket_.id);
  }

  /// A host that goes on where Slurm says that its job is over: slurmctld lost track of it, or of its node. Its GPUs
  /// may be somebody else's by now.
  void stop_what_outlived() {
    if (ending_ || outlived_) return;
    const auto sight = watch_.sight(ticket_.id);
    if (!sight || stage_of(sight->record.state) != SlurmStage::ended) return;
    if (clock_.now() - sight->since < kReasonPatience) return;
    outlived_ = true;
    inner_->stop(kOutlivedGrace);
  }

  /// Whether it has ended and everything is known about it that will be.
  bool look_for_ending() {
    if (settled_) return true;
    if (!ending_ && !take_ending()) return false;
    settled_ = !needs_reason() || find_reason() || watch_.is_away() || clock_.now() >= ended_at_ + kReasonPatience;
    return settled_;
  }

  /// From the folder, or from Slurm by way of `find_slurm_loss`.
  bool take_ending() {
    auto ending = inner_->ending();
    if (ending && !*ending && wished_ && !begun_ && watch_.is_away()) {
      // Nobody can take it from the queue, but a host that finds a wish starts nothing.
      ending = std::optional(JobEnding{.signal = wished_, .stopped = true});
    }
    if (ending && !*ending) return false;
    begun_ = true;
    waiting_.clear();
    if (ending) {
      ending_.emplace(**std::move(ending));
    } else {
      ending_.emplace(std::move(ending).error());
    }
    ended_at_ = clock_.now();
    if (needs_reason()) watch_.hurry();
    return true;
  }

  /// Whether it may have been Slurm that ended it.
  bool needs_reason() const {
    if (!*ending_) return true;
    return !wished_ && ((*ending_)->stopped || (*ending_)->exit_code != 0);
  }

  /// Asks what Slurm made of it; false while it has not told.
  bool find_reason() {
    const auto sight = watch_.sight(ticket_.id);
    if (!sight) return false;
    const auto stage = stage_of(sight->record.state);
    if (stage == SlurmStage::waiting && waits_in_vain(sight->record.reason)) {
      // And nobody waits for it any more.
      watch_.cancel(ticket_.id);
      return true;
    }
    if (stage == SlurmStage::waiting && sight->seen > ended_at_ && has_host() && !wished_) {
      // Its host would refuse to do it again, and only hold up its nodes.
      watch_.cancel(ticket_.id);
      ending_.emplace(Error{
          .kind = ErrorKind::interrupted,
          .message = fmt::format("Slurm took the job {} from its nodes and put it back into the queue", ticket_.id),
          .hint = "Somebody used `scontrol requeue`, or it was preempted. Run it again."});
      return true;
    }
    if (stage != SlurmStage::ended) return false;
    explain(sight->record);
    return true;
  }
  bool has_host() const {
    const auto host = ticket_.folder.read_host(0);
    return host && host->has_value();
  }

  void explain(const SlurmRecord& record) {
    if (wished_) {
      // As we asked: taken from the queue, or by force from a host that did not obey.
      const int signal = has_host() ? SIGKILL : *wished_;
      if (record.state == "CANCELLED") ending_.emplace(JobEnding{.signal = signal, .stopped = true});
      return;
    }
    if (record.state == "OUT_OF_MEMORY" && *ending_) {
      (*ending_)->out_of_memory = true;
      return;
    }
    if (auto reason = ended_by_slurm(ticket_.id, record)) {
      ending_.emplace(*std::move(reason));
    } else if (outlived_) {
      ending_.emplace(Error{.kind = ErrorKind::crash,
                            .message = fmt::format("Slurm lost track of its job {} ({}) while it ran: it was stopped, "
                                                   "since its nodes may have been given to others",
                                                   ticket_.id, record.state)});
    }
  }

  std::unique_ptr<RunningJob> inner_;
  const SlurmTicket ticket_;
  SlurmWatch& watch_;
  const SystemClock clock_;
  bool begun_ = false;
  std::string waiting_;
  std::optional<int> wished_;                ///< signal that we asked for last
  std::optional<Result<JobEnding>> ending_;  ///< as the folder tells it, then with Slurm's reason
  SteadyTime ended_at_;
  bool outlived_ = false;  ///< Slurm's job, and was told to stop
  bool settled_ = false;
  bool ending_told_ = false;
};

}  // namespace

std::optional<Error> find_slurm_loss(const SlurmTicket& ticket, const SlurmWatch& watch, std::int64_t part,
                                     SteadyTime now) {
  const auto sight = watch.sight(ticket.id);
  if (!sight) return std::nullopt;
  const auto stage = stage_of(sight->record.state);
  if (stage == SlurmStage::waiting) return ended_by_slurm(ticket.id, sight->record);
  if (stage != SlurmStage::ended) return std::nullopt;
  // One that never got a node wrote nothing either.
  if (!sight->record.nodes.empty() && now - sight->since < kFileLag) return std::nullopt;
  if (FileLock::state(ticket.folder.lock(part)) == LockState::held) return std::nullopt;
  if (auto reason = ended_by_slurm(ticket.id, sight->record)) return reason;
  return nothing_heard(ticket, sight->record);
}

std::unique_ptr<RunningJob> make_slurm_running_job(std::unique_ptr<RunningJob> inner, SlurmTicket ticket,
                                                   SlurmWatch& watch) {
  return std::make_unique<SlurmRunningJob>(std::move(inner), std::move(ticket), watch);
}

}  // namespace assay
