#include "launch/hosted/parted_job.h"

#include <poll.h>

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "launch/job_ending.h"
#include "launch/launcher.h"

namespace assay {
namespace {

// Between looks at parts that cannot wake us: short while something happens, longer while nothing does.
constexpr Nanos kShortestPause = std::chrono::milliseconds(20);
constexpr Nanos kLongestPause = std::chrono::milliseconds(200);
// A line of several parts' output that is longer is handed on in pieces.
constexpr std::size_t kLongestLine = std::size_t{64} << 10;

class PartedJob final : public RunningJob {
 public:
  PartedJob(std::vector<std::unique_ptr<JobPart>> parts, PartedJobOptions options)
      : parts_(std::move(parts)), options_(std::move(options)), pending_(parts_.size()) {}

  JobReady wait(SteadyTime deadline, int wake_fd) override {
    while (true) {
      look();
      JobReady ready = what_is_there();
      const bool anything = ready.ended || any_of(ready.streams);
      pause_ = anything ? kShortestPause : std::min(pause_ * 2, kLongestPause);
      const auto now = clock_.now();
      const auto until = anything ? now : std::min(deadline, can_all_wake() ? deadline : now + pause_);
      ready.woken = sleep(until - now, wake_fd);
      if (anything || ready.woken || clock_.now() >= deadline) return ready;
    }
  }

  std::optional<std::size_t> read(JobStream stream, std::span<char> into) override {
    if (closed_[stream]) return std::nullopt;
    bool at_end = true;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      fill(i, stream);
      const std::size_t count = std::min(ready_bytes(i, stream), into.size());
      if (count > 0) return hand_on(i, stream, into.first(count));
      at_end = at_end && is_over(i, stream);
    }
    if (!at_end) return 0;
    closed_[stream] = true;
    return std::nullopt;
  }

  void interrupt(Nanos grace) override { wish(JobWish::Kind::interrupt, grace); }
  void stop(Nanos grace) override { wish(JobWish::Kind::stop, grace); }
  void kill() override { wish(JobWish::Kind::kill, Nanos(0)); }

  Result<std::optional<JobEnding>> ending() override {
    look();
    if (!have_all_ended()) return std::optional<JobEnding>();
    ending_told_ = true;
    const PartEnding& decisive = *parts_[first_failed_.value_or(0)]->ending();
    if (!decisive) return decisive.error();
    return std::optional(together(*decisive));
  }

  std::string handle() const override { return options_.handle; }
  std::optional<pid_t> first_process() const override { return std::nullopt; }
  json::object machine() const override {
    const auto& host = parts_.front()->host();
    return host ? host->machine : json::object();
  }

 private:
  void look() {
    const auto now = clock_.now();
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i]->look();
      const auto& ending = parts_[i]->ending();
      if (first_failed_ || !ending || !has_failed(*ending)) continue;
      first_failed_ = i;
      // Those that miss it may say so first: that is what the run is told.
      stop_others_at_ = now + options_.grace;
    }
    if (stop_others_at_ && now >= *stop_others_at_) {
      stop_others_at_.reset();
      stop(options_.grace);
    }
  }

  JobReady what_is_there() {
    JobReady ready;
    for (const auto stream : kJobStreams) {
      if (closed_[stream]) continue;
      bool over = true;
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        fill(i, stream);
        ready.streams[stream] = ready.streams[stream] || ready_bytes(i, stream) > 0;
        over = over && is_over(i, stream);
      }
      ready.streams[stream] = ready.streams[stream] || over;
    }
    ready.ended = !ending_told_ && have_all_ended();
    return ready;
  }

  bool can_all_wake() const {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->wake_fd() >= 0; }) &&
           !stop_others_at_;
  }

  /// Whether the caller's own descriptor ended it.
  bool sleep(Nanos duration, int wake_fd) const {
    std::vector<pollfd> watched{{.fd = wake_fd, .events = POLLIN, .revents = 0}};
    for (const auto& part : parts_) watched.push_back({.fd = part->wake_fd(), .events = POLLIN, .revents = 0});
    const auto patience = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
    const int ready =
        ::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<std::int64_t>(patience, 0, 60'000)));
    return ready > 0 && watched.front().revents != 0;
  }

  bool have_all_ended() const {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->ending().has_value(); });
  }

  // Of several parts, bytes are gathered until there is a whole line of them.
  void fill(std::size_t i, JobStream stream) {
    std::string& pending = pending_[i][stream];
    while (pending.size() < kLongestLine && parts_[i]->has_bytes(stream)) {
      const std::size_t before = pending.size();
      pending.resize(kLongestLine);
      pending.resize(before + parts_[i]->read(stream, std::span(pending).subspan(before)));
    }
  }
  std::size_t ready_bytes(std::size_t i, JobStream stream) const {
    const std::string& pending = pending_[i][stream];
    if (parts_.size() == 1 || pending.size() >= kLongestLine || parts_[i]->at_end(stream)) return pending.size();
    const auto last = pending.rfind('\n');
    return last == std::string::npos ? 0 : last + 1;
  }
  bool is_over(std::size_t i, JobStream stream) const {
    return parts_[i]->at_end(stream) && pending_[i][stream].empty();
  }
  std::size_t hand_on(std::size_t i, JobStream stream, std::span<char> into) {
    if (auto noted = options_.notes.add(stream, i, into.size()); !noted) log_warning("{}", noted.error().text());
    std::string& pending = pending_[i][stream];
    std::memcpy(into.data(), pending.data(), into.size());
    pending.erase(0, into.size());
    return into.size();
  }

  void wish(JobWish::Kind kind, Nanos grace) {
    for (auto& part : parts_) {
      if (!part->ending()) part->wish(kind, grace);
    }
  }

  JobEnding together(JobEnding ending) const {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (i != first_failed_.value_or(0)) add_to(ending, *parts_[i]->ending());
    }
    return ending;
  }

  SystemClock clock_;
  std::vector<std::unique_ptr<JobPart>> parts_;
  PartedJobOptions options_;
  std::vector<PerStream<std::string>> pending_;  ///< of each part
  PerStream<bool> closed_;
  Nanos pause_ = kShortestPause;
  bool ending_told_ = false;
  std::optional<std::size_t> first_failed_;
  std::optional<SteadyTime> stop_others_at_;
};

}  // namespace

std::unique_ptr<RunningJob> make_parted_job(std::vector<std::unique_ptr<JobPart>> parts, PartedJobOptions options) {
  return std::make_unique<PartedJob>(std::move(parts), std::move(options));
}

}  // namespace assay
