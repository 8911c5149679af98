#include "store/cluster/cluster_schema.h"

#include <array>

#include "store/cluster/account_schema.h"

namespace assay {
namespace {

/// Only ever appended to: what stands here was run on users' data.
constexpr std::array kMigrations = {
    // 1: everything but events as JSON objects by kind and name.
    R"(CREATE TABLE document (kind TEXT NOT NULL, id TEXT NOT NULL, time INTEGER NOT NULL, open INTEGER NOT NULL,
                              content TEXT NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID;
       CREATE INDEX document_by_time ON document (kind, open, time);
       CREATE TABLE event (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, node TEXT NOT NULL,
                           kind TEXT NOT NULL, about TEXT NOT NULL, message TEXT NOT NULL, value_list TEXT NOT NULL);
       CREATE UNIQUE INDEX event_identity ON event (node, time, kind, about, message);
       CREATE INDEX event_by_time ON event (time);)",
    // 2: a table for each kind. Times were written as 2026-11-15T04:05:06.789Z; what is no JSON was left out by every
    // reader, too.
    R"(CREATE TABLE node (name TEXT PRIMARY KEY, first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL,
                          simulated INTEGER NOT NULL, draining INTEGER NOT NULL, drain_reason TEXT NOT NULL,
                          version TEXT NOT NULL, period_ms INTEGER NOT NULL, facts TEXT NOT NULL, devices TEXT NOT NULL,
                          allow TEXT NOT NULL, sources TEXT NOT NULL, revision INTEGER NOT NULL);
       INSERT INTO node SELECT id, time,
           CAST(strftime('%s', content ->> '$.last_seen') AS INTEGER) * 1000000000
             + CAST(substr(content ->> '$.last_seen', 21, 3) AS INTEGER) * 1000000,
           coalesce(content ->> '$.simulated', 0), coalesce(content ->> '$.draining', 0),
           coalesce(content ->> '$.drain_reason', ''), coalesce(content ->> '$.version', ''),
           coalesce(content ->> '$.period_ms', 1000), coalesce(content ->> '$.facts', '{}'),
           coalesce(content ->> '$.devices', '[]'), coalesce(content ->> '$.allow', '[]'),
           coalesce(content ->> '$.sources', '[]'), 1
         FROM document
         WHERE kind = 'node' AND json_valid(content) AND strftime('%s', content ->> '$.last_seen') IS NOT NULL;

       CREATE TABLE alert (id TEXT PRIMARY KEY, rule TEXT NOT NULL, severity TEXT NOT NULL, node TEXT NOT NULL,
                           about TEXT NOT NULL, what TEXT NOT NULL, remedy TEXT NOT NULL, since INTEGER NOT NULL,
                           last_value REAL, worst_value REAL, threshold REAL, value_list TEXT NOT NULL,
                           state TEXT NOT NULL, resolved_at INTEGER, acknowledged_at INTEGER,
                           acknowledged_by TEXT NOT NULL, note TEXT NOT NULL, told INTEGER NOT NULL,
                           revision INTEGER NOT NULL);
       INSERT INTO alert SELECT id, content ->> '$.rule', content ->> '$.severity', content ->> '$.node',
           coalesce(content ->> '$.about', ''), coalesce(content ->> '$.what', ''), coalesce(content ->> '$.remedy', ''),
           time, content ->> '$.last_value', coalesce(content ->> '$.worst_value', content ->> '$.last_value'),
           content ->> '$.threshold', coalesce(content ->> '$.values', '{}'), coalesce(content ->> '$.state', 'open'),
           content ->> '$.resolved_at_ns',
           CAST(strftime('%s', content ->> '$.acknowledged_at') AS INTEGER) * 1000000000
             + CAST(substr(content ->> '$.acknowledged_at', 21, 3) AS INTEGER) * 1000000,
           coalesce(content ->> '$.acknowledged_by', ''), coalesce(content ->> '$.note', ''),
           coalesce(content ->> '$.told', 1), 1
         FROM document
         WHERE kind = 'alert' AND json_valid(content) AND content ->> '$.rule' IS NOT NULL
           AND content ->> '$.severity' IS NOT NULL AND content ->> '$.node' IS NOT NULL;
       CREATE INDEX alert_by_time ON alert (state, since DESC, id);
       CREATE INDEX alert_of_node ON alert (node, state, since DESC, id);

