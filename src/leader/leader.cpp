#include "leader/leader.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>

#include "accounts/accounts.h"
#include "base/log.h"
#include "base/units.h"
#include "base/version.h"
#include "leader/alert_desk.h"
#include "leader/cluster_watch.h"
#include "leader/command_desk.h"
#include "leader/leader_options.h"
#include "leader/live_hub.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/run_desk.h"
#include "leader/slurm_desk.h"
#include "protocol/batch.h"
#include "store/alert_table.h"
#include "store/cluster_store.h"
#include "store/event_log.h"
#include "store/series_store.h"
#include "store/series_types.h"
#include "telemetry/telemetry_event.h"

namespace assay {
namespace {

constexpr Nanos kUpkeepPeriod = std::chrono::seconds(1);
constexpr Nanos kStatePeriod = std::chrono::milliseconds(500);
constexpr int kStatesPerLook = 10;      // rules are looked at every five seconds
constexpr int kStatesPerSave = 60;      // when nodes were last heard of, every half minute
constexpr int kStatesPerForget = 1200;  // every ten minutes
constexpr std::size_t kForgetSlice = 2000;
/// Looks, twice a second, at which no thread was free: from the first number on nobody is called silent, and for as
/// many more after it was over as there were, up to the second.
constexpr int kBusyLooks = 2;
constexpr int kMostBusyLooks = 6;
/// Of more nodes that change at once, their number is logged; events have them all.
constexpr std::size_t kMostStateLines = 20;
/// What many slow clients or long answers took goes back to the system within half a minute.
constexpr int kUpkeepsPerTrim = 30;
/// Memory that is used up now and then is a problem all the while.
constexpr Nanos kNoRoomMemory = std::chrono::seconds(10);
/// Between two looks at the nodes; after more the leader itself was away.
constexpr Nanos kLongestAbsence = std::chrono::seconds(2);
/// A browser redraws at most five times a second.
constexpr Nanos kLivePeriod = std::chrono::milliseconds(200);
constexpr Nanos kRunPeriod = std::chrono::milliseconds(500);
constexpr Nanos kRestartPause = std::chrono::seconds(1);
constexpr double kCrowdedShare = 0.8;
/// Events of the leader itself that wait for room on the disk.
constexpr std::size_t kMaxUnwritten = 10'000;
}  // namespace

Result<std::unique_ptr<Leader>> Leader::open(LeaderOptions options, LeaderStores stores, const Clock& clock) {
  std::unique_ptr<Leader> leader(new Leader(std::move(options), stores, clock));
  ASSAY_CHECK(leader->open_all());
  return leader;
}

Leader::Leader(LeaderOptions options, LeaderStores stores, const Clock& clock)
    : options_(std::make_unique<LeaderOptions>(std::move(options))),
      clock_(clock),
      series_(stores.series),
      cluster_(stores.cluster),
      runs_(stores.runs),
      refusals_(stores.cluster.refusals()) {}

Heartbeat Leader::now() const { return {.at = clock_.now(), .wall = clock_.wall()}; }

Result<void> Leader::open_all() {
  ASSAY_TRY(nodes_, NodeRegistry::load(cluster_.nodes(), clock_));
  ASSAY_TRY(alerts_, AlertDesk::load(cluster_, options_->rules, std::move(options_->outlets), clock_));
  live_ = std::make_unique<LiveHub>(*nodes_, clock_);
  alerts_->on_change([this](std::string alert) { live_->publish_alert(std::move(alert)); });
  ASSAY_CHECK(refusals_.load().within("reading what was refused"));
  ASSAY_TRY(accounts_, Accounts::load(cluster_.accounts(), clock_, options_->accounts).within("reading the accounts"));
  options_->runs.rule_of = [this](const std::string& owner) { return rule_of(owner); };
  slurm_ = std::make_unique<SlurmDesk>(options_->slurm, clock_);
  options_->runs.used_by = [this](const std::string& node) { return slurm_->use_of(node); };
  run_desk_ = std::make_unique<RunDesk>(runs_, cluster_, *nodes_, clock_, options_->runs);
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
    note_problem(what, Error{.kind = ErrorKind::internal, .message = problem}, ProblemKind::fault);
  };
  threads_.emplace_back(
      name, [this, keep](const std::stop_token& stop) { (this->*keep)(stop); },
      SupervisedThread::OnFailure{.restart_after = kRestartPause, .report = report});
}

