#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/units.h"
#include "leader/alert_desk.h"
#include "leader/leader.h"
#include "leader/leader_options.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/readable.h"
#include "protocol/batch.h"
#include "protocol/hello.h"
#include "store/cluster_store.h"
#include "store/event_log.h"
#include "store/series_store.h"

namespace assay {
namespace {

/// An agent that waits says nothing, and after three seconds without a word its node would be called silent.
constexpr Nanos kLongestPause = std::chrono::seconds(2);
/// The driver's numbers have three digits.
constexpr double kLargestXid = 1e6;

/// Whoever has found a join token can make up more nodes than there are: those that are known for so long decide what
/// time it is, where there are enough of them.
constexpr Nanos kLongKnown = std::chrono::hours(24);
constexpr std::size_t kEnoughToDecide = 3;

/// How the clocks of some nodes stand to ours.
struct ClockVotes {
  std::size_t heard = 0;
  std::size_t far_ahead = 0;
  std::size_t ahead = 0;
  std::size_t behind = 0;

  void count(double skew_s, Nanos max_ahead) {
    ++heard;
    if (skew_s > seconds_of(max_ahead)) ++far_ahead;
    if (skew_s > NodeClock::kWrong_s) ++ahead;
    if (skew_s < -NodeClock::kWrong_s) ++behind;
  }
};

/// Whoever sends a second request while the first is looked at would hold a second thread of those that all nodes
/// share.
Error one_at_a_time(std::string_view node) {
  return {.kind = ErrorKind::busy, .message = fmt::format("another request of node '{}' is being taken in", node)};
}

}  // namespace

void Leader::note_heard(std::string_view name) {
  if (const auto node = nodes_->find(name)) node->heard(now(), std::nullopt);
}

Result<void> Leader::check_budget(Node& node) {
  const Nanos wait = node.intake_wait(options_->intake, clock_.now());
  if (wait <= Nanos{}) return {};
  return Error{.kind = ErrorKind::busy,
               .message = fmt::format("node '{}' sends more than one node may; it has to wait for {}", node.name(),
                                      format_duration(wait))};
}

Result<void> Leader::charge(std::string_view name, std::size_t bytes) {
  const auto node = nodes_->find(name);
  if (!node) return {};
  node->heard(now(), std::nullopt);
  ASSAY_CHECK(check_budget(*node));
  node->spend({.bytes = bytes}, options_->intake, clock_.now());
  return {};
}

Result<void> Leader::hello(std::string_view name, const AgentHello& hello) {
  ASSAY_TRY(const auto node, nodes_->find_or_make(name));
  node->heard(now(), std::nullopt);
  const Node::Intake intake(*node, clock_);
  if (!intake) return one_at_a_time(name);
  ASSAY_CHECK(check_budget(*node));
  IntakeWork work{.hellos = 1};
  note_changes(*node, node->say_hello(readable(hello), now()));
  const auto saved = save(*node, work);
  node->spend(work, options_->intake, clock_.now());
  return saved;
}

/// Writes down what is new of a node, and counts what that costs.
Result<void> Leader::save(Node& node, IntakeWork& work) {
  const auto saved = nodes_->save(node);
  if (!saved || *saved) ++work.saves;
  return saved ? Result<void>() : Result<void>(saved.error());
}

Result<Leader::Receipt> Leader::take_batches(std::string_view name, std::string_view body,
                                             std::optional<std::int64_t> sent_ns) {
  const auto node = nodes_->find(name);
  Receipt receipt;
  if (!node) {
    receipt.outcome = Receipt::Outcome::needs_hello;
    return receipt;
  }
  const Heartbeat heartbeat = now();
  std::optional<double> skew;
  // No clock shows a time before 1970; without it, the difference might not fit.
  if (sent_ns) skew = seconds_of(Nanos(std::max(*sent_ns, std::int64_t{0})) - heartbeat.wall.time_since_epoch());
  // That a node is there needs no turn: whatever keeps its samples waiting, it is not silent.
  node->heard(heartbeat, skew);
  if (body.empty()) return receipt;
  const Node::Intake intake(*node, clock_);
  if (!intake) return one_at_a_time(name);
  ASSAY_CHECK(check_budget(*node));
  while (const auto frame = take_framed(body)) {
    ASSAY_CHECK(take_frame(*node, *frame, receipt));
    if (receipt.outcome != Receipt::Outcome::taken) return receipt;
    // The rest is taken when the node has earned it; what was taken is acknowledged.
    receipt.pause = std::min(node->intake_wait(options_->intake, clock_.now()), kLongestPause);
    if (receipt.pause > Nanos{}) return receipt;
  }
  if (!body.empty()) return Error{.kind = ErrorKind::usage, .message = "the body ends in the middle of a batch"};
  if (crowded_) receipt.pause = kLongestPause;
  return receipt;
}

/// One batch, and what it cost, whatever came of it.
Result<void> Leader::take_frame(Node& node, std::string_view frame, Receipt& receipt) {
  IntakeWork work{.bytes = frame.size()};
  const auto taken = take_encoded(node, frame, work, receipt);
  node.spend(work, options_->intake, clock_.now());
  return taken;
}

Result<void> Leader::take_encoded(Node& node, std::string_view frame, IntakeWork& work, Receipt& receipt) {
  auto batch = decode_batch(frame);
  if (!batch) return Error{.kind = ErrorKind::usage, .message = batch.error().text()};
  work.samples = batch->samples.size();
  work.new_series = batch->series.size();
  make_readable(*batch);
  ASSAY_CHECK(put_times_right(node, *batch));
  const std::string stream = batch->stream;
  auto outcome = take(node, std::move(*batch), work);
  if (!outcome) {
    // Whatever a store has to say of the batch: the agent is to keep it.
    if (outcome.error().kind == ErrorKind::usage) outcome.error().kind = ErrorKind::io;
    return std::move(outcome).error();
  }
  receipt.outcome = *outcome;
  receipt.sequence = node.last_sequence(stream);
  return {};
}

Result<void> Leader::put_times_right(Node& node, Batch& batch) {
  // Whose clock is wrong, the others say; they may say so for the first time.
  if (node.clock_state() == NodeClock::State::settling) compare_clocks();
  switch (node.clock_state()) {
    case NodeClock::State::right: return {};
    case NodeClock::State::settling:
      if (batch.samples.empty() && batch.events.empty()) return {};
      return Error{.kind = ErrorKind::busy,
                   .message = fmt::format("the clock of node '{}' was just set; what it sends is taken once that stays "
                                          "as it is",
                                          node.name())};
    case NodeClock::State::corrected: node.correct_times(batch, clock_.wall()); return {};
    case NodeClock::State::unsteady: break;
  }
  if (!batch.samples.empty()) {
    refusals_.note(node.name(), Refusals::Of::samples, batch.samples.size(),
                   "its clock keeps changing, and nobody knows when they were read; check time synchronisation there "
                   "(chronyc tracking, timedatectl)",
                   clock_.wall());
    refused_ += batch.samples.size();
    batch.samples.clear();
  }
  // That a GPU is broken is worth knowing, whenever that was.
  for (auto& event : batch.events) event.time = clock_.wall();
  return {};
}

Result<Leader::Receipt::Outcome> Leader::take(Node& node, Batch batch, IntakeWork& work) {
  ASSAY_TRY(const auto outcome, take_samples(node, batch, work));
  if (outcome != Receipt::Outcome::taken) return outcome;
  const bool of_machine = batch.devices || batch.processes;
  const bool is_news = of_machine && node.is_news(batch);
  if (batch.devices && is_news) {
    note_changes(node, node.set_devices(std::move(*batch.devices)));
    ASSAY_CHECK(save(node, work));
  }
  if (batch.processes && is_news) node.set_processes(std::move(*batch.processes));
  ASSAY_CHECK(take_events(node, batch.events));
  return outcome;
}

Result<Leader::Receipt::Outcome> Leader::take_samples(Node& node, const Batch& batch, IntakeWork& work) {
  switch (node.stream_state(batch)) {
    case Node::StreamState::unknown_stream: return Receipt::Outcome::needs_hello;
    case Node::StreamState::unknown_series: return Receipt::Outcome::needs_names;
    case Node::StreamState::ready: break;
  }
  ASSAY_CHECK(name_series(node, batch));
  // What comes twice is written once; its names may be the reason that it came again.
  if (batch.sequence != 0 && batch.sequence <= node.last_sequence(batch.stream)) return Receipt::Outcome::taken;
  const auto samples = node.resolve(batch);
  auto appended = series_.append(samples);
  if (!appended && appended.error().kind == ErrorKind::not_found) {
    // Erased, or forgotten since nothing had come for long.
    node.forget_series();
    return Receipt::Outcome::needs_names;
  }
  note_problem("taking in telemetry", appended ? Result<void>() : Result<void>(appended.error()));
  if (!appended) return std::move(appended).error();
  work.rewritten = appended->rewritten;
  ASSAY_CHECK(check_clock(*appended));
  note_refused(node, batch.samples.size() - samples.size(), *appended);
  node.remember(batch);
  ++batches_;
  samples_ += appended->accepted;
  refused_ += batch.samples.size() - appended->accepted;
  return Receipt::Outcome::taken;
}

/// A node that sends what is too far ahead of its own clock loses it, or it would keep it for ever. But when most nodes
/// are ahead, the wrong clock is ours.
Result<void> Leader::check_clock(const AppendOutcome& appended) {
  if (appended.too_far_ahead <= appended.accepted + appended.too_old) return {};
  if (!clock_is_behind_) compare_clocks();
  if (!clock_is_behind_) return {};
  return Error{.kind = ErrorKind::busy, .message = "the clock of this leader's machine is behind those of most nodes"};
}

void Leader::compare_clocks() {
  const Nanos max_ahead = series_.limits().max_ahead;
  const auto nodes = nodes_->all();
  ClockVotes all;
  ClockVotes long_known;
  for (const auto& node : nodes) {
    const double skew_s = node->clock_skew_s();
    if (std::isnan(skew_s) || node->state(clock_.now()) == NodeState::offline) continue;
    all.count(skew_s, max_ahead);
    if (clock_.wall() - node->first_seen() >= kLongKnown) long_known.count(skew_s, max_ahead);
  }
  const auto& [heard, far_ahead, ahead, behind] = long_known.heard >= kEnoughToDecide ? long_known : all;
  // Of one node and one leader nobody knows which is right.
  const bool ours_is_wrong = 2 * std::max(ahead, behind) > heard;
  for (const auto& node : nodes) node->doubt_our_clock(ours_is_wrong);
  clock_is_behind_ = 2 * far_ahead > heard;
  Error wrong{.kind = ErrorKind::busy, .hint = "Check time synchronisation (chronyc tracking, timedatectl)."};
  wrong.message = clock_is_behind_
                      ? fmt::format(
                            "it is more than {} behind those of most nodes, which keep what they have until "
                            "that is put right",
                            format_duration(max_ahead))
                      : fmt::format("it is more than {} {} those of most nodes",
                                    format_duration(std::chrono::seconds(static_cast<int>(NodeClock::kWrong_s))),
                                    ahead > behind ? "behind" : "ahead of");
  note_problem("this machine's clock", ours_is_wrong ? Result<void>(wrong) : Result<void>(), ProblemKind::clock);
}

Result<void> Leader::name_series(Node& node, const Batch& batch) {
  const std::size_t known = node.known_series(batch.stream);
  const std::size_t named = batch.first_series + batch.series.size();
  if (named <= known) return {};
  std::vector<SeriesName> added(batch.series.end() - static_cast<std::ptrdiff_t>(named - known), batch.series.end());
  // Whatever an agent says: these are its own node's.
  for (auto& series : added) series.key.labels["node"] = node.name();
  const auto admitted = node.admit_series(added, options_->live_series_per_node);
  std::vector<SeriesInfo> wanted;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < added.size(); ++i) {
    if (!admitted[i]) continue;
    wanted.push_back({.key = std::move(added[i].key), .unit = std::move(added[i].unit)});
    places.push_back(i);
  }
  const auto ids = series_.intern(wanted);
  std::vector<std::optional<SeriesInfo>> infos(added.size());
  std::size_t refused = added.size() - wanted.size();
  std::string why = refused == 0 ? "" : fmt::format("it has more than {} at a time", options_->live_series_per_node);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i]) {
      wanted[i].id = *ids[i];
      infos[places[i]] = std::move(wanted[i]);
      continue;
    }
    if (ids[i].error().kind != ErrorKind::usage) return ids[i].error();
    if (refused++ == 0) why = ids[i].error().message;
  }
  if (refused > 0) {
    refusals_.note(node.name(), Refusals::Of::series, refused, fmt::format("the first: {}", why), clock_.wall());
  }
  node.name_series(batch.stream, infos);
  return {};
}

