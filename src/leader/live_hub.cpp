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

Result<EventStream> LiveHub::subscribe(LiveFilter filter) {
  auto client = std::make_unique<Client>(Client{.stream = EventStream(kQueueBytes), .filter = std::move(filter)});
  const EventStream stream = client->stream;
  const std::lock_guard lock(mutex_);
  std::erase_if(clients_, [](const auto& known) { return !known->stream.open(); });
  if (clients_.size() >= kMaxClients) {
    return Error{.kind = ErrorKind::busy,
                 .message = fmt::format("{} clients watch already, and there is no room for more", clients_.size()),
                 .hint = "Close one of them, or try again later."};
  }
  send(*client, "snapshot", {});
  clients_.push_back(std::move(client));
  return stream;
}

void LiveHub::publish_alert(std::string alert_json) {
  const std::lock_guard lock(mutex_);
  if (!clients_.empty() && alerts_.size() < kMaxWaitingAlerts) alerts_.push_back(std::move(alert_json));
}

void LiveHub::tick() {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string> alerts = std::exchange(alerts_, {});
  std::erase_if(clients_, [&](const auto& client) { return !send(*client, "delta", alerts); });
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

/// The lists of one event.
struct LiveHub::Text {
  std::string nodes, series, values, alerts;

  std::size_t size() const { return nodes.size() + series.size() + values.size() + alerts.size(); }
  std::string json(WallTime now) const {
    return fmt::format(R"({{"time_ms":{},"nodes":[{}],"series":[{}],"values":[{}],"alerts":[{}]}})",
                       now.time_since_epoch().count() / kMilli, nodes, series, values, alerts);
  }
};

void LiveHub::put_news(Client& client, const std::shared_ptr<Node>& node, Text& text) const {
  const std::string name = node->name();
  if (!client.filter.wants_node(name)) return;
  auto& seen = client.seen[name];
  const bool is_new = seen.node.lock() != node;
  if (is_new) seen = {.node = node};
  const NodeOutline outline = node->outline(clock_.now());
  if (is_new || outline.state != seen.state || outline.gpus != seen.gpus) {
    separate(text.nodes);
    fmt::format_to(std::back_inserter(text.nodes), R"({{"name":{},"state":"{}","simulated":{},"gpus":{}}})",
                   json::serialize(json::string(name)), name_of(outline.state), outline.simulated, outline.gpus);
    seen.state = outline.state;
    seen.gpus = outline.gpus;
  }
  seen.changes = node->for_each_value(seen.changes, [&](const LiveValue& live) {
    if (!client.filter.wants_metric(live.series.key.name)) return;
    if (client.named.insert(live.series.id).second) {
      separate(text.series);
      put_series(text.series, name, live.series);
    }
    separate(text.values);
    fmt::format_to(std::back_inserter(text.values), "[{},{},", live.series.id, live.time_ns / kMilli);
    put_json_number(text.values, live.value);
    text.values += ']';
  });
}

bool LiveHub::send(Client& client, const char* event, const std::vector<std::string>& alerts) const {
  if (!client.stream.open()) return false;
  Text text;
  for (const auto& alert : alerts) {
    separate(text.alerts);
    text.alerts += alert;
  }
  bool must_send = std::string_view(event) == "snapshot";
  std::size_t sent = 0;
  const auto flush = [&] {
    sent += text.size();
    const bool open = client.stream.send({.event = event, .data = text.json(clock_.wall())});
    text = {};
    event = "delta";
    must_send = false;
    return open;
  };
  const auto nodes = registry_.all();
  // Who could not be told of all nodes the last time hears of the others first.
  const auto first =
      std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node->name() >= client.resume; });
  const auto start = static_cast<std::size_t>(first - nodes.begin());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto& node = nodes[(start + i) % nodes.size()];
    if (sent >= kTickBytes) {
      client.resume = node->name();
      return true;
    }
    put_news(client, node, text);
    if (text.size() >= kEventBytes && !flush()) return false;
  }
  client.resume.clear();
  return (text.size() == 0 && !must_send) || flush();
}

}  // namespace assay