void Leader::finish_streams() {
  ending_ = true;
  live_->finish();
  commands_->finish();
  run_desk_->finish();
}

void Leader::stop() {
  if (threads_.empty()) return;
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
  finish_streams();
  note_problem("writing down what was refused", refusals_.save());
  note_problem("writing down the nodes", nodes_->save_all());
  note_problem("syncing telemetry", series_.sync());
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
  std::vector<ClusterEvent> events;
  events.reserve(changes.size());
  for (auto& change : changes) {
    events.push_back({.time = clock_.wall(), .node = name, .kind = "inventory", .message = std::move(change)});
  }
  // An agent whose facts change all the time is as much a flood as one with too many faults.
  limit_events(node, events);
  node.count_events(events, now(), options_->events_per_hour);
  log_changes(name, events);
  note_cluster_events(std::move(events));
}

/// Events have all of it.
void Leader::log_changes(const std::string& node, const std::vector<ClusterEvent>& changes) {
  const std::lock_guard lock(changes_mutex_);
  for (const auto& change : changes) {
    const auto say = change_lines_.next(node, clock_.now());
    if (say == LineLimit::Say::nothing) return;
    log_info("Node {}: {}{}", node, change.message,
             say == LineLimit::Say::it ? "" : "; what else changes is not logged for an hour");
  }
}

void Leader::log_damage() {
  for (const auto& problem : series_.problems()) {
    const std::lock_guard lock(problems_mutex_);
    if (damage_.emplace(problem, clock_.wall()).second) log_error("Telemetry is damaged: {}", problem);
  }
}

void Leader::keep_store(const std::stop_token& stop) {
  for (int round = 1; sleep_for(stop, kUpkeepPeriod); ++round) {
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
    const Error crowded{.kind = ErrorKind::busy,
                        .message = "there is hardly any left, and nodes have to wait",
                        .hint = "Is the disk slow? Fewer series or a longer period of the agents help, too."};
    note_problem("memory for telemetry", crowded_ ? Result<void>(crowded) : Result<void>(), ProblemKind::limit);
    if (round % kUpkeepsPerTrim == 0) ::malloc_trim(0);
  }
}

/// A disk that hangs takes all threads with it, one after the other, and so does more work than there are threads for;
/// then nodes are not heard, and are not silent.
void Leader::look_at_intake() {
  const auto nodes = nodes_->all();
  const auto in_hand = static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [](const auto& node) { return node->is_in_hand(); }));
  const bool all_busy = in_hand >= options_->intake_threads;
  busy_looks_ = all_busy ? std::min(busy_looks_ + 1, kMostBusyLooks) : std::max(busy_looks_ - 1, 0);
  const bool is_deaf = busy_looks_ >= kBusyLooks;
  const Error deaf{.kind = ErrorKind::busy,
                   .message = fmt::format("all {} threads that do it are busy, and nodes cannot be heard in time",
                                          options_->intake_threads),
                   .hint = "Is the disk slow, or does it hang? 'workers' sets how many threads there are."};
  note_problem("taking in what nodes send", is_deaf ? Result<void>(deaf) : Result<void>(), ProblemKind::limit);
  if (is_deaf) excuse_nodes();
}

void Leader::excuse_nodes() { nodes_->excuse(); }

void Leader::note_no_room(const std::string& caller) {
  const std::lock_guard lock(no_room_mutex_);
  no_room_for_ = caller;
  no_room_at_ = clock_.now();
}

void Leader::look_at_room() {
  std::string caller;
  {
    const std::lock_guard lock(no_room_mutex_);
    if (clock_.now() - no_room_at_ < kNoRoomMemory) caller = no_room_for_;
  }
  const Error full{.kind = ErrorKind::busy,
                   .message = fmt::format("requests are turned away, the last one of {}", caller),
                   .hint = "Somebody sends or asks for very much at once; they are told to try again."};
  note_problem("memory for requests", caller.empty() ? Result<void>() : Result<void>(full), ProblemKind::limit);
}