/// Samples that are dropped though their batch is acknowledged, or their node would keep them for ever.
void Leader::note_refused(const Node& node, std::size_t of_refused_series, const AppendOutcome& appended) {
  const auto note = [&](std::size_t count, std::string why) {
    if (count > 0) refusals_.note(node.name(), Refusals::Of::samples, count, std::move(why), clock_.wall());
  };
  note(of_refused_series, "their series were refused");
  const auto limits = series_.limits();
  note(appended.too_old, fmt::format("older than the {} for which they are kept", format_duration(limits.keep[0])));
  note(appended.too_far_ahead,
       fmt::format("more than {} ahead of this machine's clock", format_duration(limits.max_ahead)));
  note(appended.too_much,
       fmt::format("its history takes {}, which is the most for one node ('bytes_per_node'); `assay nodes forget {} "
                   "--erase` makes room",
                   format_bytes(Bytes{static_cast<std::int64_t>(limits.max_per_owner.bytes)}), node.name()));
}

void Leader::limit_events(Node& node, std::vector<ClusterEvent>& events) {
  const std::size_t dropped = node.limit_events(events, now(), options_->events_per_hour);
  if (dropped == 0) return;
  refusals_.note(node.name(), Refusals::Of::events, dropped,
                 fmt::format("more than {} of one minute, or more than {} in an hour ('events_per_hour')",
                             EventBudget::kMaxPerMinute, options_->events_per_hour),
                 clock_.wall());
}

Result<void> Leader::take_events(Node& node, const std::vector<TelemetryEvent>& events) {
  if (events.empty()) return {};
  const std::string name = node.name();
  std::vector<ClusterEvent> kept;
  kept.reserve(events.size());
  for (const auto& event : events) {
    kept.push_back({.time = event.time,
                    .node = name,
                    .kind = event.kind,
                    .about = event.about,
                    .message = event.message,
                    .values = event.values});
  }
  limit_events(node, kept);
  auto added = cluster_.events().append(kept);
  if (!added) {
    note_problem("writing down events", added.error());
    return std::move(added).error();
  }
  note_problem("writing down events", {});
  node.count_events(*added, now(), options_->events_per_hour);
  for (auto& event : *added) {
    const auto xid = event.values.find("xid");
    if (event.kind == "xid" && xid != event.values.end() && xid->second >= 0 && xid->second <= kLargestXid) {
      node.count_xid(event.about, static_cast<int>(xid->second));
    }
    alerts_->note_event(name, {.time = event.time,
                               .kind = std::move(event.kind),
                               .about = std::move(event.about),
                               .message = std::move(event.message),
                               .values = std::move(event.values)});
  }
  return {};
}

}  // namespace assay
