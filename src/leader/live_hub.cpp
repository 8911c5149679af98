#include "leader/live_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/json.h"

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

Result<EventStream> LiveHub::subscribe(LiveFilter filter, LiveViewer viewer) {
  auto client = std::make_unique<Client>(Client{.stream = EventStream(kQueueBytes),
                                                .filter = std::move(filter),
                                                .viewer = std::move(viewer),
                                                .checked = clock_.now()});
  const EventStream stream = client->stream;
  const std::lock_guard lock(mutex_);
  std::erase_if(clients_, [](const auto& known) { return !known->stream.open(); });
  const auto of_viewer = std::count_if(clients_.begin(), clients_.end(),
                                       [&](const auto& known) { return known->viewer.name == client->viewer.name; });
  const bool is_full = clients_.size() >= kMaxClients;
  if (is_full || static_cast<std::size_t>(of_viewer) >= kMaxOfViewer) {
    return Error{
        .kind = ErrorKind::busy,
        .message = is_full ? fmt::format("{} clients watch already, and there is no room for more", clients_.size())
                           : fmt::format("{} clients watch with this token already", of_viewer),
        .hint = "Close one of them, or try again later."};
  }
  if (clients_.empty()) {
    // What was raised while nobody watched is no news.
    const std::lock_guard alerts_lock(alerts_mutex_);
    alerts_.clear();
  }
  send(*client, "snapshot", {});
  clients_.push_back(std::move(client));
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
  std::erase_if(clients_, [&](const auto& client) {
    if (still_allowed(*client)) return !send(*client, "delta", alerts);
    client->stream.finish();
    return true;
  });
}

bool LiveHub::still_allowed(Client& client) const {
  const SteadyTime now = clock_.now();
  if (!client.viewer.still_allowed || now - client.checked < kRecheck) return true;
  client.checked = now;
  return client.viewer.still_allowed();
}

std::size_t LiveHub::clients() const {
  const std::lock_guard lock(mutex_);
  return clients_.size();
}

void LiveHub::finish() {
  const std::lock_guard lock(mutex_);
  for (const auto& client : clients_) client->stream.finish();
  clients_.clear();
}

/// The lists of one event, and what was sent of the tick before it.
class LiveHub::Outgoing {
 public:
  Outgoing(EventStream stream, const char* event, const Clock& clock)
      : stream_(std::move(stream)), event_(event), must_send_(std::string_view(event) == "snapshot"), clock_(clock) {}

  std::string nodes, series, values, alerts;

  bool tick_is_full() const { return sent_ + size() >= kTickBytes; }
  void flush_if_large() {
    if (size() >= kEventBytes) flush();
  }
  /// Sends what there is. False: the client is gone.
  bool finish() {
    if (size() > 0 || must_send_) flush();
    return open_;
  }

 private:
  std::size_t size() const { return nodes.size() + series.size() + values.size() + alerts.size(); }
  void flush() {
    sent_ += size();
    open_ = stream_.send(
        {.event = event_,
         .data = fmt::format(R"({{"time_ms":{},"nodes":[{}],"series":[{}],"values":[{}],"alerts":[{}]}})",
                             clock_.wall().time_since_epoch().count() / kMilli, nodes, series, values, alerts)});
    for (auto* list : {&nodes, &series, &values, &alerts}) list->clear();
    event_ = "delta";
    must_send_ = false;
  }

  EventStream stream_;
  const char* event_;
  bool must_send_;
  const Clock& clock_;
  std::size_t sent_ = 0;
  bool open_ = true;
};

bool LiveHub::put_news(Client& client, const std::shared_ptr<Node>& node, Outgoing& outgoing) const {
  const std::string name = node->name();
  if (!client.filter.wants_node(name)) return true;
  auto& seen = client.seen[name];
  const bool is_new = seen.node.lock() != node;
  if (is_new) seen = {.node = node};
  const NodeOutline outline = node->outline(clock_.now());
  if (is_new || outline.state != seen.state || outline.gpus != seen.gpus) {
    separate(outgoing.nodes);
    fmt::format_to(std::back_inserter(outgoing.nodes), R"({{"name":{},"state":"{}","simulated":{},"gpus":{}}})",
                   json::serialize(json::string(name)), name_of(outline.state), outline.simulated, outline.gpus);
    seen.state = outline.state;
    seen.gpus = outline.gpus;
  }
  bool all = true;
  const auto changes = node->for_each_value(seen.changes, [&](const LiveValue& live) {
    if (!client.filter.wants_metric(live.series.key.name)) return;
    const bool is_named = client.named.contains(live.series.id);
    if (is_named && live.changed <= seen.changes_of_named) return;
    // Names and labels are what can be long: those that do not fit come with the next tick, values and all.
    if (!is_named && outgoing.tick_is_full()) {
      all = false;
      return;
    }
    if (!is_named) {
      client.named.insert(live.series.id);
      separate(outgoing.series);
      put_series(outgoing.series, name, live.series);
    }
    separate(outgoing.values);
    fmt::format_to(std::back_inserter(outgoing.values), "[{},{},", live.series.id, live.time_ns / kMilli);
    put_json_number(outgoing.values, live.value);
    outgoing.values += ']';
    outgoing.flush_if_large();
  });
  seen.changes_of_named = changes;
  if (all) seen.changes = changes;
  return all;
}

bool LiveHub::send(Client& client, const char* event, const std::vector<std::string>& alerts) const {
  if (!client.stream.open()) return false;
  Outgoing outgoing(client.stream, event, clock_);
  for (const auto& alert : alerts) {
    separate(outgoing.alerts);
    outgoing.alerts += alert;
    outgoing.flush_if_large();
  }
  const auto nodes = registry_.all();
  // Who could not be told of all nodes the last time hears of the others first.
  const auto first =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node->name() >= client.resume; });
  const auto start = static_cast<std::size_t>(first - nodes.begin());
  client.resume.clear();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& node = nodes[(start + i) % nodes.size()];
    if (outgoing.tick_is_full() || !put_news(client, node, outgoing)) {
      client.resume = node->name();
      break;
    }
    outgoing.flush_if_large();
  }
  return outgoing.finish();
}

}  // namespace assay
