#include "watch/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "base/units.h"
#include "telemetry/telemetry_event.h"
#include "watch/alert_board.h"
#include "watch/event_rules.h"
#include "watch/leader_track.h"
#include "watch/node_track.h"
#include "watch/peers.h"
#include "watch/sentences.h"
#include "watch/unknown.h"
#include "watch/xid_catalogue.h"

namespace assay {
namespace {

/// Fields that say "nothing waits" may be older than the event that says the opposite.
constexpr Nanos kEventSettles = std::chrono::minutes(2);
/// Values may be older than the loss of their GPU; after this long they are from a GPU that is there.
constexpr Nanos kLossSettles = std::chrono::minutes(5);
/// An hour is waited for what is forgotten: it need not be looked for at every look.
constexpr Nanos kSweepEvery = std::chrono::minutes(1);
constexpr std::size_t kLongestMessage = 500;

bool reports(const NodeView& node) { return node.state == NodeState::online || node.state == NodeState::draining; }

Smoothing smoothing_for(Nanos since_last) {
  const double seconds = seconds_of(since_last);
  const double minute = 1 - std::exp(-seconds / 60);
  return {.minute = minute, .five_minutes = 1 - std::exp(-seconds / 300), .share = minute};
}

/// What is said of one thing under one rule, but for what the alert itself knows.
struct Description {
  SentenceFacts facts;
  std::map<std::string, double> values;
  std::optional<AlertSeverity> severity;  ///< that of the rule if absent
};

SentenceFacts gpu_facts(RuleId rule, const NodeView& node, const GpuView& gpu, const GpuTrack& track) {
  SentenceFacts facts{.subject = gpu_words(node, gpu.uuid)};
  facts.total = gpu[GpuField::memory_total_bytes];
  switch (rule) {
    case RuleId::gpu_temperature_imbalance: facts.own = track.temperature.value(); break;
    case RuleId::gpu_clock_imbalance: facts.own = track.clock.value(); break;
    case RuleId::gpu_use_imbalance: facts.own = track.steady_use.value(); break;
    default: facts.own = gpu[GpuField::memory_used_bytes];
  }
  return facts;
}

std::string event_subject(const NodeView& node, const EventTrack& track) {
  return track.rule == RuleId::source_failing ? fmt::format("{} of {}", printable(track.about), node.name)
                                              : gpu_words(node, track.about);
}

/// An agent that was started again does not know that a GPU was away, and does not say that it is back.
bool has_values(const NodeView& node, std::string_view uuid) {
  return std::any_of(node.gpus.begin(), node.gpus.end(),
                     [&](const GpuView& gpu) { return gpu.uuid == uuid && !std::isnan(gpu[GpuField::temperature_c]); });
}

std::string shortened(std::string_view message) { return printable(message.substr(0, kLongestMessage)); }

/// Whoever drained a node knows that it may be switched off.
Description describe_loss(const NodeView& node, WallTime now) {
  Description loss{.facts = {.subject = node.name}};
  if (node.last_seen > WallTime()) {
    loss.facts.lasted = std::max(Nanos(0), now - node.last_seen);
    loss.facts.note = fmt::format("It was last heard at {}.", iso8601(node.last_seen));
  }
  if (!node.draining) return loss;
  loss.severity = AlertSeverity::info;
  loss.facts.note += loss.facts.note.empty() ? "" : " ";
  loss.facts.note += node.drain_reason.empty() ? std::string("It was drained.")
                                               : fmt::format("It was drained: {}.", printable(node.drain_reason));
  return loss;
}

}  // namespace

class Watch::State {
 public:
  State(const WatchRules& rules, std::vector<Alert> open) : rules_(rules), board_(rules, std::move(open)) {}

  void note_event(std::string_view node, const TelemetryEvent& event) {
    if (events_.size() < kMostEvents && meaning_of(event)) events_.push_back({std::string(node), event});
  }
  std::vector<AlertChange> look(const ClusterView& cluster, WallTime now);
  std::vector<Alert> take_renewed() { return board_.take_renewed(); }
  std::vector<Alert> open_alerts() const { return board_.open(); }

 private:
  /// A node of the look under way.
  struct InView {
    const NodeView* node = nullptr;
    NodeTrack* track = nullptr;
    PeerFigures figures;
  };
  struct NotedEvent {
    std::string node;
    TelemetryEvent event;
  };