void Leader::log_states(const std::vector<ClusterEvent>& events) {
  if (events.size() > kMostStateLines) {
    const auto silent = static_cast<std::size_t>(std::count_if(
        events.begin(), events.end(), [](const ClusterEvent& event) { return event.kind == "node_offline"; }));
    log_info("{} nodes are silent, {} are heard of again.", silent, events.size() - silent);
    return;
  }
  for (const auto& event : events) {
    const auto say = state_lines_.next(event.node, clock_.now());
    if (say == LineLimit::Say::nothing) continue;
    log_info("Node {}: {}{}", event.node, event.message,
             say == LineLimit::Say::it ? "" : "; it comes and goes, which is not logged any more for an hour");
  }
}

void Leader::turn_maintenance() {
  using Turn = Node::MaintenanceTurn;
  for (const auto& node : nodes_->all()) {
    const auto turn = node->turn_maintenance(clock_.wall());
    if (turn == Turn::none) continue;
    const bool begins = turn == Turn::begins;
    note_cluster_events({{.node = node->name(),
                          .kind = begins ? "node_drained" : "node_resumed",
                          .message = begins ? "its maintenance begins" : "its maintenance is over"}});
    const auto saved = nodes_->save(*node);
    note_problem("writing down the nodes", saved ? Result<void>() : Result<void>(saved.error()));
  }
}

void Leader::look_at_states() {
  if (ending_) return;
  turn_maintenance();
  look_at_intake();
  look_at_room();
  // All at once: when a switch fails, a thousand nodes are gone in the same moment.
  std::vector<ClusterEvent> events;
  for (const auto& change : nodes_->look_at_states()) {
    if (change.to == NodeState::offline) {
      events.push_back({.node = change.node, .kind = "node_offline", .message = "the node is silent"});
    } else if (change.from == NodeState::offline) {
      events.push_back({.node = change.node, .kind = "node_online", .message = "the node is heard of"});
    }
  }
  log_states(events);
  note_cluster_events(std::move(events));
  compare_clocks();
  note_problem("writing down what was refused", refusals_.save());
  // What a full disk has refused earlier: nobody else would say it again.
  const std::lock_guard lock(unwritten_mutex_);
  write_waiting_events();
}

void Leader::keep_watch(const std::stop_token& stop) {
  bool forgetting = true;
  SteadyTime looked = clock_.now();
  for (int round = 1; sleep_for(stop, kStatePeriod); ++round) {
    if (clock_.now() - looked > kLongestAbsence) excuse_nodes();
    look_at_states();
    commands_->expire();
    if (round % kStatesPerLook == 0) look_for_alerts();
    looked = clock_.now();
    if (round % kStatesPerSave == 0) note_problem("writing down the nodes", nodes_->save_all());
    // A slice at a time: agents wait for the same disk.
    forgetting = forgetting || round % kStatesPerForget == 0;
    if (forgetting) forgetting = forget_what_is_old();
    if (round % kStatesPerForget == 0) note_problem("tidying up the accounts", accounts_->tidy());
  }
}

void Leader::look_for_alerts() {
  ClusterView view = view_of(*nodes_, clock_);
  view.problems = problems();
  alerts_->look(view);
}

/// What somebody may have at once: users by their quota, unless they manage the cluster; tokens without an account are
/// an administrator's to give away.
UserRule Leader::rule_of(const std::string& owner) const {
  constexpr std::string_view kUser = "user ";
  if (!owner.starts_with(kUser)) return {};
  const auto name = owner.substr(kUser.size());
  const auto account = accounts_->people().find(name);
  if (account && account->role == "admin") return {};
  const auto quota = accounts_->quota_of(name);
  UserRule rule;
  if (quota.gpus_at_once) rule.most_gpus = static_cast<int>(std::min<std::int64_t>(*quota.gpus_at_once, 1'000'000));
  return rule;
}

/// On a thread of its own: it waits for the disk that runs are on, and nodes are not to be called lost meanwhile.
void Leader::keep_runs_going(const std::stop_token& stop) {
  while (sleep_for(stop, kRunPeriod)) note_problem("looking after runs", run_desk_->tick());
}

