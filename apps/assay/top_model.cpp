#include "top_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace assay {

Result<void> TopModel::set_nodes(const json::value& nodes) {
  JsonFields fields(nodes, "nodes");
  std::map<std::string, NodeLine> fresh;
  for (const auto& entry : fields.array_or_empty("nodes")) {
    ASSAY_TRY(auto line, node_line_from(entry));
    std::string name = line.name;
    fresh[std::move(name)] = std::move(line);
  }
  ASSAY_CHECK(fields.finish());
  nodes_ = std::move(fresh);
  stale_ = false;
  return {};
}

void TopModel::take_alert(const json::value& value) {
  JsonFields fields(value, "alert");
  const std::string id = fields.text("id");
  if (fields.text("state") != "open") {
    alerts_.erase(id);
    return;
  }
  alerts_[id] = {.node = printable(fields.text("node")),
                 .severity = fields.text("severity"),
                 .what = printable(fields.text("what")),
                 .since_ns = fields.integer_or("since_ns", 0)};
}

void TopModel::set_open_alerts(const json::value& alerts) {
  alerts_.clear();
  JsonFields fields(alerts, "alerts");
  for (const auto& alert : fields.array_or_empty("alerts")) take_alert(alert);
}

void TopModel::take_series(const json::value& value) {
  JsonFields fields(value, "series");
  auto labels = fields.text_map_or_empty("labels");
  labels.erase("node");
  Place place{.node = printable(fields.text("node")), .metric = fields.text("name")};
  if (const auto gpu = labels.find("gpu"); gpu != labels.end()) {
    place.gpu = gpu->second;
    labels.erase(gpu);
  }
  // What has further labels is a part of something: one core, one disk, one reason.
  if (labels.empty()) places_[fields.integer("id")] = std::move(place);
}

void TopModel::take_node(const json::value& value) {
  JsonFields fields(value, "node");
  const std::string name = printable(fields.text("name"));
  const auto known = nodes_.find(name);
  if (known == nodes_.end()) {
    stale_ = true;
    nodes_[name] = {.name = name, .state = fields.text("state"), .simulated = fields.boolean_or("simulated", false)};
    return;
  }
  known->second.state = fields.text("state");
  const auto gpus = static_cast<std::size_t>(std::max<std::int64_t>(0, fields.integer_or("gpus", 0)));
  if (gpus != known->second.gpus.size()) stale_ = true;
}

Result<void> TopModel::apply(std::string_view data, bool snapshot) {
  ASSAY_TRY(const auto value, parse_json(data));
  JsonFields fields(value, "event");
  if (snapshot) places_.clear();
  time_ms_ = fields.integer("time_ms");
  for (const auto& node : fields.array_or_empty("nodes")) take_node(node);
  for (const auto& series : fields.array_or_empty("series")) take_series(series);
  for (const auto& alert : fields.array_or_empty("alerts")) take_alert(alert);
  for (const auto& entry : fields.array_or_empty("values")) {
    if (!entry.is_array() || entry.as_array().size() != 3 || !entry.as_array()[0].is_int64()) continue;
    const auto& triple = entry.as_array();
    const auto place = places_.find(triple[0].as_int64());
    if (place == places_.end() || !triple[2].is_number()) continue;
    const auto node = nodes_.find(place->second.node);
    if (node == nodes_.end()) continue;
    const double number = triple[2].to_number<double>();
    if (place->second.gpu.empty()) {
      node->second.host[place->second.metric] = number;
      continue;
    }
    auto& gpus = node->second.gpus;
    const auto gpu =
        std::find_if(gpus.begin(), gpus.end(), [&](const GpuLine& line) { return line.uuid == place->second.gpu; });
    if (gpu == gpus.end()) {
      stale_ = true;
    } else {
      gpu->values[place->second.metric] = number;
      if (triple[1].is_int64()) gpu->newest_ms = std::max(gpu->newest_ms, triple[1].as_int64());
    }
  }
  return fields.finish();
}

std::vector<NodeLine> TopModel::lines() const {
  std::vector<NodeLine> lines;
  lines.reserve(nodes_.size());
  for (const auto& entry : nodes_) {
    NodeLine& line = lines.emplace_back(entry.second);
    line.drop_old_values();
    for (const auto& [id, alert] : alerts_) line.alerts += alert.node == line.name && alert.severity != "info" ? 1 : 0;
  }
  return lines;
}

std::vector<TopModel::AlertLine> TopModel::alert_lines() const {
  std::vector<AlertLine> lines;
  for (const auto& [id, alert] : alerts_) {
    if (alert.severity == "info") continue;
    const bool named = alert.what.find(alert.node) != std::string::npos;
    lines.push_back({.severity = alert.severity,
                     .what = named ? alert.what : fmt::format("{}: {}", alert.node, alert.what),
                     .since_ms = alert.since_ns / 1'000'000});
  }
  std::sort(lines.begin(), lines.end(), [](const AlertLine& a, const AlertLine& b) {
    const int x = rank_of_severity(a.severity);
    const int y = rank_of_severity(b.severity);
    return x != y ? x < y : a.since_ms > b.since_ms;
  });
  return lines;
}

}  // namespace assay
