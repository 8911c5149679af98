#include "launch/kubernetes/job_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

#include "base/log.h"
#include "base/units.h"
#include "launch/kubernetes/answer_lines.h"
#include "launch/kubernetes/kube_object.h"
#include "launch/kubernetes/manifests.h"
#include "launch/kubernetes/pod_ending.h"

namespace assay {
namespace {

constexpr Nanos kShortestPause = std::chrono::milliseconds(100);
constexpr Nanos kLongestPause = std::chrono::seconds(10);
/// A log that cannot be read although its container has ended, as when its node is gone.
constexpr int kLogAttempts = 8;
constexpr std::size_t kLongestLogLine = std::size_t{1} << 20;
/// For the host in the pod, behind the grace of the job, to say how that ended.
constexpr Nanos kHostGrace = std::chrono::seconds(15);
/// After it a pod that was killed is held to be out of reach.
constexpr Nanos kKillPatience = std::chrono::minutes(2);
/// Between looks at the events of something that waits, and before the first where its pod says nothing.
constexpr Nanos kEventPeriod = std::chrono::seconds(20);
constexpr Nanos kFirstEvents = std::chrono::seconds(5);
/// The cluster deletes the pods of a job first, and then says why in the Job.
constexpr int kJobLooks = 4;
constexpr Nanos kJobLookPeriod = std::chrono::milliseconds(500);

Nanos longer_pause(Nanos pause) { return std::min(pause * 2, kLongestPause); }

std::int64_t grace_seconds(JobWish::Kind kind, Nanos grace) {
  // Not 0: then the cluster would forget the pod at once, whether its node has ended it or not.
  if (kind == JobWish::Kind::kill) return 1;
  return std::chrono::ceil<std::chrono::seconds>(grace + kHostGrace).count();
}

}  // namespace

JobFollower::JobFollower(FollowedJob job, std::vector<std::shared_ptr<PodFeed>> feeds)
    : job_(std::move(job)),
      feeds_(std::move(feeds)),
      began_(SystemClock().now()),
      parts_(feeds_.size()),
      stop_wished_(job_.stop_wished),
      ask_events_at_(began_ + kFirstEvents) {
  const auto begin = [this](const std::string& name, SupervisedThread::Body body) {
    threads_.emplace_back(name, std::move(body), SupervisedThread::OnFailure{.restart_after = kLongestPause});
  };
  begin("k8s-watch", [this](const std::stop_token& stop) { watch_pods(stop); });
  begin("k8s-wishes", [this](const std::stop_token& stop) { carry_out_wishes(stop); });
  for (std::size_t part = 0; part < feeds_.size(); ++part) {
    begin(fmt::format("k8s-log-{}", part), [this, part](const std::stop_token& stop) { follow_log(stop, part); });
  }
}

JobFollower::~JobFollower() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (const auto& connection : connections_) connection->cancel();
  }
  for (auto& thread : threads_) thread.request_stop();
  for (const auto& feed : feeds_) feed->close();
  changed_.notify_all();
  threads_.clear();
  if (!to_be_deleted_ && !stop_wished_) return;
  const auto api = KubeApi::connect(job_.access, job_.name_space);
  const auto removed = api ? (*api)->remove(KubeResource::jobs, job_.name) : Result<void>(api.error());
  if (!removed) {
    log_warning("the job '{}' in the namespace '{}' could not be deleted: {}", job_.name, job_.name_space,
                removed.error().text());
  }
}

void JobFollower::wish(JobWish::Kind kind, Nanos grace) {
  const std::lock_guard lock(mutex_);
  stop_wished_ = true;
  wishes_.push_back({kind, grace});
  changed_.notify_all();
}

bool JobFollower::Refusals::are_final(const Result<void>& answer) {
  if (answer || answer.error().kind != ErrorKind::denied) {
    since_.reset();
    return false;
  }
  const SteadyTime now = SystemClock().now();
  if (!since_) since_ = now;
  return now - *since_ >= patience_;
}

KubeApi* JobFollower::connect(const std::stop_token& stop) {
  for (Nanos wait = kShortestPause;; wait = longer_pause(wait)) {
    auto api = KubeApi::connect(job_.access, job_.name_space);
    if (api) {
      const std::lock_guard lock(mutex_);
      if (closing_) return nullptr;
      connections_.push_back(std::move(*api));
      return connections_.back().get();
    }
    log_warning("following the job '{}': {}", job_.title, api.error().text());
    if (!pause(stop, wait)) return nullptr;
  }
}

