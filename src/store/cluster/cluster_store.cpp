#include "store/cluster/cluster_store.h"

#include <array>
#include <limits>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "store/sqlite/sqlite.h"

namespace assay {
namespace {

/// Only ever appended to: what stands here was run on users' data.
constexpr std::array kMigrations = {
    R"(CREATE TABLE document (kind TEXT NOT NULL, id TEXT NOT NULL, time INTEGER NOT NULL, open INTEGER NOT NULL,
                              content TEXT NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
       CREATE INDEX document_by_time ON document (kind, open, time);
       CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, node TEXT NOT NULL,
                           kind TEXT NOT NULL, about TEXT NOT NULL, message TEXT NOT NULL, value_list TEXT NOT NULL);
       CREATE UNIQUE INDEX event_identity ON event (node, time, kind, about, message);
       CREATE INDEX event_by_time ON event (time);)",
};

std::int64_t ns(WallTime time) { return time.time_since_epoch().count(); }
WallTime wall(std::int64_t ns) { return WallTime(Nanos(ns)); }

std::string values_text(const std::map<std::string, double>& values) {
  json::object object;
  for (const auto& [name, value] : values) object[name] = finite(value);
  return json::serialize(object);
}

Result<json::object> object_from(std::string_view text, std::string_view what) {
  ASSAY_TRY(auto value, parse_json(text));
  if (!value.is_object()) return Error{.kind = ErrorKind::bad_file, .message = std::string(what) + " is no object"};
  return std::move(value.as_object());
}

class SqliteClusterStore final : public ClusterStore {
 public:
  explicit SqliteClusterStore(Database database) : database_(std::move(database)) {}

  Result<void> put(std::string_view kind, const ClusterDocument& document, bool open) override {
    return put_all(kind, std::span(&document, 1), open);
  }

  Result<void> put_all(std::string_view kind, std::span<const ClusterDocument> documents, bool open) override {
    const std::lock_guard lock(mutex_);
    ASSAY_TRY(auto transaction, Transaction::begin(database_));
    ASSAY_TRY(auto statement, database_.prepare("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?)"));
    for (const auto& document : documents) {
      statement.bind(1, kind)
          .bind(2, document.id)
          .bind(3, ns(document.time))
          .bind(4, std::int64_t{open})
          .bind(5, json::serialize(document.content));
      ASSAY_CHECK(statement.run());
    }
    return transaction.commit();
  }

  Result<ClusterDocument> find(std::string_view kind, std::string_view id) override {
    const std::lock_guard lock(mutex_);
    ASSAY_TRY(auto statement, database_.prepare("SELECT id, time, content FROM document WHERE kind = ? AND id = ?"));
    statement.bind(1, kind).bind(2, id);
    ASSAY_TRY(const bool found, statement.step());
    if (!found) {
      return Error{.kind = ErrorKind::not_found,
                   .message = "there is no " + std::string(kind) + " '" + std::string(id) + "'"};
    }
    return row(statement);
  }

