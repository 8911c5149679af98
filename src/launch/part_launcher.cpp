#include "launch/part_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "launch/job.h"
#include "launch/job_ending.h"

namespace assay {
namespace {

// Of several processes, the longest that one waits while another is listened to.
constexpr Nanos kTurn = std::chrono::milliseconds(20);
// A line that is longer is broken there: memory is bounded, and the recorder reads no longer one either.
constexpr std::size_t kLongestLineOfRank = std::size_t{1} << 20;
constexpr std::size_t kPiece = std::size_t{64} << 10;
// As much of the output as may wait for whoever reads it.
constexpr std::size_t kMostPending = std::size_t{1} << 20;

/// One process of the part.
struct PartRank {
  std::unique_ptr<RunningJob> job;
  std::string mark;             ///< before each line of its output
  bool speaks = false;          ///< its events are those of the part
  PerStream<std::string> line;  ///< that has not ended yet
  PerStream<bool> closed;
  std::optional<Result<JobEnding>> ending;

  bool has_failed() const { return ending && (!ending->ok() || (*ending)->exit_code != 0); }
};

/// The processes of one part as one job.
class PartRanksJob final : public RunningJob {
 public:
  PartRanksJob(std::vector<PartRank> ranks, Nanos grace) : ranks_(std::move(ranks)), grace_(grace), buffer_(kPiece) {}

  JobReady wait(SteadyTime deadline, int wake_fd) override {
    for (;;) {
      const auto now = clock_.now();
      bool woken = false;
      if (!is_full()) {
        for (auto& rank : ranks_) listen(rank, now, -1, woken);
      }
      stop_others(now);
      // One at a time is waited for, in turn; the caller's descriptor with each.
      turn_ = (turn_ + 1) % ranks_.size();
      listen(ranks_[turn_], has_news(what_is_there()) ? now : std::min(deadline, now + kTurn), wake_fd, woken);
      JobReady found = what_is_there();
      found.woken = woken;
      if (woken || has_news(found) || clock_.now() >= deadline) return found;
    }
  }

  std::optional<std::size_t> read(JobStream stream, std::span<char> into) override {
    std::string& pending = pending_[stream];
    if (pending.empty()) return is_over(stream) ? std::optional<std::size_t>() : std::optional<std::size_t>(0);
    const std::size_t count = std::min(pending.size(), into.size());
    std::memcpy(into.data(), pending.data(), count);
    pending.erase(0, count);
    return count;
  }

  void interrupt(Nanos grace) override {
    for (auto& rank : ranks_) rank.job->interrupt(grace);
  }
  void stop(Nanos grace) override {
    for (auto& rank : ranks_) rank.job->stop(grace);
  }
  void kill() override {
    for (auto& rank : ranks_) rank.job->kill();
  }

  Result<std::optional<JobEnding>> ending() override {
    bool woken = false;
    for (auto& rank : ranks_) listen(rank, clock_.now(), -1, woken);
    if (!have_all_ended()) return std::optional<JobEnding>();
    ending_told_ = true;
    const auto& decisive = *ranks_[first_failed_.value_or(0)].ending;
    if (!decisive) return decisive.error();
    JobEnding ending = *decisive;
    for (const auto& rank : ranks_) {
      if (&*rank.ending != &decisive && *rank.ending) add_to(ending, **rank.ending);
    }
    return std::optional(std::move(ending));
  }

  std::string handle() const override { return ranks_.front().job->handle(); }
  std::optional<pid_t> first_process() const override { return ranks_.front().job->first_process(); }

