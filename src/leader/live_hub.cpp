#include "leader/live_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "base/json.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "net/sse.h"
#include "store/series_types.h"

namespace assay {
namespace {

constexpr std::int64_t kMilli = 1'000'000;
/// Alerts that wait for the next tick; more would be a flood that nobody reads.
constexpr std::size_t kMaxWaitingAlerts = 1000;

void put_series(std::string& out, const std::string& node, const SeriesInfo& series) {
  const json::value labels = json::value_from(series.key.labels);
  fmt::format_to(std::back_inserter(out), R"({{"id":{},"node":{},"name":{},"labels":{},"unit":{}}})", series.id,
                 json::serialize(json::string(node)), json::serialize(json::string(series.key.name)),
                 json::serialize(labels), json::serialize(json::string(series.unit)));
}

void separate(std::string& list) {
  if (!list.empty()) list += ',';
}

}  // namespace

void put_json_number(std::string& out, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += "null";
  }
}

bool LiveFilter::wants_metric(std::string_view name) const {
  return metrics.empty() || std::any_of(metrics.begin(), metrics.end(), [&](std::string_view wanted) {
           return wanted.ends_with('*') ? name.starts_with(wanted.substr(0, wanted.size() - 1)) : name == wanted;
         });
}

bool LiveFilter::wants_node(std::string_view name) const {
  return nodes.empty() || std::find(nodes.begin(), nodes.end(), name) != nodes.end();
}

/// The lists of one event, and what was sent of the tick before it.
class LiveHub::Outgoing {
 public:
  Outgoing(std::vector<Client>& clients, const char* event, const Clock& clock)
      : clients_(clients), event_(event), must_send_(std::string_view(event) == "snapshot"), clock_(clock) {}

  std::string nodes, series, values, alerts;

  bool tick_is_full() const { return sent_ + size() >= kTickBytes; }
  void flush_if_large() {
    if (size() >= kEventBytes) flush();
  }
  /// Sends everything. Not before: nodes are locked while they are written down.
  void finish() {
    if (size() > 0 || must_send_) flush();
    for (const auto& event : events_) {
      for (auto& client : clients_) client.stream.send(event);
    }
  }

 private:
  std::size_t size() const { return nodes.size() + series.size() + values.size() + alerts.size(); }
  void flush() {
    sent_ += size();
    events_.push_back(std::make_shared<const std::string>(format_event(
        {.event = event_,
         .data = fmt::format(R"({{"time_ms":{},"nodes":[{}],"series":[{}],"values":[{}],"alerts":[{}]}})",
                             clock_.wall().time_since_epoch().count() / kMilli, nodes, series, values, alerts)})));
    for (auto* list : {&nodes, &series, &values, &alerts}) list->clear();
    event_ = "delta";
    must_send_ = false;
  }

  std::vector<Client>& clients_;
  const char* event_;
  bool must_send_;
  const Clock& clock_;
  std::vector<ResponseStream::Piece> events_;
  std::size_t sent_ = 0;
};

Result<EventStream> LiveHub::subscribe(LiveFilter filter, LiveViewer viewer) {
  // Lists that say the same are the same.
  for (auto* list : {&filter.metrics, &filter.nodes}) {
    std::sort(list->begin(), list->end());
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  const std::lock_guard lock(mutex_);
  drop_departed();
  std::size_t all = 0, of_viewer = 0;
  for (const auto& audience : audiences_) {
    all += audience.clients.size();
    for (const auto& client : audience.clients) of_viewer += client.viewer.name == viewer.name ? 1 : 0;
  }
  if (all >= kMaxClients || of_viewer >= kMaxOfViewer) {
    return Error{.kind = ErrorKind::busy,
                 .message = all >= kMaxClients
                                ? fmt::format("{} clients watch already, and there is no room for more", all)
                                : fmt::format("{} clients watch with this token already", of_viewer),
                 .hint = "Close one of them, or try again later."};
  }
  if (audiences_.empty()) {
    // What was raised while nobody watched is no news.
    const std::lock_guard alerts_lock(alerts_mutex_);
    alerts_.clear();
  }
  const EventStream stream(kQueueBytes);
  Audience& audience = audiences_.emplace_back(Audience{.filter = std::move(filter)});
  audience.clients.push_back({.stream = stream, .viewer = std::move(viewer), .checked = clock_.now()});
  Outgoing outgoing(audience.clients, "snapshot", clock_);
  send(audience, outgoing, look());
  return stream;
}

void LiveHub::publish_alert(std::string alert_json) {
  const std::lock_guard lock(alerts_mutex_);
  if (alerts_.size() < kMaxWaitingAlerts) alerts_.push_back(std::move(alert_json));
}

void LiveHub::tick() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> alerts;
  {
    const std::lock_guard alerts_lock(alerts_mutex_);
    alerts.swap(alerts_);
  }
  for (auto& audience : audiences_) {
    for (auto& client : audience.clients) {
      if (!still_allowed(client)) client.stream.finish();
    }
  }
  drop_departed();
  if (audiences_.empty()) return;
  const auto sights = look();
  for (auto& audience : audiences_) {
    Outgoing outgoing(audience.clients, "delta", clock_);
    for (const auto& alert : alerts) {
      separate(outgoing.alerts);
      outgoing.alerts += alert;
      outgoing.flush_if_large();
    }
    send(audience, outgoing, sights);
  }
  drop_departed();
  unite();
}

