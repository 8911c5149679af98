#include "leader/leader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/units.h"
#include "base/version.h"
#include "leader/cluster_watch.h"
#include "leader/readable.h"
#include "protocol/batch.h"
#include "telemetry/telemetry_event.h"

namespace assay {
namespace {

constexpr Nanos kUpkeepPeriod = std::chrono::seconds(1);
constexpr Nanos kStatePeriod = std::chrono::milliseconds(500);
constexpr int kStatesPerLook = 10;      // rules are looked at every five seconds
constexpr int kStatesPerSave = 60;      // when nodes were last heard of, every half minute
constexpr int kStatesPerForget = 1200;  // every ten minutes
constexpr std::size_t kForgetSlice = 2000;
/// A browser redraws at most five times a second.
constexpr Nanos kLivePeriod = std::chrono::milliseconds(200);
constexpr Nanos kRunPeriod = std::chrono::milliseconds(500);
constexpr Nanos kRestartPause = std::chrono::seconds(1);
constexpr Nanos kCrowdedPause = std::chrono::seconds(2);
constexpr double kCrowdedShare = 0.8;
/// Events of the leader itself that wait for room on the disk.
constexpr std::size_t kMaxUnwritten = 10'000;
/// The driver's numbers have three digits.
constexpr double kLargestXid = 1e6;

std::string series_problem(std::string_view node) { return fmt::format("series of node '{}'", node); }

}  // namespace

Result<std::unique_ptr<Leader>> Leader::open(LeaderOptions options, LeaderStores stores, const Clock& clock) {
  std::unique_ptr<Leader> leader(new Leader(std::move(options), stores, clock));
  ASSAY_CHECK(leader->open_all());
  return leader;
}

Result<void> Leader::open_all() {
  ASSAY_TRY(nodes_, NodeRegistry::load(cluster_.nodes(), clock_));
  ASSAY_TRY(alerts_, AlertDesk::load(cluster_, options_.rules, std::move(options_.outlets), clock_));
  live_ = std::make_unique<LiveHub>(*nodes_, clock_);
  alerts_->on_change([this](std::string alert) { live_->publish_alert(std::move(alert)); });
  run_desk_ = std::make_unique<RunDesk>(runs_, cluster_, *nodes_, clock_, options_.runs);
  ASSAY_CHECK(run_desk_->load().within("reading which runs were asked for"));
  commands_ = std::make_unique<CommandDesk>(*nodes_, clock_);
  started_ = clock_.now();
  log_damage();
  return {};
}

Leader::~Leader() { stop(); }

void Leader::start() {
  start_thread("leader-store", &Leader::keep_store);
  start_thread("leader-watch", &Leader::keep_watch);
  start_thread("leader-live", &Leader::keep_telling);
  start_thread("leader-runs", &Leader::keep_runs_going);
}

/// What goes wrong once must not end a duty for as long as the leader lives; but somebody should know.
void Leader::start_thread(const char* name, void (Leader::*keep)(const std::stop_token&)) {
  const auto report = [this, what = std::string(name)](const std::string& problem) {
    note_problem(what, Error{.kind = ErrorKind::internal, .message = problem});
  };
  threads_.emplace_back(
      name, [this, keep](const std::stop_token& stop) { (this->*keep)(stop); },
      SupervisedThread::OnFailure{.restart_after = kRestartPause, .report = report});
}

void Leader::stop() {
  if (threads_.empty()) return;
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
  live_->finish();
  commands_->finish();
  run_desk_->finish();
  note_problem("writing down the nodes", nodes_->save_all());
  note_problem("syncing telemetry", series_.sync());
}

Result<void> Leader::hello(std::string_view name, const AgentHello& hello) {
  ASSAY_TRY(const auto node, nodes_->find_or_make(name));
  const auto intake = node->begin_intake();
  note_changes(*node, node->say_hello(hello, {.at = clock_.now(), .wall = clock_.wall()}));
  if (node->series_count() < kMaxSeriesPerNode) note_problem(series_problem(name), {});
  return nodes_->save(*node);
}

Result<Leader::Receipt> Leader::take_batches(std::string_view name, std::string_view body,
                                             std::optional<std::int64_t> sent_ns) {
  const auto node = nodes_->find(name);
  Receipt receipt;
  if (!node) {
    receipt.outcome = Receipt::Outcome::needs_hello;
    return receipt;
  }
  const Heartbeat heartbeat{.at = clock_.now(), .wall = clock_.wall()};
  std::optional<double> skew;
  // No clock shows a time before 1970; without it, the difference might not fit.
  if (sent_ns) skew = seconds_of(Nanos(std::max(*sent_ns, std::int64_t{0})) - heartbeat.wall.time_since_epoch());
  const auto intake = node->begin_intake();
  node->heard(heartbeat, skew);
  while (const auto frame = take_framed(body)) {
    auto batch = decode_batch(*frame);
    if (!batch) return Error{.kind = ErrorKind::usage, .message = batch.error().text()};
    make_readable(*batch);
    const std::string stream = batch->stream;
    auto outcome = take(*node, std::move(*batch));
    if (!outcome) {
      // Whatever a store has to say of the batch: the agent is to keep it.
      if (outcome.error().kind == ErrorKind::usage) outcome.error().kind = ErrorKind::io;
      return std::move(outcome).error();
    }
    receipt.outcome = *outcome;
    receipt.sequence = node->last_sequence(stream);
    if (receipt.outcome != Receipt::Outcome::taken) return receipt;
  }
  if (!body.empty()) return Error{.kind = ErrorKind::usage, .message = "the body ends in the middle of a batch"};
  if (crowded_) receipt.pause = kCrowdedPause;
  return receipt;
}

Result<Leader::Receipt::Outcome> Leader::take(Node& node, Batch batch) {
  ASSAY_TRY(const auto outcome, take_samples(node, batch));
  if (outcome != Receipt::Outcome::taken) return outcome;
  const bool of_machine = batch.devices || batch.processes;
  const bool is_news = of_machine && node.is_news(batch);
  if (batch.devices && is_news) {
    note_changes(node, node.set_devices(std::move(*batch.devices)));
    ASSAY_CHECK(nodes_->save(node));
  }
  if (batch.processes && is_news) node.set_processes(std::move(*batch.processes));
  ASSAY_CHECK(take_events(node, batch.events));
  return outcome;
}

Result<Leader::Receipt::Outcome> Leader::take_samples(Node& node, const Batch& batch) {
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
  ASSAY_CHECK(check_clock(*appended));
  node.remember(batch);
  ++batches_;
  samples_ += appended->accepted;
  refused_ += batch.samples.size() - appended->accepted;
  return Receipt::Outcome::taken;
}

/// A node whose clock is ahead loses its samples, or it would keep them for ever; that its clock is wrong, a rule says.
/// But when most nodes are ahead, the wrong clock is ours.
Result<void> Leader::check_clock(const AppendOutcome& appended) {
  if (appended.too_far_ahead <= appended.accepted + appended.too_old) return {};
  if (!clock_is_behind_) compare_clocks();
  if (!clock_is_behind_) return {};
  return Error{.kind = ErrorKind::busy, .message = "the clock of this leader's machine is behind those of most nodes"};
}

void Leader::compare_clocks() {
  const Nanos max_ahead = series_.limits().max_ahead;
  std::size_t heard = 0;
  std::size_t ahead = 0;
  for (const auto& node : nodes_->all()) {
    const double skew_s = node->clock_skew_s();
    if (std::isnan(skew_s) || node->state(clock_.now()) == NodeState::offline) continue;
    ++heard;
    if (skew_s > seconds_of(max_ahead)) ++ahead;
  }
  clock_is_behind_ = 2 * ahead > heard;
  const Error behind{.kind = ErrorKind::busy,
                     .message = fmt::format("it is more than {} behind those of most nodes, which keep what they have "
                                            "until that is put right",
                                            format_duration(max_ahead)),
                     .hint = "Check time synchronisation (chronyc tracking, timedatectl)."};
  note_problem("this machine's clock", clock_is_behind_ ? Result<void>(behind) : Result<void>());
}

Result<void> Leader::name_series(Node& node, const Batch& batch) {
  const std::size_t known = node.known_series(batch.stream);
  const std::size_t named = batch.first_series + batch.series.size();
  if (named <= known) return {};
  std::vector<SeriesName> added(batch.series.end() - static_cast<std::ptrdiff_t>(named - known), batch.series.end());
  // Whatever an agent says: these are its own node's.
  for (auto& series : added) series.key.labels["node"] = node.name();
  const auto admitted = node.admit_series(added);
  std::vector<std::optional<SeriesInfo>> infos(added.size());
  std::size_t refused = 0;
  std::string why;
  for (std::size_t i = 0; i < added.size(); ++i) {
    auto& series = added[i];
    if (!admitted[i]) continue;
    auto id = series_.intern(series.key, series.unit);
    if (!id && id.error().kind != ErrorKind::usage) return std::move(id).error();
    if (id) {
      infos[i] = SeriesInfo{.id = *id, .key = std::move(series.key), .unit = std::move(series.unit)};
    } else if (++refused == 1) {
      why = id.error().text();
    }
  }
  if (refused > 0) log_warning("Node '{}': left out {} series, the first: {}", node.name(), refused, why);
  if (std::find(admitted.begin(), admitted.end(), false) != admitted.end()) {
    note_problem(series_problem(node.name()),
                 Error{.kind = ErrorKind::busy,
                       .message = fmt::format("it has more than {}; further ones are left out", kMaxSeriesPerNode),
                       .hint = "Look which label of them has ever new values: `assay query`."});
  }
  node.name_series(batch.stream, infos);
  return {};
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
  node.limit_events(kept, clock_.wall());
  if (kept.size() < events.size()) {
    log_warning("Node '{}' reports more events than are kept: {} of {} were dropped.", name,
                events.size() - kept.size(), events.size());
  }
  auto added = cluster_.events().append(kept);
  if (!added) {
    note_problem("writing down events", added.error());
    return std::move(added).error();
  }
  note_problem("writing down events", {});
  node.count_events(*added, clock_.wall());
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

void Leader::note_cluster_events(std::vector<ClusterEvent> events) {
  if (events.empty()) return;
  for (auto& event : events) event.time = clock_.wall();
  const std::lock_guard lock(unwritten_mutex_);
  for (auto& event : events) {
    if (unwritten_.size() < kMaxUnwritten) unwritten_.push_back(std::move(event));
  }
  write_waiting_events();
}

void Leader::write_waiting_events() {
  if (unwritten_.empty()) return;
  const auto added = cluster_.events().append(unwritten_);
  note_problem("writing down events", added ? Result<void>() : Result<void>(added.error()));
  if (added) unwritten_.clear();
}

void Leader::note_changes(Node& node, std::vector<std::string> changes) {
  const std::string name = node.name();
  const WallTime now = clock_.wall();
  std::vector<ClusterEvent> events;
  events.reserve(changes.size());
  for (auto& change : changes) {
    events.push_back({.time = now, .node = name, .kind = "inventory", .message = std::move(change)});
  }
  // An agent whose facts change all the time is as much a flood as one with too many faults.
  node.limit_events(events, now);
  node.count_events(events, now);
  for (const auto& event : events) log_info("Node {}: {}", name, event.message);
  note_cluster_events(std::move(events));
}

void Leader::log_damage() {
  for (const auto& problem : series_.problems()) {
    if (logged_damage_.insert(problem).second) log_error("Telemetry is damaged: {}", problem);
  }
}

void Leader::keep_store(const std::stop_token& stop) {
  while (sleep_for(stop, kUpkeepPeriod)) {
    // Not for ever in one go: what is left is done after the next second.
    for (int slice = 0; slice < 64 && !stop.stop_requested(); ++slice) {
      const auto upkeep = series_.maintain(clock_.wall());
      if (!upkeep) {
        note_problem("storing telemetry", upkeep.error());
        break;
      }
      note_problem("storing telemetry", {});
      if (!upkeep->more) break;
    }
    log_damage();
    crowded_ = series_.stats().fullness > kCrowdedShare;
  }
}

void Leader::look_at_states() {
  // All at once: when a switch fails, a thousand nodes are gone in the same moment.
  std::vector<ClusterEvent> events;
  for (const auto& change : nodes_->look_at_states()) {
    if (change.to == NodeState::offline) {
      events.push_back({.node = change.node, .kind = "node_offline", .message = "the node is silent"});
    } else if (change.from == NodeState::offline) {
      events.push_back({.node = change.node, .kind = "node_online", .message = "the node is heard of"});
    }
  }
  for (const auto& event : events) log_info("Node {}: {}", event.node, event.message);
  note_cluster_events(std::move(events));
  compare_clocks();
  // What a full disk has refused earlier: nobody else would say it again.
  const std::lock_guard lock(unwritten_mutex_);
  write_waiting_events();
}

void Leader::keep_watch(const std::stop_token& stop) {
  bool forgetting = true;
  for (int round = 1; sleep_for(stop, kStatePeriod); ++round) {
    look_at_states();
    commands_->expire();
    if (round % kStatesPerLook == 0) alerts_->look(view_of(*nodes_, clock_));
    if (round % kStatesPerSave == 0) note_problem("writing down the nodes", nodes_->save_all());
    // A slice at a time: agents wait for the same disk.
    forgetting = forgetting || round % kStatesPerForget == 0;
    if (forgetting) forgetting = forget_what_is_old();
  }
}

/// On a thread of its own: it waits for the disk that runs are on, and nodes are not to be called lost meanwhile.
void Leader::keep_runs_going(const std::stop_token& stop) {
  while (sleep_for(stop, kRunPeriod)) note_problem("looking after runs", run_desk_->tick());
}

bool Leader::forget_what_is_old() {
  const WallTime from = clock_.wall() - options_.keep_events;
  const auto events = cluster_.events().forget({.from = from, .most_per_node = options_.events_per_node}, kForgetSlice);
  note_problem("forgetting old events", events ? Result<void>() : Result<void>(events.error()));
  const auto alerts = cluster_.alerts().forget_resolved(from, kForgetSlice);
  note_problem("forgetting old alerts", alerts ? Result<void>() : Result<void>(alerts.error()));
  return (events && *events) || (alerts && *alerts);
}

void Leader::keep_telling(const std::stop_token& stop) {
  while (sleep_for(stop, kLivePeriod)) live_->tick();
}

void Leader::note_problem(const std::string& what, const Result<void>& outcome) {
  const std::lock_guard lock(problems_mutex_);
  if (outcome) {
    if (problems_.erase(what) > 0) log_warning("{}: works again", what);
  } else if (auto& known = problems_[what]; known != outcome.error().text()) {
    known = outcome.error().text();
    log_error("{}: {}", what, known);
  }
}

Result<void> Leader::set_draining(std::string_view name, bool draining, std::string reason, std::string_view by) {
  const auto node = nodes_->find(name);
  if (!node) return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no node '{}'", name)};
  note_cluster_events({{.node = std::string(name),
                        .kind = draining ? "node_drained" : "node_resumed",
                        .message = reason.empty() ? fmt::format("by {}", by) : fmt::format("by {}: {}", by, reason)}});
  node->set_draining(draining, std::move(reason));
  return nodes_->save(*node);
}

Result<void> Leader::forget(std::string_view node, bool erase) {
  ASSAY_CHECK(nodes_->forget(node));
  note_problem(series_problem(node), {});
  if (!erase) return {};
  ASSAY_TRY(const auto erased, series_.erase({.labels = {{.label = "node", .value = std::string(node)}}}));
  log_info("{} series of node '{}' were erased.", erased, node);
  return {};
}

LeaderStatus Leader::status() const {
  LeaderStatus status{.version = std::string(version()), .uptime_s = seconds_of(clock_.now() - started_)};
  for (const auto& node : nodes_->all()) {
    switch (node->state(clock_.now())) {
      case NodeState::online: ++status.nodes.online; break;
      case NodeState::late: ++status.nodes.late; break;
      case NodeState::offline: ++status.nodes.offline; break;
      case NodeState::draining: ++status.nodes.draining; break;
    }
  }
  {
    const std::lock_guard lock(problems_mutex_);
    for (const auto& [what, message] : problems_) status.problems.push_back(fmt::format("{}: {}", what, message));
  }
  for (const auto& problem : series_.problems()) status.problems.push_back(problem);
  if (const auto problem = alerts_->outlet_problem(); !problem.empty()) status.problems.push_back(problem);
  const auto stats = series_.stats();
  status.samples = samples_.load();
  status.samples_refused = refused_.load();
  status.batches = batches_.load();
  status.series = stats.series;
  status.head_points = stats.head_points;
  status.head_bytes = stats.head_bytes;
  status.live_clients = live_->clients();
  return status;
}

}  // namespace assay
