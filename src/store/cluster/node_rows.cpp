#include "store/cluster/node_rows.h"

#include <fmt/format.h>

#include <array>

#include "base/log.h"
#include "store/cluster/rows.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 14> kNodeColumns = {
    "name",      "first_seen", "last_seen", "simulated", "draining", "drain_reason",     "version",
    "period_ms", "facts",      "devices",   "allow",     "sources",  "maintenance_from", "maintenance_until"};
constexpr RevisedTable kNodes{.name = "node", .columns = kNodeColumns};

/// Lists and maps are columns in JSON. What is damaged in one of them is left out: the rest of the node is as good.
Result<void> read_nested(const Statement& statement, NodeRecord& record) {
  json::object nested;
  for (int column = 8; column < 12; ++column) {
    ASSAY_TRY(nested[kNodeColumns[static_cast<std::size_t>(column)]], parse_json(statement.bytes(column)));
  }
  const json::value value(std::move(nested));
  JsonFields fields(value, "node");
  record.facts = fields.text_map_or_empty("facts");
  record.allow = fields.texts_or_empty("allow");
  record.sources = fields.texts_or_empty("sources");
  for (const auto& entry : fields.array_or_empty("devices")) {
    JsonFields device(entry, "node: device");
    record.devices.push_back({.id = device.text("id"), .facts = device.text_map_or_empty("facts")});
    ASSAY_CHECK(device.finish());
  }
  return fields.finish();
}

Stored<NodeRecord> node_in(const Statement& statement) {
  Stored<NodeRecord> node{.row = {.name = statement.text(0),
                                  .first_seen = wall_time(statement.integer(1)),
                                  .last_seen = wall_time(statement.integer(2)),
                                  .simulated = statement.integer(3) != 0,
                                  .draining = statement.integer(4) != 0,
                                  .drain_reason = statement.text(5),
                                  .version = statement.text(6),
                                  .period_ms = statement.integer(7)},
                          .revision = statement.integer(14)};
  if (statement.integer(13) != 0) {
    node.row.maintenance = {.from = wall_time(statement.integer(12)), .until = wall_time(statement.integer(13))};
  }
  if (const auto read = read_nested(statement, node.row); !read) {
    log_warning("A part of what is kept of node '{}' cannot be read: {}", node.row.name, read.error().text());
  }
  return node;
}

std::string text_of_devices(const NodeRecord& record) {
  json::array devices;
  for (const auto& device : record.devices) {
    devices.push_back(json::object{{"id", device.id}, {"facts", json::value_from(device.facts)}});
  }
  return json::serialize(devices);
}

}  // namespace

Result<std::vector<Stored<NodeRecord>>> NodeRows::list(std::string_view after, std::size_t limit) {
  return connections_.read([&](Database& database) -> Result<std::vector<Stored<NodeRecord>>> {
    ASSAY_TRY(auto statement, database.prepare(fmt::format("SELECT {} FROM node WHERE name > ? ORDER BY name LIMIT ?",
                                                           selected(kNodes))));
    statement.bind(1, after).bind(2, static_cast<std::int64_t>(limit));
    std::vector<Stored<NodeRecord>> nodes;
    while (true) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return nodes;
      nodes.push_back(node_in(statement));
    }
  });
}

Result<Stored<NodeRecord>> NodeRows::find(std::string_view name) {
  return connections_.read([&](Database& database) -> Result<Stored<NodeRecord>> {
    ASSAY_TRY(auto statement, database.prepare(fmt::format("SELECT {} FROM node WHERE name = ?", selected(kNodes))));
    statement.bind(1, name);
    ASSAY_TRY(const bool found, statement.step());
    if (!found) return no_such_row("node", name);
    return node_in(statement);
  });
}

Result<Revision> NodeRows::put(const Stored<NodeRecord>& node) {
  const NodeRecord& record = node.row;
  const auto maintenance = record.maintenance.value_or(Maintenance{});
  return connections_.write([&](Database& database) -> Result<Revision> {
    ASSAY_TRY(auto statement, prepare_put(database, kNodes, node.revision));
    statement.bind(1, record.name)
        .bind(2, stored_time(record.first_seen))
        .bind(3, stored_time(record.last_seen))
        .bind(4, std::int64_t{record.simulated})
        .bind(5, std::int64_t{record.draining})
        .bind(6, record.drain_reason)
        .bind(7, record.version)
        .bind(8, record.period_ms)
        .bind(9, json::serialize(json::value_from(record.facts)))
        .bind(10, text_of_devices(record))
        .bind(11, json::serialize(json::value_from(record.allow)))
        .bind(12, json::serialize(json::value_from(record.sources)))
        .bind(13, stored_time(maintenance.from))
        .bind(14, stored_time(maintenance.until));
    return run_put(statement, kNodes, node.revision, record.name);
  });
}

Result<void> NodeRows::note_seen(std::span<const Seen> seen) {
  if (seen.empty()) return {};
  return connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement, database.prepare("UPDATE node SET last_seen = ?2 WHERE name = ?1"));
    for (const auto& one : seen) {
      statement.bind(1, one.name).bind(2, stored_time(one.time));
      ASSAY_CHECK(statement.run());
    }
    return {};
  });
}

Result<void> NodeRows::remove(std::string_view name) {
  return connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement, database.prepare("DELETE FROM node WHERE name = ?"));
    statement.bind(1, name);
    return statement.run();
  });
}

}  // namespace assay