  Peers take_values(const ClusterView& cluster, Nanos since_last);
  NodeTrack& track_of(const NodeView& node);
  void restore(const NodeView& node, NodeTrack& track);
  template <typename Track>
  void restore_thing(const NodeView& node, Track& track, std::string_view about, RuleId first_rule);
  void judge_node(const InView& seen, const Peers& peers);
  void judge_gpus(const NodeView& node, NodeTrack& track);
  void judge_disks(const NodeView& node, NodeTrack& track);
  void take_events();
  void take_event(const NodeView& node, NodeTrack& track, const TelemetryEvent& event);
  void judge_events(const NodeView& node, NodeTrack& track);
  void judge_remapping(const NodeView& node, NodeTrack& track);
  void raise_event(const NodeView& node, EventTrack& track, const std::string& message,
                   std::map<std::string, double> values);
  /// Adds what came after the event that raised an alert.
  void extend_event(const NodeView& node, const EventTrack& track, const TelemetryEvent& event);
  /// `how`: what has ended it, after its subject.
  void resolve_event(const NodeView& node, EventTrack& track, std::string_view how);
  void forget_removed_nodes();
  void resolve_forgotten();

  /// One rule for one thing. `describe` gives its `Description`, if that is needed.
  template <typename Describe>
  void judge(RuleCondition& condition, const AlertSubject& subject, double value, Describe describe);
  AlertNews news_of(const AlertSubject& subject, Description description, WallTime since) const;