 private:
  bool have_all_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const PartRank& rank) { return rank.ending.has_value(); });
  }
  bool is_full() const {
    return std::any_of(pending_.values.begin(), pending_.values.end(),
                       [](const std::string& text) { return text.size() > kMostPending; });
  }
  bool is_over(JobStream stream) const {
    return pending_[stream].empty() &&
           std::all_of(ranks_.begin(), ranks_.end(), [&](const PartRank& rank) { return rank.closed[stream]; });
  }
  JobReady what_is_there() const {
    JobReady ready;
    for (const auto stream : kJobStreams) ready.streams[stream] = !pending_[stream].empty() || is_over(stream);
    ready.ended = !ending_told_ && have_all_ended();
    return ready;
  }
  static bool has_news(const JobReady& ready) {
    const auto& streams = ready.streams.values;
    return ready.ended || std::find(streams.begin(), streams.end(), true) != streams.end();
  }

  /// Takes what one of them has to say.
  void listen(PartRank& rank, SteadyTime until, int wake_fd, bool& woken) {
    const JobReady ready = rank.job->wait(until, wake_fd);
    woken = woken || ready.woken;
    for (const auto stream : kJobStreams) {
      if (ready.streams[stream] && !rank.closed[stream]) take(rank, stream);
    }
    if (!ready.ended || rank.ending) return;
    auto ending = rank.job->ending();
    if (ending && !*ending) return;
    rank.ending = ending ? Result<JobEnding>(**std::move(ending)) : Result<JobEnding>(std::move(ending).error());
    if (rank.has_failed() && !first_failed_) {
      first_failed_ = static_cast<std::size_t>(&rank - ranks_.data());
      // Those that miss it may say so first.
      stop_others_at_ = clock_.now() + grace_;
    }
  }

  void take(PartRank& rank, JobStream stream) {
    const auto got = rank.job->read(stream, buffer_);
    std::string& line = rank.line[stream];
    if (!got) {
      rank.closed[stream] = true;
      if (!line.empty()) hand_on(rank, stream, line + "\n");
      line.clear();
      return;
    }
    std::string_view bytes(buffer_.data(), *got);
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      line += bytes.substr(0, end);
      bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
      if (end == std::string_view::npos && line.size() < kLongestLineOfRank) return;
      hand_on(rank, stream, line + "\n");
      line.clear();
    }
  }

  void hand_on(const PartRank& rank, JobStream stream, std::string_view line) {
    const bool is_output = stream == JobStream::out || stream == JobStream::error;
    if (!is_output && !rank.speaks) return;
    if (is_output) pending_[stream] += rank.mark;
    pending_[stream] += line;
  }

  void stop_others(SteadyTime now) {
    if (!stop_others_at_ || now < *stop_others_at_) return;
    stop_others_at_.reset();
    for (auto& rank : ranks_) {
      if (!rank.ending) rank.job->stop(grace_);
    }
  }

  SystemClock clock_;
  std::vector<PartRank> ranks_;
  Nanos grace_;
  std::vector<char> buffer_;
  PerStream<std::string> pending_;  ///< for `read`
  std::size_t turn_ = 0;
  bool ending_told_ = false;
  std::optional<std::size_t> first_failed_;
  std::optional<SteadyTime> stop_others_at_;
};

class PartLauncher final : public Launcher {
 public:
  PartLauncher(Launcher& local, PartOfJob part, Rendezvous rendezvous)
      : local_(local), part_(part), rendezvous_(std::move(rendezvous)) {}

  std::string_view name() const override { return local_.name(); }

  Result<std::unique_ptr<RunningJob>> start(const Job& job) override {
    std::vector<PartRank> ranks;
    for (std::int64_t i = 0; i < job.ranks.per_node; ++i) {
      Job one = job;
      for (const auto& [name, value] : rank_variables(job.ranks, part_, i, rendezvous_)) one.environment[name] = value;
      one.ranks = {};
      // Whoever asked for this part has chosen the node.
      one.nodes.clear();
      if (job.ranks.per_node > 1 && !one.token.empty()) one.token += fmt::format("/{}", i);
      ASSAY_TRY(auto running, local_.start(one));
      if (job.ranks.per_node == 1) return running;
      const std::int64_t number = part_.number * job.ranks.per_node + i;
      ranks.push_back(
          {.job = std::move(running), .mark = number == 0 ? "" : fmt::format("[rank {}] ", number), .speaks = i == 0});
    }
    return std::unique_ptr<RunningJob>(std::make_unique<PartRanksJob>(std::move(ranks), job.grace));
  }

  Result<std::unique_ptr<RunningJob>> attach(std::string_view handle, PerStream<std::uint64_t> taken) override {
    return local_.attach(handle, taken);
  }

 private:
  Launcher& local_;
  PartOfJob part_;
  Rendezvous rendezvous_;
};

}  // namespace

std::unique_ptr<Launcher> make_part_launcher(Launcher& local, PartOfJob part, Rendezvous rendezvous) {
  return std::make_unique<PartLauncher>(local, part, std::move(rendezvous));
}

}  // namespace assay