bool Leader::forget_what_is_old() {
  const WallTime from = clock_.wall() - options_->keep_events;
  const auto events =
      cluster_.events().forget({.from = from, .most_per_node = options_->events_per_node}, kForgetSlice);
  note_problem("forgetting old events", events ? Result<void>() : Result<void>(events.error()));
  const auto alerts = cluster_.alerts().forget_resolved(from, kForgetSlice);
  note_problem("forgetting old alerts", alerts ? Result<void>() : Result<void>(alerts.error()));
  return (events && *events) || (alerts && *alerts);
}

void Leader::keep_telling(const std::stop_token& stop) {
  while (sleep_for(stop, kLivePeriod)) live_->tick();
}

void Leader::note_problem(const std::string& what, const Result<void>& outcome, ProblemKind kind) {
  const std::lock_guard lock(problems_mutex_);
  const auto say = [&](LogLevel level, const std::string& line) {
    const auto how = problem_lines_.next(what, clock_.now());
    if (how == LineLimit::Say::nothing) return;
    log(level,
        how == LineLimit::Say::it ? line : line + "; this comes and goes, and is not logged any more for an hour");
  };
  if (outcome) {
    if (problems_.erase(what) > 0) say(LogLevel::warning, fmt::format("{}: works again", what));
    return;
  }
  auto& known = problems_[what];
  std::string text = fmt::format("{}: {}", what, outcome.error().text());
  if (known.text == text) return;
  say(LogLevel::error, text);
  known = {.kind = kind,
           .level = usual_level(kind),
           .about = what,
           .text = std::move(text),
           .since = known.text.empty() ? clock_.wall() : known.since};
}

Result<void> Leader::set_draining(std::string_view name, bool draining, std::string reason, std::string_view by,
                                  std::optional<Maintenance> maintenance) {
  const auto node = nodes_->find(name);
  if (!node) return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no node '{}'", name)};
  const WallTime now = clock_.wall();
  if (maintenance && (maintenance->until <= maintenance->from || maintenance->until <= now)) {
    return Error{.kind = ErrorKind::usage, .message = "a maintenance must end after it has begun, and not before now"};
  }
  std::string message = fmt::format("by {}", by);
  if (maintenance) {
    message += fmt::format(", from {} to {}", iso8601(maintenance->from), iso8601(maintenance->until));
  }
  if (!reason.empty()) message += ": " + reason;
  const bool begins = draining && (!maintenance || maintenance->from <= now);
  const std::string kind = begins ? "node_drained" : draining ? "node_maintenance" : "node_resumed";
  note_cluster_events({{.node = std::string(name), .kind = kind, .message = std::move(message)}});
  node->set_draining(begins, std::move(reason), maintenance);
  const auto saved = nodes_->save(*node);
  return saved ? Result<void>() : Result<void>(saved.error());
}

Result<void> Leader::forget(std::string_view node, bool erase) {
  ASSAY_CHECK(nodes_->forget(node));
  ASSAY_CHECK(refusals_.forget(node));
  if (!erase) return {};
  ASSAY_TRY(const auto erased, series_.erase({.labels = {{.label = "node", .value = std::string(node)}}}));
  log_info("{} series of node '{}' were erased.", erased, node);
  // Others may have been refused for the room that it took.
  for (const auto& other : nodes_->all()) other->ask_again_for_refused();
  return {};
}

std::vector<LeaderProblem> Leader::problems() const {
  std::vector<LeaderProblem> all;
  {
    const std::lock_guard lock(problems_mutex_);
    for (const auto& [what, problem] : problems_) all.push_back(problem);
    for (const auto& [text, since] : damage_) {
      all.push_back({.kind = ProblemKind::damage, .about = "telemetry", .text = text, .since = since});
    }
  }
  for (auto& problem : refusals_.problems()) all.push_back(std::move(problem));
  for (auto& problem : alerts_->outlet_problems()) {
    all.push_back({.kind = ProblemKind::outlet,
                   .level = usual_level(ProblemKind::outlet),
                   .about = std::move(problem.outlet),
                   .text = std::move(problem.text),
                   .since = problem.since});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const LeaderProblem& a, const LeaderProblem& b) { return a.level > b.level; });
  return all;
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
  status.problems = problems();
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
