#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/run_desk.h"
#include "leader/run_desk_words.h"

namespace assay {
namespace {

/// A start is foretold for so many jobs times nodes: a look at the queue is to cost milliseconds.
constexpr std::size_t kOutlookWork = 2'000'000;
constexpr std::size_t kMostForetold = 1000;
/// A picture of a longer queue is shown for a while, at least so many times as long as others had to wait for it.
constexpr std::size_t kLongQueue = 500;
constexpr int kPictureRest = 10;
constexpr Nanos kShortestRest = std::chrono::milliseconds(200);

/// Those that go on first, the oldest of them first; then those that wait, as they will probably start.
auto rank_of(const QueuedRun& run) {
  const bool waits = run.state == RunState::queued;
  const bool is_placed = run.reason.empty();
  const auto start = run.expected_start.value_or(WallTime::max());
  return std::tuple(waits, !is_placed, waits ? start : run.started.value_or(run.created), run.held, run.created,
                    run.run);
}

}  // namespace

/// Of its nodes, while its lease lasts: nobody knows whether it goes on. Empty: all are heard of.
std::string RunDesk::silence_of(const Entry& entry) const {
  for (const auto& share : entry.place) {
    const auto node = nodes_.find(share.node);
    if (!node || node->state(clock_.now()) != NodeState::offline) continue;
    return fmt::format("node '{}' is silent: last heard of at {}", share.node, iso8601(node->record().last_seen));
  }
  return {};
}

QueuedRun RunDesk::view_of(const Entry& entry, const WaitReport* report) const {
  const auto& job = entry.job.row;
  QueuedRun run{.run = job.current,
                .name = entry.name,
                .kind = entry.kind,
                .study = job.study,
                .variant = entry.variant,
                .by = job.by,
                .owner = job.owner,
                .state = entry.state,
                .stopping = job.stop,
                .held = job.held,
                .priority = job.priority,
                .needs = needs_in_words(entry.needs),
                .node = entry.place.empty() ? job.node : entry.place.front().node};
  for (const auto& share : entry.place) {
    if (&share != &entry.place.front()) run.further.push_back(share.node);
    run.gpus.insert(run.gpus.end(), share.gpus.begin(), share.gpus.end());
  }
  for (const auto& other : job.after) {
    const auto before = entries_.find(other);
    run.after.push_back(before == entries_.end() ? other : before->second.job.row.current);
  }
  run.attempt = job.attempt;
  run.attempts = job.attempts;
  run.created = job.created;
  run.started = entry.started;
  run.deadline = job.deadline;
  run.length = entry.length;
  if (entry.silent_since) {
    run.why = fmt::format("node '{}' is lost: not heard of since {}, given up at {}", run.node,
                          iso8601(*entry.silent_since), iso8601(*entry.given_up_at));
  } else if (!entry.place.empty()) {
    run.why = silence_of(entry);
  }
  if (entry.started) run.expected_end = *entry.started + Nanos(static_cast<std::int64_t>(entry.length.seconds * 1e9));
  if (!report) return run;
  run.reason = name_of(report->reason);
  run.why = report->sentence;
  run.ahead = report->ahead;
  if (!report->nodes.empty()) {
    auto nodes = report->nodes;
    put_in_order(nodes, entry.needs);
    run.expected_node = nodes.front();
    run.expected_further.assign(nodes.begin() + 1, nodes.end());
  }
  run.expected_start = report->expected_start;
  run.late_start = report->late_start;
  return run;
}

/// In no order. With the picture's mutex alone.
Result<std::vector<QueuedRun>> RunDesk::look_at_queue() {
  const std::lock_guard lock(mutex_);
  ASSAY_CHECK(refresh());
  const std::size_t most = std::min(kMostForetold, 1 + kOutlookWork / (1 + gpus_.nodes.size()));
  const auto reports = scheduler_.explain_all(clock_.wall(), most);
  std::vector<QueuedRun> runs;
  runs.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) {
    const auto report = reports.find(id);
    runs.push_back(view_of(entry, report == reports.end() || !entry.place.empty() ? nullptr : &report->second));
  }
  return runs;
}

