#include "top_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace assay {

void TopModel::set_nodes(const NodeList& list) {
  nodes_.clear();
  for (const auto& node : list.nodes) {
    NodeLine line = line_of(node);
    std::string name = line.name;
    nodes_[std::move(name)] = std::move(line);
  }
  stale_ = false;
}

void TopModel::take_alert(const Alert& alert) {
  if (alert.state != AlertState::open) {
    alerts_.erase(alert.id);
    return;
  }
  alerts_[alert.id] = {
      .node = printable(alert.node), .severity = alert.severity, .what = printable(alert.what), .since = alert.since};
}

void TopModel::set_open_alerts(const AlertList& list) {
  alerts_.clear();
  for (const auto& record : list.alerts) take_alert(record.alert);
}

void TopModel::take_series(const LiveSeries& series) {
  auto labels = series.labels;
  labels.erase("node");
  Place place{.node = printable(series.node), .metric = series.name};
  if (const auto gpu = labels.find("gpu"); gpu != labels.end()) {
    place.gpu = gpu->second;
    labels.erase(gpu);
  }
  // What has further labels is a part of something: one core, one disk, one reason.
  if (labels.empty()) places_[series.id] = std::move(place);
}

void TopModel::take_node(const LiveNode& node) {
  const std::string name = printable(node.name);
  const auto known = nodes_.find(name);
  if (known == nodes_.end()) {
    stale_ = true;
    nodes_[name] = {.name = name, .state = node.state, .simulated = node.simulated};
    return;
  }
  known->second.state = node.state;
  if (node.gpus != known->second.gpus.size()) stale_ = true;
}

void TopModel::take_value(const Place& place, std::int64_t time_ms, double value) {
  const auto node = nodes_.find(place.node);
  if (node == nodes_.end()) return;
  if (place.gpu.empty()) {
    node->second.host[place.metric] = value;
    return;
  }
  auto& gpus = node->second.gpus;
  const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const GpuLine& line) { return line.uuid == place.gpu; });
  if (gpu == gpus.end()) {
    stale_ = true;
    return;
  }
  gpu->values[place.metric] = value;
  gpu->newest_ms = std::max(gpu->newest_ms, time_ms);
}

Result<void> TopModel::apply(std::string_view data, bool snapshot) {
  ASSAY_TRY(const auto value, parse_json(data));
  ASSAY_TRY(const auto event, read_api<LiveEvent>(value));
  if (snapshot) places_.clear();
  time_ms_ = event.time_ms;
  for (const auto& node : event.nodes) take_node(node);
  for (const auto& series : event.series) take_series(series);
  for (const auto& record : event.alerts) take_alert(record.alert);
  for (const auto& [series, time_ms, number] : event.values) {
    const auto place = places_.find(series);
    if (place != places_.end() && !std::isnan(number)) take_value(place->second, time_ms, number);
  }
  return {};
}

std::vector<NodeLine> TopModel::lines() const {
  std::vector<NodeLine> lines;
  lines.reserve(nodes_.size());
  for (const auto& entry : nodes_) {
    NodeLine& line = lines.emplace_back(entry.second);
    line.drop_old_values();
    for (const auto& [id, alert] : alerts_)
      line.alerts += alert.node == line.name && alert.severity != AlertSeverity::info ? 1 : 0;
  }
  return lines;
}

std::vector<TopModel::AlertLine> TopModel::alert_lines() const {
  std::vector<AlertLine> lines;
  for (const auto& [id, alert] : alerts_) {
    if (alert.severity == AlertSeverity::info) continue;
    const bool named = alert.what.find(alert.node) != std::string::npos;
    lines.push_back({.severity = alert.severity,
                     .what = named ? alert.what : fmt::format("{}: {}", alert.node, alert.what),
                     .since_ms = alert.since.time_since_epoch().count() / 1'000'000});
  }
  std::sort(lines.begin(), lines.end(), [](const AlertLine& a, const AlertLine& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.since_ms > b.since_ms;
  });
  return lines;
}

}  // namespace assay