bool JobFollower::pause(const std::stop_token& stop, Nanos duration) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, duration, [this] { return closing_; });
  return !closing_ && !stop.stop_requested();
}

// The pods.

void JobFollower::watch_pods(const std::stop_token& stop) {
  KubeApi* const api = connect(stop);
  Nanos wait = kShortestPause;
  Refusals refusals(job_.refusal_patience);
  bool told = false;
  while (api && !stop.stop_requested()) {
    const auto watched = watch_once(*api);
    if (refusals.are_final(watched)) return give_up(watched.error());
    if (!watched && watched.error().kind == ErrorKind::interrupted) return;
    const bool away = !watched && watched.error().kind != ErrorKind::not_found &&
                      watched.error().kind != ErrorKind::timeout && watched.error().kind != ErrorKind::lost_peer;
    if (away && !std::exchange(told, true)) {
      log_warning("following the job '{}' in Kubernetes, which goes on meanwhile: {}", job_.title,
                  watched.error().text());
    }
    told = told && away;
    wait = away ? longer_pause(wait) : kShortestPause;
    if (!pause(stop, wait)) return;
  }
}

/// Lists, then watches from there until something is in the way: what was missed meanwhile is in the next list.
Result<void> JobFollower::watch_once(KubeApi& api) {
  const std::string selector = selector_for(job_.name);
  ASSAY_TRY(auto list, api.list(KubeResource::pods, selector));
  for (const auto& pod : list.items) note_pod(pod, false);
  note_absent(list.items);
  while (true) {
    ASSAY_CHECK(api.watch(KubeResource::pods, selector, list.version, [&](const KubeChange& change) -> Result<void> {
      note_pod(change.object, change.type == KubeChange::Type::removed);
      return {};
    }));
  }
}

void JobFollower::note_pod(const json::object& object, bool removed) {
  PodState pod = read_pod(object);
  // A job of the same name may have been there before.
  if (pod.owner != job_.uid) return;
  const std::lock_guard lock(mutex_);
  if (pod.part < 0 || static_cast<std::size_t>(pod.part) >= parts_.size()) return;
  Part& part = parts_[static_cast<std::size_t>(pod.part)];
  if (part.pod && part.pod->uid != pod.uid) {
    // One that never ran may be replaced. One that did must not: the job would be done twice.
    if (removed) return;
    if (part.has_run) {
      part.replaced = true;
      to_be_deleted_ = true;
      changed_.notify_all();
      return;
    }
  }
  part.gone = removed;
  part.has_run = part.has_run || pod.has_log();
  part.pod = std::move(pod);
  changed_.notify_all();
}

void JobFollower::note_absent(const std::vector<json::object>& pods) {
  const std::lock_guard lock(mutex_);
  for (auto& part : parts_) {
    const bool there = !part.pod || std::any_of(pods.begin(), pods.end(), [&](const json::object& pod) {
      return kube_text(pod, {"metadata", "uid"}) == part.pod->uid;
    });
    if (!there) part.gone = true;
  }
  changed_.notify_all();
}

// The logs.

void JobFollower::follow_log(const std::stop_token& stop, std::size_t part) {
  KubeApi* const api = connect(stop);
  int failures = 0;
  Nanos wait = kShortestPause;
  Refusals refusals(job_.refusal_patience);
  while (api) {
    PodState pod;
    switch (await_pod(stop, part, pod)) {
      case Await::stop: return;
      case Await::over: return feeds_[part]->end(ending_without_words(*api, part));
      case Await::log: break;
    }
    if (read_log(*api, part, pod, failures, refusals)) return;
    wait = failures > 0 ? longer_pause(wait) : kShortestPause;
    if (!pause(stop, wait)) return;
  }
}

JobFollower::Await JobFollower::await_pod(const std::stop_token& stop, std::size_t part, PodState& pod) {
  std::unique_lock lock(mutex_);
  const Part& known = parts_[part];
  const auto is_over = [&] {
    return known.gone || known.replaced || (known.pod && known.pod->phase == PodState::Phase::lost);
  };
  const auto ready = [&] {
    return closing_ || feeds_[part]->ended() || is_over() || (known.pod && known.pod->has_log());
  };
  changed_.wait(lock, stop, ready);
  if (closing_ || stop.stop_requested() || feeds_[part]->ended()) return Await::stop;
  if (is_over()) return Await::over;
  pod = *known.pod;
  return Await::log;
}