  Result<std::vector<ClusterDocument>> list(const ClusterDocumentQuery& query) override {
    const std::lock_guard lock(mutex_);
    ASSAY_TRY(auto statement,
              database_.prepare("SELECT id, time, content FROM document WHERE kind = ? AND open >= ? AND time >= ? "
                                "ORDER BY time DESC, id LIMIT ?"));
    statement.bind(1, query.kind)
        .bind(2, std::int64_t{query.open_only})
        .bind(3, query.from ? ns(*query.from) : std::numeric_limits<std::int64_t>::min())
        .bind(4, static_cast<std::int64_t>(query.limit));
    std::vector<ClusterDocument> documents;
    while (true) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return documents;
      auto document = row(statement);
      if (document) {
        documents.push_back(std::move(*document));
      } else {
        log_warning("A {} that cannot be read is left out: {}", query.kind, document.error().text());
      }
    }
  }

  Result<void> remove(std::string_view kind, std::string_view id) override {
    const std::lock_guard lock(mutex_);
    ASSAY_TRY(auto statement, database_.prepare("DELETE FROM document WHERE kind = ? AND id = ?"));
    statement.bind(1, kind).bind(2, id);
    return statement.run();
  }

  Result<std::vector<ClusterEvent>> append_events(std::span<const ClusterEvent> events) override {
    std::vector<ClusterEvent> added;
    if (events.empty()) return added;
    const std::lock_guard lock(mutex_);
    ASSAY_TRY(auto transaction, Transaction::begin(database_));
    ASSAY_TRY(auto statement, database_.prepare("INSERT OR IGNORE INTO event (time, node, kind, about, message, "
                                                "value_list) VALUES (?, ?, ?, ?, ?, ?) RETURNING id"));
    for (const auto& event : events) {
      statement.bind(1, ns(event.time))
          .bind(2, event.node)
          .bind(3, event.kind)
          .bind(4, event.about)
          .bind(5, event.message)
          .bind(6, values_text(event.values));
      ASSAY_TRY(const bool is_new, statement.step());
      if (is_new) {
        added.push_back(event);
        added.back().id = statement.integer(0);
      }
      statement.reset();
    }
    ASSAY_CHECK(transaction.commit());
    return added;
  }

  Result<std::vector<ClusterEvent>> events(const EventQuery& query) override {
    const std::lock_guard lock(mutex_);
    ASSAY_TRY(auto statement,
              database_.prepare("SELECT id, time, node, kind, about, message, value_list FROM event WHERE "
                                "(?1 = '' OR node = ?1) AND (?2 = '' OR kind = ?2) AND (?3 = '' OR about = ?3) AND "
                                "time >= ?4 AND time < ?5 AND "
                                "(?6 = 0 OR (time, id) < (SELECT time, id FROM event WHERE id = ?6)) "
                                "ORDER BY time DESC, id DESC LIMIT ?7"));
    statement.bind(1, query.node)
        .bind(2, query.kind)
        .bind(3, query.about)
        .bind(4, query.from ? ns(*query.from) : std::numeric_limits<std::int64_t>::min())
        .bind(5, query.to ? ns(*query.to) : std::numeric_limits<std::int64_t>::max())
        .bind(6, query.before_id)
        .bind(7, static_cast<std::int64_t>(query.limit));
    std::vector<ClusterEvent> events;
    while (true) {
      ASSAY_TRY(const bool more, statement.step());
      if (!more) return events;
      ClusterEvent event{.id = statement.integer(0),
                         .time = wall(statement.integer(1)),
                         .node = statement.text(2),
                         .kind = statement.text(3),
                         .about = statement.text(4),
                         .message = statement.text(5)};
      const auto values = object_from(statement.bytes(6), "an event").value_or(json::object());
      for (const auto& [name, value] : values) {
        event.values[name] = value.is_number() ? value.to_number<double>() : std::numeric_limits<double>::quiet_NaN();
      }
      events.push_back(std::move(event));
    }
  }

  Result<void> forget_before(WallTime time, std::string_view settled_kind) override {
    const std::lock_guard lock(mutex_);
    ASSAY_TRY(auto old_events, database_.prepare("DELETE FROM event WHERE time < ?"));
    old_events.bind(1, ns(time));
    ASSAY_CHECK(old_events.run());
    ASSAY_TRY(auto settled, database_.prepare("DELETE FROM document WHERE kind = ? AND open = 0 AND time < ?"));
    settled.bind(1, settled_kind).bind(2, ns(time));
    return settled.run();
  }

  Result<void> backup_to(const fs::path& file) override {
    const std::lock_guard lock(mutex_);
    return database_.back_up_to(file.string());
  }

 private:
  static Result<ClusterDocument> row(const Statement& statement) {
    ASSAY_TRY(auto content, object_from(statement.bytes(2), "a document"));
    return ClusterDocument{.id = statement.text(0), .time = wall(statement.integer(1)), .content = std::move(content)};
  }

  std::mutex mutex_;
  Database database_;
};

}  // namespace

Result<std::unique_ptr<ClusterStore>> open_cluster_store(const fs::path& file) {
  ASSAY_CHECK(make_folders(file.parent_path()));
  ASSAY_TRY(auto database, Database::open(file.string()));
  ASSAY_CHECK(database.execute("PRAGMA busy_timeout = 20000"));
  ASSAY_TRY(const auto kind, file_system_of(file));
  // Shared memory between hosts is not safe, and without WAL SQLite does not need it.
  if (!kind.network) ASSAY_CHECK(database.execute("PRAGMA journal_mode = WAL"));
  ASSAY_CHECK(database.execute("PRAGMA synchronous = FULL"));
  ASSAY_CHECK(migrate(database, kMigrations, "what is known of the cluster"));
  return std::unique_ptr<ClusterStore>(std::make_unique<SqliteClusterStore>(std::move(database)));
}

}  // namespace assay
