#include "store/cluster/event_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/cluster/rows.h"

namespace assay {
namespace {

using CountByNode = std::map<std::string, std::int64_t, std::less<>>;

Result<void> count_events(Database& database, const CountByNode& changes) {
  ASSAY_TRY(auto statement, database.prepare("INSERT INTO event_count VALUES (?1, ?2) ON CONFLICT (node) DO UPDATE SET "
                                             "events = events + excluded.events"));
  for (const auto& [node, count] : changes) {
    statement.bind(1, node).bind(2, count);
    ASSAY_CHECK(statement.run());
  }
  return {};
}

/// Newest first by an index that has the order, so that each row is looked at when it is asked for and not before; the
/// rest of the filter is `fits`.
Result<Statement> prepare_walk(Database& database, const EventQuery& query) {
  const bool by_node = !query.node.empty();
  const bool by_kind = !by_node && !query.kind.empty();
  ASSAY_TRY(auto statement,
            database.prepare(
                fmt::format("SELECT id, time, node, kind, about, message, value_list FROM event INDEXED BY {} WHERE {}"
                            "time >= ?2 AND (time, id) < (?3, ?4) ORDER BY time DESC, id DESC",
                            by_node ? "event_of_node" : (by_kind ? "event_of_kind" : "event_by_time"),
                            by_node ? "node = ?1 AND " : (by_kind ? "kind = ?1 AND " : ""))));
  if (by_node || by_kind) statement.bind(1, by_node ? query.node : query.kind);
  EventPlace after{.time = WallTime::max(), .id = std::numeric_limits<std::int64_t>::max()};
  // Every id is larger than this one.
  if (query.to) after = {.time = *query.to, .id = 0};
  if (query.after && (query.after->time < after.time || !query.to)) after = *query.after;
  statement.bind(2, query.from ? stored_time(*query.from) : std::numeric_limits<std::int64_t>::min())
      .bind(3, stored_time(after.time))
      .bind(4, after.id);
  return statement;
}

bool fits(const Statement& statement, const EventQuery& query) {
  return (query.node.empty() || statement.bytes(2) == query.node) &&
         (query.kind.empty() || statement.bytes(3) == query.kind) &&
         (query.about.empty() || statement.bytes(4) == query.about);
}

/// Runs a statement that deletes events and returns their nodes; how many there were.
Result<std::size_t> run_delete(Database& database, Statement& statement) {
  CountByNode gone;
  std::size_t count = 0;
  while (true) {
    ASSAY_TRY(const bool more, statement.step());
    if (!more) break;
    --gone[statement.text(0)];
    ++count;
  }
  if (count == 0) return count;
  ASSAY_CHECK(count_events(database, gone));
  // Also of nodes that were forgotten long ago.
  ASSAY_CHECK(database.execute("DELETE FROM event_count WHERE events <= 0"));
  return count;
}

/// Of nodes that have too many, the oldest.
Result<std::size_t> delete_beyond(Database& database, std::size_t most_per_node, std::size_t most) {
  CountByNode beyond;
  ASSAY_TRY(auto crowded, database.prepare("SELECT node, events FROM event_count WHERE events > ?"));
  crowded.bind(1, static_cast<std::int64_t>(most_per_node));
  while (true) {
    ASSAY_TRY(const bool more, crowded.step());
    if (!more) break;
    beyond[crowded.text(0)] = crowded.integer(1) - static_cast<std::int64_t>(most_per_node);
  }
  ASSAY_TRY(auto statement,
            database.prepare("DELETE FROM event WHERE id IN (SELECT id FROM event INDEXED BY event_of_node WHERE "
                             "node = ?1 ORDER BY time, id LIMIT ?2) RETURNING node"));
  std::size_t gone = 0;
  for (const auto& [node, count] : beyond) {
    if (gone == most) break;
    statement.bind(1, node).bind(2, std::min(count, static_cast<std::int64_t>(most - gone)));
    ASSAY_TRY(const std::size_t deleted, run_delete(database, statement));
    statement.reset();
    gone += deleted;
  }
  return gone;
}

}  // namespace

Result<std::vector<ClusterEvent>> EventRows::append(std::span<const ClusterEvent> events) {
  std::vector<ClusterEvent> added;
  if (events.empty()) return added;
  ASSAY_CHECK(connections_.write([&](Database& database) -> Result<void> {
    CountByNode counts;
    ASSAY_TRY(auto statement, database.prepare("INSERT OR IGNORE INTO event (time, node, kind, about, message, "
                                               "value_list) VALUES (?, ?, ?, ?, ?, ?) RETURNING id"));
    for (const auto& event : events) {
      statement.bind(1, stored_time(event.time))
          .bind(2, event.node)
          .bind(3, event.kind)
          .bind(4, event.about)
          .bind(5, event.message)
          .bind(6, text_of_values(event.values));
      ASSAY_TRY(const bool is_new, statement.step());
      if (is_new) {
        added.push_back(event);
        added.back().id = statement.integer(0);
        ++counts[event.node];
      }
      statement.reset();
    }
    return count_events(database, counts);
  }));
  return added;
}

Result<EventPage> EventRows::list(const EventQuery& query) {
  return connections_.read([&](Database& database) -> Result<EventPage> {
    ASSAY_TRY(auto statement, prepare_walk(database, query));
    EventPage page;
    EventPlace last;
    for (std::size_t examined = 0;; ++examined) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return page;
      if (examined == kMostExamined || page.events.size() == query.limit) {
        page.next = last;
        return page;
      }
      last = {.time = wall_time(statement.integer(1)), .id = statement.integer(0)};
      if (!fits(statement, query)) continue;
      page.events.push_back({.id = last.id,
                             .time = last.time,
                             .node = statement.text(2),
                             .kind = statement.text(3),
                             .about = statement.text(4),
                             .message = statement.text(5),
                             .values = values_in(statement.bytes(6))});
    }
  });
}

Result<EventPlace> EventRows::place_of(std::int64_t id) {
  return connections_.read([&](Database& database) -> Result<EventPlace> {
    ASSAY_TRY(auto statement, database.prepare("SELECT time FROM event WHERE id = ?"));
    statement.bind(1, id);
    ASSAY_TRY(const bool found, statement.step());
    if (!found) return no_such_row("event", std::to_string(id));
    return EventPlace{.time = wall_time(statement.integer(0)), .id = id};
  });
}

Result<bool> EventRows::forget(const EventRetention& retention, std::size_t most) {
  return connections_.write([&](Database& database) -> Result<bool> {
    ASSAY_TRY(auto old, database.prepare("DELETE FROM event WHERE id IN (SELECT id FROM event INDEXED BY event_by_time "
                                         "WHERE time < ?1 ORDER BY time LIMIT ?2) RETURNING node"));
    old.bind(1, stored_time(retention.from)).bind(2, static_cast<std::int64_t>(most));
    ASSAY_TRY(std::size_t gone, run_delete(database, old));
    if (gone < most && retention.most_per_node > 0) {
      ASSAY_TRY(const std::size_t beyond, delete_beyond(database, retention.most_per_node, most - gone));
      gone += beyond;
    }
    return gone == most;
  });
}

}  // namespace assay