bool JobFollower::read_log(KubeApi& api, std::size_t part, const PodState& before, int& failures, Refusals& refusals) {
  PodFeed& feed = *feeds_[part];
  feed.begin_reading();
  RelayReader reader([&](RelayFrame frame) -> Result<void> {
    ASSAY_CHECK(feed.take(std::move(frame)));
    if (!feed.heard_ending()) return {};
    return Error{.kind = ErrorKind::interrupted, .message = "all was said"};
  });
  AnswerLines lines(kLongestLogLine);
  const auto followed = api.follow_log(before.name, [&](std::string_view piece) {
    return lines.take(piece, [&](std::string_view line) -> Result<void> {
      auto taken = reader.take(fmt::format("{}\n", line));
      // A line that is damaged is as one that is lost: the next offset shows it.
      if (!taken && taken.error().kind == ErrorKind::bad_file) return {};
      return taken;
    });
  });
  if (auto heard = feed.heard_ending()) {
    feed.end(judged(api, part, std::move(*heard)));
    return true;
  }
  if (refusals.are_final(followed)) {
    give_up(followed.error());
    return true;
  }
  // An API server that is away, or has just begun, says nothing about the log.
  const bool unknown =
      !followed && (followed.error().kind == ErrorKind::denied || followed.error().kind == ErrorKind::unreachable);
  failures = followed ? 0 : unknown ? std::max(failures, 1) : failures + 1;
  const bool whole = followed.ok() || failures >= kLogAttempts;
  if (before.phase != PodState::Phase::ended || !whole) return false;
  feed.end(ending_without_words(api, part));
  return true;
}

Error JobFollower::deletion_by_others(KubeApi& api, std::size_t part) {
  std::string name;
  {
    const std::lock_guard lock(mutex_);
    const auto& pod = parts_[part].pod;
    if (pod && !pod->why.empty())
      return ending_of_pod({.name = pod->name,
                            .node = pod->node,
                            .phase = PodState::Phase::lost,
                            .reason = pod->reason,
                            .why = pod->why,
                            .remedy = pod->remedy},
                           true, false)
          .error();
    if (pod) name = pod->name;
  }
  for (int look = 0; look < kJobLooks; ++look) {
    const auto job = api.get(KubeResource::jobs, job_.name);
    if (!job && job.error().kind == ErrorKind::not_found) {
      return {
          .kind = ErrorKind::crash,
          .message = fmt::format("somebody has deleted the Job '{}' in the namespace '{}'", job_.name, job_.name_space),
          .hint = "Start it again, and ask who clears away jobs there."};
    }
    if (const auto failure = job ? job_failure(*job) : std::nullopt) {
      return {.kind = ErrorKind::crash, .message = fmt::format("the cluster has ended the job: {}", *failure)};
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kJobLookPeriod, [this] { return closing_; });
  }
  return {.kind = ErrorKind::crash,
          .message = fmt::format("somebody has deleted the pod '{}' while the job ran", name),
          .hint = "Start it again, and ask who clears away pods there."};
}

PartEnding JobFollower::judged(KubeApi& api, std::size_t part, PartEnding heard) {
  if (!heard || !heard->stopped) return heard;
  // What the watch tells may be later than the log.
  if (const auto pods = api.list(KubeResource::pods, selector_for(job_.name))) {
    for (const auto& pod : pods->items) note_pod(pod, false);
    note_absent(pods->items);
  }
  {
    const std::lock_guard lock(mutex_);
    const Part& known = parts_[part];
    const bool was_deleted = known.gone || (known.pod && known.pod->being_deleted);
    // Where a part has failed, the cluster ends the others.
    const bool other_failed = std::any_of(feeds_.begin(), feeds_.end(), [](const auto& feed) {
      const auto other = feed->heard_ending();
      return other && has_failed(*other) && !(other->ok() && (*other)->stopped);
    });
    if (stop_wished_ || !was_deleted || other_failed) return heard;
  }
  return deletion_by_others(api, part);
}

PartEnding JobFollower::ending_without_words(KubeApi& api, std::size_t part) {
  Part known;
  bool wished = false;
  {
    const std::lock_guard lock(mutex_);
    known = parts_[part];
    wished = stop_wished_;
    to_be_deleted_ = to_be_deleted_ || !known.pod || known.pod->phase != PodState::Phase::ended;
  }
  const PodState pod = known.pod.value_or(PodState{});
  if (!wished && (known.gone || known.replaced) && pod.phase != PodState::Phase::ended &&
      pod.phase != PodState::Phase::lost) {
    return deletion_by_others(api, part);
  }
  return ending_of_pod(pod, known.has_run, wished);
}

