#include "launch/slurm/slurm_watch.h"

#include <algorithm>
#include <vector>

#include "base/log.h"

namespace assay {
namespace {

// slurmctld serves a whole cluster: quick when somebody waits for the answer, rare when nothing changes.
constexpr Nanos kShortestPause = std::chrono::milliseconds(250);
constexpr Nanos kLongestPause = std::chrono::seconds(5);
constexpr double kPauseGrowth = 1.3;

}  // namespace

SlurmWatch::SlurmWatch(std::shared_ptr<const SlurmControl> slurm) : slurm_(std::move(slurm)) {
  thread_.emplace(
      "slurm-watch", [this](const std::stop_token& stop) { work(stop); },
      SupervisedThread::OnFailure{.restart_after = kLongestPause, .report = [](const std::string&) {}});
}

SlurmWatch::~SlurmWatch() {
  thread_->stop();
  cancel_what_is_due();
}

void SlurmWatch::follow(std::int64_t id, const std::string& key) {
  const std::lock_guard lock(mutex_);
  auto& followed = followed_[id];
  if (followed.followers++ == 0) followed.since = clock_.now();
  followed.key = key;
  hurry_ = true;
  asked_.notify_all();
}

void SlurmWatch::forget(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = followed_.find(id);
  if (found == followed_.end() || --found->second.followers > 0) return;
  // What is to be cancelled at once still is.
  if (!is_due(found->second)) followed_.erase(found);
}

std::optional<SlurmSight> SlurmWatch::sight(std::int64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = followed_.find(id);
  return found == followed_.end() ? std::nullopt : found->second.sight;
}

void SlurmWatch::hurry() {
  const std::lock_guard lock(mutex_);
  hurry_ = true;
  asked_.notify_all();
}

void SlurmWatch::cancel(std::int64_t id) { cancel_at(id, clock_.now()); }

void SlurmWatch::cancel_at(std::int64_t id, SteadyTime when) {
  const std::lock_guard lock(mutex_);
  const auto found = followed_.find(id);
  if (found == followed_.end()) return;
  found->second.cancel_at = std::min(when, found->second.cancel_at.value_or(when));
  hurry_ = true;
  asked_.notify_all();
}

void SlurmWatch::work(const std::stop_token& stop) {
  Nanos pause = kShortestPause;
  while (!stop.stop_requested()) {
    {
      std::unique_lock lock(mutex_);
      if (followed_.empty()) asked_.wait(lock, stop, [this] { return !followed_.empty(); });
      if (std::exchange(hurry_, false)) pause = kShortestPause;
    }
    if (stop.stop_requested()) return;
    cancel_what_is_due();
    const SteadyTime asked = clock_.now();
    const auto ids = followed_ids();
    if (ids.empty()) continue;
    const auto records = slurm_->list(ids);
    note_reach(records);
    const bool news = records && take(*records, asked);
    pause = news ? kShortestPause
                 : std::min(kLongestPause,
                            Nanos(static_cast<Nanos::rep>(static_cast<double>(pause.count()) * kPauseGrowth)));
    std::unique_lock lock(mutex_);
    asked_.wait_for(lock, stop, pause, [this] { return hurry_; });
    // Also for whoever is in a hurry: never more often than this.
    if (hurry_) {
      lock.unlock();
      sleep_for(stop, kShortestPause);
    }
  }
}

std::vector<std::int64_t> SlurmWatch::followed_ids() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::int64_t> ids;
  ids.reserve(followed_.size());
  for (const auto& [id, followed] : followed_) ids.push_back(id);
  return ids;
}

bool SlurmWatch::is_away() const {
  const std::lock_guard lock(mutex_);
  return away_;
}

void SlurmWatch::note_reach(const Result<SlurmRecords>& records) {
  const bool was_away = [&] {
    const std::lock_guard lock(mutex_);
    return std::exchange(away_, !records);
  }();
  // Once for each time that it goes away.
  if (!records && !was_away) {
    log_warning("Slurm does not answer, and jobs are followed through their folders meanwhile: {}",
                records.error().text());
  }
  if (records && was_away) log_info("Slurm answers again");
}

bool SlurmWatch::take(const SlurmRecords& records, SteadyTime asked) {
  bool news = false;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [id, followed] : followed_) {
      const auto found = records.find(id);
      if (found == records.end() || found->second.key != followed.key) continue;
      const bool same = followed.sight && followed.sight->record == found->second;
      followed.sight = {.record = found->second, .since = same ? followed.sight->since : asked, .seen = asked};
      news = news || !same;
    }
  }
  take_forgotten(asked, records);
  return news;
}

void SlurmWatch::take_forgotten(SteadyTime asked, const SlurmRecords& records) {
  std::vector<std::int64_t> missing;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, followed] : followed_) {
      const bool over = followed.sight && stage_of(followed.sight->record.state) == SlurmStage::ended;
      const auto found = records.find(id);
      const bool listed = found != records.end() && found->second.key == followed.key;
      if (!listed && followed.since < asked && !over) missing.push_back(id);
    }
  }
  for (const auto id : missing) {
    auto record = slurm_->history(id).value_or(
        SlurmRecord{.state = std::string(kForgotten), .reason = {}, .nodes = {}, .key = {}});
    const std::lock_guard lock(mutex_);
    const auto found = followed_.find(id);
    if (found != followed_.end()) found->second.sight = {.record = std::move(record), .since = asked, .seen = asked};
  }
}

bool SlurmWatch::is_due(const Followed& followed) const {
  const bool over = followed.sight && stage_of(followed.sight->record.state) == SlurmStage::ended;
  return followed.cancel_at && *followed.cancel_at <= clock_.now() && !over;
}

void SlurmWatch::cancel_what_is_due() {
  std::vector<std::int64_t> due;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, followed] : followed_) {
      if (is_due(followed)) due.push_back(id);
    }
  }
  for (const auto id : due) {
    if (auto cancelled = slurm_->cancel(id); !cancelled) {
      log_debug("ending Slurm's job {}: {}", id, cancelled.error().text());
      continue;
    }
    const std::lock_guard lock(mutex_);
    const auto found = followed_.find(id);
    if (found == followed_.end()) continue;
    found->second.cancel_at.reset();
    if (found->second.followers <= 0) followed_.erase(found);
  }
}

}  // namespace assay