bool LiveHub::still_allowed(Client& client) const {
  const SteadyTime now = clock_.now();
  if (!client.viewer.still_allowed || now - client.checked < kRecheck) return true;
  client.checked = now;
  return client.viewer.still_allowed();
}

/// Those who left, were too slow or are no longer allowed.
void LiveHub::drop_departed() {
  for (auto& audience : audiences_) {
    std::erase_if(audience.clients, [](const Client& client) { return !client.stream.open(); });
  }
  std::erase_if(audiences_, [](const Audience& audience) { return audience.clients.empty(); });
}

std::size_t LiveHub::clients() const {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const auto& audience : audiences_) all += audience.clients.size();
  return all;
}

std::size_t LiveHub::audiences() const {
  const std::lock_guard lock(mutex_);
  return audiences_.size();
}

void LiveHub::finish() {
  const std::lock_guard lock(mutex_);
  for (auto& audience : audiences_) {
    for (auto& client : audience.clients) client.stream.finish();
  }
  audiences_.clear();
}

std::vector<LiveHub::Sight> LiveHub::look() const {
  std::vector<Sight> sights;
  for (auto& node : registry_.all()) {
    Sight sight{.node = node, .name = node->name(), .outline = node->outline(clock_.now())};
    sights.push_back(std::move(sight));
  }
  return sights;
}

void LiveHub::unite() {
  std::map<LiveFilter, Audience*> latest;
  for (auto& audience : audiences_) {
    if (!audience.resume.empty()) continue;
    Audience*& before = latest[audience.filter];
    // Only what was named to all of them: a series that changes while they are told may have been named to one alone,
    // and to hear a name once more does no harm.
    if (before != nullptr) {
      std::erase_if(audience.named, [&](SeriesId id) { return !before->named.contains(id); });
      auto joining = std::exchange(before->clients, {});
      std::move(joining.begin(), joining.end(), std::back_inserter(audience.clients));
    }
    before = &audience;
  }
  std::erase_if(audiences_, [](const Audience& audience) { return audience.clients.empty(); });
}

bool LiveHub::put_news(Audience& audience, const Sight& sight, Outgoing& outgoing) {
  const auto& [node, name, outline] = sight;
  if (!audience.filter.wants_node(name)) return true;
  auto& seen = audience.seen[name];
  const bool is_new = seen.node.lock() != node;
  if (is_new) seen = {.node = node};
  if (is_new || outline.state != seen.state || outline.gpus != seen.gpus) {
    separate(outgoing.nodes);
    fmt::format_to(std::back_inserter(outgoing.nodes), R"({{"name":{},"state":"{}","simulated":{},"gpus":{}}})",
                   json::serialize(json::string(name)), name_of(outline.state), outline.simulated, outline.gpus);
    seen.state = outline.state;
    seen.gpus = outline.gpus;
  }
  bool all = true;
  const auto put = [&](const LiveValue& live) {
    if (!audience.filter.wants_metric(live.series.key.name)) return;
    const bool is_named = audience.named.contains(live.series.id);
    if (is_named && live.changed <= seen.changes_of_named) return;
    // Names and labels are what can be long: those that do not fit come with the next tick, values and all.
    if (!is_named && outgoing.tick_is_full()) {
      all = false;
      return;
    }
    if (!is_named) {
      audience.named.insert(live.series.id);
      separate(outgoing.series);
      put_series(outgoing.series, name, live.series);
    }
    separate(outgoing.values);
    fmt::format_to(std::back_inserter(outgoing.values), "[{},{},", live.series.id, live.time_ns / kMilli);
    put_json_number(outgoing.values, live.value);
    outgoing.values += ']';
    outgoing.flush_if_large();
  };
  node->for_each_value(seen.changes, put, outline.changes);
  seen.changes_of_named = outline.changes;
  if (all) seen.changes = outline.changes;
  return all;
}

void LiveHub::send(Audience& audience, Outgoing& outgoing, const std::vector<Sight>& sights) {
  // Who could not be told of all nodes the last time hears of the others first.
  const auto first =
      std::find_if(sights.begin(), sights.end(), [&](const Sight& sight) { return sight.name >= audience.resume; });
  const auto start = static_cast<std::size_t>(first - sights.begin());
  audience.resume.clear();
  for (std::size_t i = 0; i < sights.size(); ++i) {
    const Sight& sight = sights[(start + i) % sights.size()];
    if (outgoing.tick_is_full() || !put_news(audience, sight, outgoing)) {
      audience.resume = sight.name;
      break;
    }
    outgoing.flush_if_large();
  }
  outgoing.finish();
}

}  // namespace assay