void JobFollower::give_up(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    to_be_deleted_ = true;
  }
  for (const auto& feed : feeds_) feed->end(why);
  changed_.notify_all();
}

// What the owner wishes, and what it waits for.

void JobFollower::carry_out_wishes(const std::stop_token& stop) {
  KubeApi* const api = connect(stop);
  Nanos wait = kShortestPause;
  Refusals refusals(job_.refusal_patience);
  while (api) {
    std::optional<Wish> wish;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, std::chrono::seconds(1), [this] { return closing_ || !wishes_.empty(); });
      if (closing_ || stop.stop_requested()) return;
      if (!wishes_.empty()) wish = wishes_.back();
    }
    if (!wish) {
      look_at_waiting(*api);
      look_at_killed();
      continue;
    }
    const auto done = carry_out(*api, *wish);
    if (refusals.are_final(done)) return give_up(done.error());
    if (!done) log_warning("stopping the job '{}': {}", job_.title, done.error().text());
    wait = done ? kShortestPause : longer_pause(wait);
    if (!done && !pause(stop, wait)) return;
    const std::lock_guard lock(mutex_);
    if (done && wishes_.back().kind == wish->kind && wishes_.back().grace == wish->grace) wishes_.clear();
    if (wish->kind == JobWish::Kind::kill && !killed_at_) killed_at_ = SystemClock().now();
  }
}

Result<void> JobFollower::carry_out(KubeApi& api, const Wish& wish) {
  // First: no more pods. A pod that is deleted alone may be replaced by the Job's controller, and start over.
  const auto patched = api.patch(KubeResource::jobs, job_.name, {{"spec", {{"parallelism", 0}}}});
  if (!patched && patched.error().kind != ErrorKind::not_found) return patched.error();
  ASSAY_TRY(const auto pods, api.list(KubeResource::pods, selector_for(job_.name)));
  for (const auto& object : pods.items) {
    const PodState pod = read_pod(object);
    if (pod.phase == PodState::Phase::ended || pod.owner != job_.uid) continue;
    ASSAY_CHECK(api.remove(KubeResource::pods, pod.name, grace_seconds(wish.kind, wish.grace)));
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const bool there = std::any_of(pods.items.begin(), pods.items.end(), [&](const json::object& pod) {
      const PodState state = read_pod(pod);
      return state.owner == job_.uid && state.part == static_cast<std::int64_t>(i);
    });
    if (!there) parts_[i].gone = true;
  }
  changed_.notify_all();
  return {};
}

void JobFollower::look_at_killed() {
  {
    const std::lock_guard lock(mutex_);
    if (!killed_at_ || SystemClock().now() < *killed_at_ + kKillPatience) return;
  }
  give_up({.kind = ErrorKind::lost_peer,
           .message = "the job was killed, but its node does not say that it is gone",
           .hint = "`kubectl get nodes` tells which are there."});
}

std::optional<PodState> JobFollower::first_waiting() {
  const std::lock_guard lock(mutex_);
  if (stop_wished_) return std::nullopt;
  for (const auto& part : parts_) {
    if (!part.has_run && !part.gone) return part.pod.value_or(PodState{});
  }
  return std::nullopt;
}

void JobFollower::look_at_waiting(KubeApi& api) {
  const auto waiting = first_waiting();
  if (!waiting) return;
  const SteadyTime now = SystemClock().now();
  const bool over = waiting->hopeless || now - began_ > job_.patience;
  const bool is_news = !waiting->why.empty() && told_.find(waiting->why) == std::string::npos;
  if (!over && !is_news && now < ask_events_at_) return;
  ask_events_at_ = now + kEventPeriod;
  const std::string about = waiting->name.empty() ? job_.name : waiting->name;
  const auto events = api.list(KubeResource::events, "involvedObject.name=" + about);
  const std::string warning = events ? newest_warning(events->items).value_or("") : "";
  Error error = not_started(*waiting, warning);
  if (over) {
    if (waiting->hopeless) return give_up(error);
    return give_up(std::move(error).within(fmt::format("it did not start within {}", format_duration(job_.patience))));
  }
  if (waiting->why.empty() && warning.empty()) return;
  if (std::exchange(told_, error.message) != error.message) {
    log_warning("the job '{}' waits in Kubernetes: {}. {}", job_.title, error.message, error.hint);
  }
}

}  // namespace assay
