#include "model/node_record.h"

#include "model/node_state.h"

namespace assay {

std::string_view name_of(NodeState state) {
  switch (state) {
    case NodeState::online: return "online";
    case NodeState::late: return "late";
    case NodeState::offline: return "offline";
    case NodeState::draining: return "draining";
  }
  return "offline";
}

json::object to_json(const NodeRecord& record) {
  json::array devices;
  for (const auto& device : record.devices) {
    devices.push_back(json::object{{"id", device.id}, {"facts", json::value_from(device.facts)}});
  }
  json::object object = {{"schema", 1},
                         {"name", record.name},
                         {"first_seen", iso8601(record.first_seen)},
                         {"last_seen", iso8601(record.last_seen)},
                         {"simulated", record.simulated},
                         {"draining", record.draining},
                         {"drain_reason", record.drain_reason},
                         {"version", record.version},
                         {"facts", json::value_from(record.facts)},
                         {"devices", std::move(devices)},
                         {"allow", json::value_from(record.allow)},
                         {"sources", json::value_from(record.sources)},
                         {"period_ms", record.period_ms}};
  if (record.maintenance) {
    object["maintenance_from"] = iso8601(record.maintenance->from);
    object["maintenance_until"] = iso8601(record.maintenance->until);
  }
  return object;
}

Result<NodeRecord> node_record_from_json(const json::value& value) {
  ASSAY_CHECK(check_schema(value, 1, "node"));
  JsonFields fields(value, "node");
  NodeRecord record;
  record.name = fields.text("name");
  ASSAY_TRY(record.first_seen, parse_iso8601(fields.text("first_seen")));
  ASSAY_TRY(record.last_seen, parse_iso8601(fields.text("last_seen")));
  record.simulated = fields.boolean_or("simulated", false);
  record.draining = fields.boolean_or("draining", false);
  record.drain_reason = fields.text_or("drain_reason", "");
  if (const auto from = fields.text_or("maintenance_from", ""); !from.empty()) {
    auto& maintenance = record.maintenance.emplace();
    ASSAY_TRY(maintenance.from, parse_iso8601(from));
    ASSAY_TRY(maintenance.until, parse_iso8601(fields.text("maintenance_until")));
  }
  record.version = fields.text_or("version", "");
  record.facts = fields.text_map_or_empty("facts");
  for (const auto& entry : fields.array_or_empty("devices")) {
    JsonFields device(entry, "node: device");
    record.devices.push_back({.id = device.text("id"), .facts = device.text_map_or_empty("facts")});
    ASSAY_CHECK(device.finish());
  }
  record.allow = fields.texts_or_empty("allow");
  record.sources = fields.texts_or_empty("sources");
  record.period_ms = fields.integer_or("period_ms", 1000);
  ASSAY_CHECK(fields.finish());
  return record;
}

}  // namespace assay
