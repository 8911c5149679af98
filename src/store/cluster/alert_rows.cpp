#include "store/cluster/alert_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "store/cluster/rows.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 18> kAlertColumns = {
    "id",         "rule",        "severity",        "node",
    "about",      "what",        "remedy",          "since",
    "last_value", "worst_value", "threshold",       "value_list",
    "state",      "resolved_at", "acknowledged_at", "acknowledged_by",
    "note",       "told"};
constexpr RevisedTable kAlerts{.name = "alert", .columns = kAlertColumns};

void bind_alert(Statement& statement, const AlertRecord& record) {
  const Alert& alert = record.alert;
  statement.bind(1, alert.id)
      .bind(2, alert.rule)
      .bind(3, name_of(alert.severity))
      .bind(4, alert.node)
      .bind(5, alert.about)
      .bind(6, alert.what)
      .bind(7, alert.remedy)
      .bind(8, stored_time(alert.since))
      .bind(9, alert.last_value)
      .bind(10, alert.worst_value)
      .bind(11, alert.threshold)
      .bind(12, text_of_values(alert.values))
      .bind(13, name_of(alert.state));
  bind_time(statement, 14, alert.resolved_at);
  bind_time(statement, 15, record.acknowledged_at);
  statement.bind(16, record.acknowledged_by).bind(17, record.note).bind(18, std::int64_t{record.told});
}

Stored<AlertRecord> alert_in(const Statement& statement) {
  return {.row = {.alert = {.id = statement.text(0),
                            .rule = statement.text(1),
                            .severity = severity_from(statement.text(2)).value_or(AlertSeverity::warning),
                            .node = statement.text(3),
                            .about = statement.text(4),
                            .what = statement.text(5),
                            .remedy = statement.text(6),
                            .since = wall_time(statement.integer(7)),
                            .last_value = statement.real(8),
                            .worst_value = statement.real(9),
                            .threshold = statement.real(10),
                            .values = values_in(statement.bytes(11)),
                            .state = alert_state_from(statement.text(12)).value_or(AlertState::open),
                            .resolved_at = time_in(statement, 13)},
                  .acknowledged_at = time_in(statement, 14),
                  .acknowledged_by = statement.text(15),
                  .note = statement.text(16),
                  .told = statement.integer(17) != 0},
          .revision = statement.integer(18)};
}

Result<std::vector<Stored<AlertRecord>>> alerts_of(Statement& statement) {
  std::vector<Stored<AlertRecord>> alerts;
  while (true) {
    ASSAY_TRY(const bool more, statement.step());
    if (!more) return alerts;
    alerts.push_back(alert_in(statement));
  }
}

/// Resolved ones, newest first by an index that has the order, so that each row is looked at when it is asked for and
/// not before.
Result<Statement> prepare_alert_walk(Database& database, const AlertPageQuery& query) {
  const bool by_node = !query.node.empty();
  ASSAY_TRY(auto statement,
            database.prepare(fmt::format(
                "SELECT {} FROM alert INDEXED BY {} WHERE {}state = 'resolved' AND since <= ?2 "
                "AND (since < ?2 OR id > ?3) ORDER BY since DESC, id",
                selected(kAlerts), by_node ? "alert_of_node" : "alert_by_time", by_node ? "node = ?1 AND " : "")));
  if (by_node) statement.bind(1, query.node);
  AlertPlace after{.since = WallTime::max(), .id = {}};
  // Every id is larger than none.
  if (query.to) after.since = std::max(*query.to, WallTime::min() + Nanos(1)) - Nanos(1);
  if (query.after && query.after->since <= after.since) after = *query.after;
  statement.bind(2, stored_time(after.since)).bind(3, after.id);
  return statement;
}

}  // namespace

Result<std::vector<Stored<AlertRecord>>> AlertRows::open() {
  return connections_.read([](Database& database) -> Result<std::vector<Stored<AlertRecord>>> {
    ASSAY_TRY(auto statement,
              database.prepare(fmt::format("SELECT {} FROM alert WHERE state = 'open'", selected(kAlerts))));
    return alerts_of(statement);
  });
}