       CREATE TABLE silence (id TEXT PRIMARY KEY, rule TEXT NOT NULL, node TEXT NOT NULL, about TEXT NOT NULL,
                             until INTEGER NOT NULL, author TEXT NOT NULL, reason TEXT NOT NULL);
       INSERT INTO silence SELECT id, coalesce(content ->> '$.rule', ''), coalesce(content ->> '$.node', ''),
           coalesce(content ->> '$.about', ''),
           CAST(strftime('%s', content ->> '$.until') AS INTEGER) * 1000000000
             + CAST(substr(content ->> '$.until', 21, 3) AS INTEGER) * 1000000,
           coalesce(content ->> '$.by', ''), coalesce(content ->> '$.reason', '')
         FROM document
         WHERE kind = 'silence' AND json_valid(content) AND strftime('%s', content ->> '$.until') IS NOT NULL;

       DROP TABLE document;

       CREATE INDEX event_of_node ON event (node, time);
       CREATE INDEX event_of_kind ON event (kind, time);
       CREATE TABLE event_count (node TEXT PRIMARY KEY, events INTEGER NOT NULL) WITHOUT ROWID;
       INSERT INTO event_count SELECT node, count(*) FROM event GROUP BY node;

       CREATE TABLE job (id TEXT PRIMARY KEY, node TEXT NOT NULL, created INTEGER NOT NULL, author TEXT NOT NULL,
                         planned TEXT NOT NULL, gpus TEXT NOT NULL, study TEXT NOT NULL, entry INTEGER NOT NULL,
                         stop INTEGER NOT NULL, revision INTEGER NOT NULL);)",
    // 3: what was refused of nodes, and what nobody was told yet, outlive the leader.
    R"(CREATE TABLE refusal (id INTEGER PRIMARY KEY, node TEXT NOT NULL, what TEXT NOT NULL, why TEXT NOT NULL,
                             count INTEGER NOT NULL, since INTEGER NOT NULL, UNIQUE (node, what, why));
       CREATE TABLE notice (id INTEGER PRIMARY KEY AUTOINCREMENT, outlet TEXT NOT NULL, body TEXT NOT NULL,
                            time INTEGER NOT NULL);)",
    kAccountTables,
    // 5: jobs wait in a queue: anywhere, with priorities, held, after others, tried again.
    R"(ALTER TABLE job ADD COLUMN doing TEXT NOT NULL DEFAULT '';
       ALTER TABLE job ADD COLUMN owner TEXT NOT NULL DEFAULT '';
       ALTER TABLE job ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE job ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE job ADD COLUMN waits_for TEXT NOT NULL DEFAULT '[]';
       ALTER TABLE job ADD COLUMN attempts INTEGER NOT NULL DEFAULT 1;
       ALTER TABLE job ADD COLUMN attempt INTEGER NOT NULL DEFAULT 1;
       ALTER TABLE job ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;
       UPDATE job SET doing = id;
       ALTER TABLE quota ADD COLUMN gpus_at_once INTEGER;)",
    kPriceTables,
    kPanelTable,
    // When nothing is to run on a node, and until when a job is to have ended; 0: no such time.
    R"(ALTER TABLE job ADD COLUMN deadline INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE node ADD COLUMN maintenance_from INTEGER NOT NULL DEFAULT 0;
       ALTER TABLE node ADD COLUMN maintenance_until INTEGER NOT NULL DEFAULT 0;)",
};

}  // namespace

Result<void> update_cluster_tables(Database& database) {
  return migrate(database, kMigrations, "what is known of the cluster");
}

}  // namespace assay