  WatchRules rules_;
  AlertBoard board_;
  std::unordered_map<std::string, NodeTrack> nodes_;
  LeaderTrack leader_;
  std::vector<InView> in_view_;
  std::vector<NotedEvent> events_;
  WallTime now_;
  WallTime last_sweep_;
  std::uint64_t looks_ = 0;
};

AlertNews Watch::State::news_of(const AlertSubject& subject, Description description, WallTime since) const {
  const Rule& rule = rules_[subject.rule];
  SentenceFacts& facts = description.facts;
  if (facts.lasted == Nanos(0)) facts.lasted = std::max(Nanos(0), now_ - since);
  return {.what = sentence_of(subject.rule, facts, rule),
          .severity = description.severity.value_or(rule.severity),
          .since = since,
          .value = facts.value,
          .threshold = info_of(subject.rule).level_key.empty() ? kUnknown : rule.level,
          .values = std::move(description.values)};
}

template <typename Describe>
void Watch::State::judge(RuleCondition& condition, const AlertSubject& subject, double value, Describe describe) {
  const Rule& rule = rules_[subject.rule];
  if (!rule.enabled) return;
  const auto change = condition.look(value, rule, info_of(subject.rule).direction, now_);
  if (change == RuleCondition::Change::raised) {
    Description description = describe();
    description.facts.value = description.facts.worst = value;
    board_.raise(subject, news_of(subject, std::move(description), now_ - rule.hold));
    return;
  }
  const bool resolved = change == RuleCondition::Change::resolved;
  const bool words_are_old = (resolved || condition.raised()) && board_.touch(subject, value);
  const Alert* alert = resolved || words_are_old ? board_.find(subject) : nullptr;
  if (alert == nullptr) return;
  Description description = describe();
  description.facts.value = value;
  description.facts.worst = alert->worst_value;
  if (resolved) {
    description.facts.lasted = std::max(Nanos(0), now_ - rule.clear_for - alert->since);
    board_.resolve(subject, resolved_sentence_of(subject.rule, description.facts, rule));
  } else {
    board_.renew(subject, news_of(subject, std::move(description), alert->since));
  }
}

std::vector<AlertChange> Watch::State::look(const ClusterView& cluster, WallTime now) {
  const Nanos since_last = looks_ == 0 ? Nanos::max() : now - now_;
  now_ = now;
  ++looks_;
  board_.begin(now);
  const Peers peers = take_values(cluster, since_last);
  for (const InView& seen : in_view_) judge_node(seen, peers);
  take_events();
  for (const InView& seen : in_view_) judge_events(*seen.node, *seen.track);
  leader_.look(cluster.problems, rules_[RuleId::leader_problem], board_, now_);
  forget_removed_nodes();
  resolve_forgotten();
  in_view_.clear();
  return board_.take_changes();
}

Peers Watch::State::take_values(const ClusterView& cluster, Nanos since_last) {
  const bool gap = since_last < Nanos(0) || since_last > kLongestGap;
  const Smoothing smoothing = gap ? Smoothing() : smoothing_for(since_last);
  Peers peers;
  for (const NodeView& node : cluster.nodes) {
    NodeTrack& track = track_of(node);
    InView& seen = in_view_.emplace_back(InView{&node, &track, {}});
    track.last_look = looks_;
    track.reports = reports(node);
    if (gap) {
      track.pause_values();
      track.condition(RuleId::node_lost).pause();
    }
    if (!track.reports) continue;
    track.add(node, smoothing, now_);
    seen.figures = figures_of(node, track.gpus);
    peers.add(seen.figures);
  }
  peers.finish();
  return peers;
}

NodeTrack& Watch::State::track_of(const NodeView& node) {
  const auto [place, is_new] = nodes_.try_emplace(node.name);
  NodeTrack& track = place->second;
  if (is_new) {
    track.phase = std::chrono::seconds(stable_hash(node.name) % 360);
    track.memory = SteadyRise(std::chrono::minutes(1), track.phase);
    restore(node, track);
  }
  return track;
}

/// Things that come with an alert of an earlier life of the program begin where it ended.
void Watch::State::restore(const NodeView& node, NodeTrack& track) {
  for (std::size_t i = 0; i < kNodeRules; ++i) {
    const auto rule = static_cast<RuleId>(kGpuRules + i);
    if (board_.find({rule, node.name, ""}) != nullptr) track.conditions[i].restore();
  }
  for (const Alert& alert : board_.open_of(node.name)) {
    const auto rule = rule_from(alert.rule);
    if (!rule || !is_of_events(*rule)) continue;
    if (EventTrack* event = track.event(*rule, alert.about)) {
      event->raised = true;
      event->last_event = alert.since;
    }
  }
}

/// The same for a GPU or a file system, the first time it is judged.
template <typename Track>
void Watch::State::restore_thing(const NodeView& node, Track& track, std::string_view about, RuleId first_rule) {
  if (!std::exchange(track.fresh, false)) return;
  for (std::size_t i = 0; i < track.conditions.size(); ++i) {
    const auto rule = static_cast<RuleId>(static_cast<std::size_t>(first_rule) + i);
    if (board_.find({rule, node.name, about}) != nullptr) track.conditions[i].restore();
  }
}

void Watch::State::judge_node(const InView& seen, const Peers& peers) {
  const NodeView& node = *seen.node;
  NodeTrack& track = *seen.track;
  const auto about_node = [&](RuleId rule, double value, double own, double total = kUnknown) {
    judge(track.condition(rule), {rule, node.name, ""}, value,
          [&] { return Description{.facts = {.subject = node.name, .own = own, .total = total}}; });
  };
  // One that is late may be on its way out or back: neither is certain.
  judge(track.condition(RuleId::node_lost), {RuleId::node_lost, node.name, ""},
        node.state == NodeState::late      ? kUnknown
        : node.state == NodeState::offline ? 1
                                           : 0,
        [&] { return describe_loss(node, now_); });
  if (!track.reports) {
    track.pause_values();
    return;
  }
  about_node(RuleId::clock_skew, std::abs(node.clock_skew_s), node.clock_skew_s);
  about_node(RuleId::host_memory_leak, track.memory.seconds_to_full(), node.memory_used_bytes, node.memory_total_bytes);
  about_node(RuleId::node_temperature_imbalance, peers.temperature_beyond(seen.figures), seen.figures.temperature);
  about_node(RuleId::node_clock_imbalance, peers.clock_behind(seen.figures), seen.figures.clock);
  judge_gpus(node, track);
  judge_disks(node, track);
}

void Watch::State::judge_gpus(const NodeView& node, NodeTrack& track) {
  const double idle_level = rules_[RuleId::allocated_but_idle].level;
  for (std::size_t i = 0; i < node.gpus.size(); ++i) {
    const GpuView& gpu = node.gpus[i];
    GpuTrack* kept = track.gpu(gpu.uuid, i);
    if (kept == nullptr) continue;
    restore_thing(node, *kept, gpu.uuid, RuleId::overheating);
    const auto place = static_cast<std::size_t>(kept - track.gpus.data());
    const GpuLevels levels = gpu_levels(gpu, track.gpus, place, idle_level);
    for (std::size_t number = 0; number < kGpuRules; ++number) {
      const auto rule = static_cast<RuleId>(number);
      judge(kept->conditions[number], {rule, node.name, gpu.uuid}, levels[number],
            [&] { return Description{.facts = gpu_facts(rule, node, gpu, *kept), .values = values_of(gpu)}; });
    }
  }
}

void Watch::State::judge_disks(const NodeView& node, NodeTrack& track) {
  for (std::size_t i = 0; i < node.file_systems.size(); ++i) {
    const FileSystemView& view = node.file_systems[i];
    DiskTrack* kept = track.disk(view.mount, i);
    if (kept == nullptr) continue;
    restore_thing(node, *kept, view.mount, RuleId::disk_almost_full);
    const double size = view.used_bytes + view.available_bytes;
    const auto words = [&] {
      return Description{.facts = {.subject = fmt::format("{} of {}", printable(view.mount), node.name),
                                   .own = view.used_bytes,
                                   .total = size},
                         .values = {{"used_bytes", view.used_bytes}, {"available_bytes", view.available_bytes}}};
    };
    judge(kept->conditions[0], {RuleId::disk_almost_full, node.name, view.mount},
          size > 0 ? view.used_bytes / size : kUnknown, words);
    judge(kept->conditions[1], {RuleId::disk_filling, node.name, view.mount}, kept->used.seconds_to_full(), words);
  }
}

void Watch::State::take_events() {
  if (events_.empty()) return;
  std::unordered_map<std::string_view, const InView*> by_name;
  for (const InView& seen : in_view_) by_name.emplace(seen.node->name, &seen);
  for (const NotedEvent& noted : std::exchange(events_, {})) {
    const auto seen = by_name.find(noted.node);
    if (seen != by_name.end()) take_event(*seen->second->node, *seen->second->track, noted.event);
  }
}

void Watch::State::take_event(const NodeView& node, NodeTrack& track, const TelemetryEvent& event) {
  const auto meaning = meaning_of(event);
  const Rule& rule = rules_[meaning->rule];
  if (!rule.enabled || now_ - event.time > rule.clear_for) return;
  // A GPU that is gone takes more faults with it; one alert says it all.
  if (meaning->rule == RuleId::xid && board_.find({RuleId::gpu_lost, node.name, event.about}) != nullptr) return;
  EventTrack* kept = track.event(meaning->rule, event.about);
  if (kept == nullptr) return;
  // What is said about the same moment adds to an alert; else it was heard before.
  if (event.time < kept->last_event || (event.time == kept->last_event && !kept->raised)) return;
  // A node whose clock is ahead must not keep its alerts open for longer.
  kept->last_event = std::min(event.time, now_);
  if (meaning->ends) {
    resolve_event(node, *kept, meaning->rule == RuleId::gpu_lost ? "is there again" : "has recovered");
  } else if (!kept->raised) {
    raise_event(node, *kept, event.message, event.values);
  } else {
    extend_event(node, *kept, event);
  }
}

void Watch::State::raise_event(const NodeView& node, EventTrack& track, const std::string& message,
                               std::map<std::string, double> values) {
  track.raised = true;
  const auto xid = values.find("xid");
  AlertNews news{.what = fmt::format("{}: {}.", event_subject(node, track), shortened(message)),
                 .remedy = xid == values.end() ? "" : xid_remedy(xid->second),
                 .severity = rules_[track.rule].severity,
                 .since = track.last_event,
                 .value = kUnknown,
                 .threshold = kUnknown,
                 .values = std::move(values)};
  board_.raise({track.rule, node.name, track.about}, std::move(news));
}

void Watch::State::extend_event(const NodeView& node, const EventTrack& track, const TelemetryEvent& event) {
  const AlertSubject subject{track.rule, node.name, track.about};
  const Alert* alert = board_.find(subject);
  const auto xid = event.values.find("xid");
  if (alert == nullptr || xid == event.values.end()) return;
  const std::string message = shortened(event.message);
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  // Each part of the sentence ends with one of these: "XID 4" is not said by "XID 48".
  if (says(alert->what, message + ";") || says(alert->what, message + ".")) return;
  if (alert->what.size() + message.size() > 2 * kLongestMessage) return;
  const std::string_view before = std::string_view(alert->what).substr(0, alert->what.size() - 1);
  const std::string remedy = xid_remedy(xid->second);
  AlertNews news{.what = fmt::format("{}; {}.", before, message),
                 .remedy = says(alert->remedy, remedy) ? "" : fmt::format("{} {}", alert->remedy, remedy),
                 .severity = alert->severity,
                 .values = event.values};
  board_.renew(subject, std::move(news));
}

void Watch::State::resolve_event(const NodeView& node, EventTrack& track, std::string_view how) {
  if (!std::exchange(track.raised, false)) return;
  const AlertSubject subject{track.rule, node.name, track.about};
  const Alert* alert = board_.find(subject);
  if (alert == nullptr) return;
  const std::string lasted = format_duration(std::max(Nanos(0), now_ - alert->since));
  board_.resolve(subject,
                 fmt::format("{} {} after {}. It was: {}", event_subject(node, track), how, lasted, alert->what));
}

void Watch::State::judge_events(const NodeView& node, NodeTrack& track) {
  if (track.reports) judge_remapping(node, track);
  for (EventTrack& event : track.events) {
    if (!event.raised) continue;
    const Nanos clear_for = rules_[event.rule].clear_for;
    const Nanos quiet_for = now_ - event.last_event;
    if (event.rule == RuleId::gpu_lost && track.reports && quiet_for > kLossSettles && has_values(node, event.about)) {
      resolve_event(node, event, "is there again");
    } else if (quiet_for <= clear_for) {
      board_.touch({event.rule, node.name, event.about}, kUnknown);
    } else {
      resolve_event(node, event,
                    fmt::format("had nothing of the kind for {} and is taken for well", format_duration(clear_for)));
    }
  }
}

/// Rows that waited before anybody looked have no event; that a reset has helped has none either.
void Watch::State::judge_remapping(const NodeView& node, NodeTrack& track) {
  if (!rules_[RuleId::row_remap].enabled) return;
  for (const GpuView& gpu : node.gpus) {
    const double pending = gpu[GpuField::row_remap_pending];
    const double failed = gpu[GpuField::row_remap_failed];
    const bool waits = pending > 0 || failed > 0;
    if (!waits && track.events.empty()) continue;
    if (std::isnan(pending) && std::isnan(failed)) continue;
    EventTrack* kept = track.event(RuleId::row_remap, gpu.uuid);
    if (kept == nullptr) continue;
    if (waits) {
      kept->last_event = now_;
      if (!kept->raised) {
        raise_event(node, *kept,
                    failed > 0 ? "remapping a row of memory has failed" : "a row of memory waits to be remapped",
                    values_of(gpu));
      }
    } else if (kept->raised && now_ - kept->last_event > kEventSettles) {
      resolve_event(node, *kept, "has no row of memory any more that waits,");
    }
  }
}

void Watch::State::forget_removed_nodes() {
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    if (node->second.last_look == looks_) {
      ++node;
    } else {
      board_.resolve_node(node->first);
      node = nodes_.erase(node);
    }
  }
}

void Watch::State::resolve_forgotten() {
  if (now_ >= last_sweep_ && now_ - last_sweep_ < kSweepEvery) return;
  last_sweep_ = now_;
  board_.resolve_forgotten(NodeTrack::kForgetAfter, [&](const std::string& name) {
    const auto node = nodes_.find(name);
    return node != nodes_.end() && !node->second.reports;
  });
}

Watch::Watch(const WatchRules& rules, std::vector<Alert> open)
    : state_(std::make_unique<State>(rules, std::move(open))) {}
Watch::Watch(Watch&&) noexcept = default;
Watch& Watch::operator=(Watch&&) noexcept = default;
Watch::~Watch() = default;

void Watch::note_event(std::string_view node, const TelemetryEvent& event) { state_->note_event(node, event); }

std::vector<AlertChange> Watch::look(const ClusterView& cluster, WallTime now) { return state_->look(cluster, now); }

std::vector<Alert> Watch::take_renewed() { return state_->take_renewed(); }

std::vector<Alert> Watch::open_alerts() const { return state_->open_alerts(); }

}  // namespace assay