Result<RunDesk::QueuePicture> RunDesk::queue() {
  const std::lock_guard one_at_a_time(picture_mutex_);
  const auto begin = clock_.now();
  if (picture_ && begin < picture_until_) return picture_;
  ASSAY_TRY(auto runs, look_at_queue());
  const auto taken = clock_.now() - begin;
  std::sort(runs.begin(), runs.end(), [](const QueuedRun& a, const QueuedRun& b) { return rank_of(a) < rank_of(b); });
  picture_ = std::make_shared<const std::vector<QueuedRun>>(std::move(runs));
  // Of a short queue everybody sees the newest state.
  picture_until_ = picture_->size() > kLongQueue ? begin + std::max(kPictureRest * taken, kShortestRest) : begin;
  return picture_;
}

Result<QueuedRun> RunDesk::find(std::string_view run) {
  const std::lock_guard lock(mutex_);
  ASSAY_CHECK(refresh());
  const auto found = entry_of(run);
  if (found == entries_.end()) return not_in_queue(run);
  if (!found->second.place.empty()) return view_of(found->second, nullptr);
  ASSAY_TRY(const auto report, scheduler_.explain(found->first, clock_.wall()));
  return view_of(found->second, &report);
}

Result<std::vector<PreviewedRun>> RunDesk::preview(const RunRequest& request) {
  ASSAY_CHECK(check(request));
  const std::lock_guard lock(mutex_);
  ASSAY_CHECK(refresh());
  see_nodes();
  ASSAY_CHECK(jobs_to_wait_for(request.after));
  // A study does one run after the other on a node, or wherever the first is done.
  struct Lane {
    Nanos expected{};
    Nanos late{};
    PreviewedRun first;
  };
  std::map<std::string, Lane> lanes;
  std::vector<PreviewedRun> runs;
  for (const auto& planned : request.plan) {
    const auto node = planned.nodes > 1 ? "" : planned.node.empty() ? request.node : planned.node;
    Entry entry;
    entry.name = request.name;
    entry.job.row = {.run = "preview", .node = node, .created = clock_.wall(), .by = request.by, .gpus = request.gpus};
    entry.job.row.owner = request.owner;
    entry.job.row.priority = request.priority;
    entry.job.row.deadline = request.deadline;
    ASSAY_TRY(const auto job, request_of(entry, planned));
    PreviewedRun run{.variant = planned.variant, .repeat = planned.repeat, .needs = needs_in_words(entry.needs)};
    run.gpus = entry.needs.gpus * entry.needs.nodes;
    run.nodes = entry.needs.nodes;
    run.length = entry.length;
    const auto [lane, is_first] = lanes.try_emplace(planned.nodes > 1 ? lane_of(planned) : node);
    if (is_first || run.nodes > 1) {
      ASSAY_TRY(const auto outcome, scheduler_.preview(job, clock_.wall()));
      if (outcome.forecast) {
        auto nodes = outcome.forecast->nodes;
        put_in_order(nodes, entry.needs);
        run.node = nodes.front();
        run.further.assign(nodes.begin() + 1, nodes.end());
        run.expected_start = outcome.forecast->expected_start;
        run.late_start = outcome.forecast->late_start;
      } else {
        run.why = outcome.never;
      }
      if (is_first) lane->second.first = run;
    } else {
      run.node = lane->second.first.node;
      run.why = lane->second.first.why;
    }
    const auto& first = lane->second.first;
    if (first.expected_start) run.expected_start = *first.expected_start + lane->second.expected;
    if (first.late_start) run.late_start = *first.late_start + lane->second.late;
    lane->second.expected += job.estimate.expected;
    lane->second.late += job.estimate.at_most();
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace assay