Result<AlertPage> AlertRows::resolved(const AlertPageQuery& query) {
  return connections_.read([&](Database& database) -> Result<AlertPage> {
    ASSAY_TRY(auto statement, prepare_alert_walk(database, query));
    AlertPage page;
    AlertPlace last;
    for (std::size_t examined = 0;; ++examined) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return page;
      if (examined == kMostExamined || page.alerts.size() == query.limit) {
        page.next = std::move(last);
        return page;
      }
      last = {.since = wall_time(statement.integer(7)), .id = statement.text(0)};
      const bool was_over = query.from && time_in(statement, 13) < query.from;
      if (!was_over) page.alerts.push_back(alert_in(statement));
    }
  });
}

Result<Stored<AlertRecord>> AlertRows::find(std::string_view id) {
  return connections_.read([&](Database& database) -> Result<Stored<AlertRecord>> {
    ASSAY_TRY(auto statement, database.prepare(fmt::format("SELECT {} FROM alert WHERE id = ?", selected(kAlerts))));
    statement.bind(1, id);
    ASSAY_TRY(const bool found, statement.step());
    if (!found) return no_such_row("alert", id);
    return alert_in(statement);
  });
}

Result<void> AlertRows::put(std::span<Stored<AlertRecord>> alerts) {
  if (alerts.empty()) return {};
  std::vector<Revision> revisions;
  ASSAY_CHECK(connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto adding, prepare_put(database, kAlerts, 0));
    ASSAY_TRY(auto changing, prepare_put(database, kAlerts, 1));
    for (const auto& alert : alerts) {
      Statement& statement = alert.revision == 0 ? adding : changing;
      bind_alert(statement, alert.row);
      ASSAY_TRY(const Revision revision, run_put(statement, kAlerts, alert.revision, alert.row.alert.id));
      revisions.push_back(revision);
    }
    return {};
  }));
  for (std::size_t i = 0; i < alerts.size(); ++i) alerts[i].revision = revisions[i];
  return {};
}

Result<bool> AlertRows::forget_resolved(WallTime time, std::size_t most) {
  return connections_.write([&](Database& database) -> Result<bool> {
    ASSAY_TRY(auto statement, database.prepare("DELETE FROM alert WHERE id IN (SELECT id FROM alert WHERE "
                                               "state = 'resolved' AND since < ?1 LIMIT ?2)"));
    statement.bind(1, stored_time(time)).bind(2, static_cast<std::int64_t>(most));
    ASSAY_CHECK(statement.run());
    ASSAY_TRY(const auto gone, database.number("SELECT changes()"));
    return static_cast<std::size_t>(gone) == most;
  });
}

Result<std::vector<Silence>> SilenceRows::list() {
  return connections_.read([](Database& database) -> Result<std::vector<Silence>> {
    ASSAY_TRY(auto statement,
              database.prepare("SELECT id, rule, node, about, until, author, reason FROM silence ORDER BY id"));
    std::vector<Silence> silences;
    while (true) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return silences;
      silences.push_back({.id = statement.text(0),
                          .rule = statement.text(1),
                          .node = statement.text(2),
                          .about = statement.text(3),
                          .until = wall_time(statement.integer(4)),
                          .by = statement.text(5),
                          .reason = statement.text(6)});
    }
  });
}

Result<void> SilenceRows::add(const Silence& silence) {
  return connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement,
              database.prepare("INSERT OR IGNORE INTO silence VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id"));
    statement.bind(1, silence.id)
        .bind(2, silence.rule)
        .bind(3, silence.node)
        .bind(4, silence.about)
        .bind(5, stored_time(silence.until))
        .bind(6, silence.by)
        .bind(7, silence.reason);
    ASSAY_TRY(const bool is_new, statement.step());
    if (is_new) return {};
    return Error{.kind = ErrorKind::busy, .message = fmt::format("there is a silence '{}' already", silence.id)};
  });
}

Result<void> SilenceRows::remove(std::string_view id) {
  return connections_.write([&](Database& database) -> Result<void> {
    ASSAY_TRY(auto statement, database.prepare("DELETE FROM silence WHERE id = ?"));
    statement.bind(1, id);
    return statement.run();
  });
}

}  // namespace assay
