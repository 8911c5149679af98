#pragma once

namespace assay {

/// People: who they are, what they are signed in with, what they may, what they did.
inline constexpr const char* kAccountTables = R"(
       CREATE TABLE account (name TEXT PRIMARY KEY, full_name TEXT NOT NULL, role TEXT NOT NULL,
                             password_hash TEXT NOT NULL, from_directory INTEGER NOT NULL, disabled INTEGER NOT NULL,
                             created INTEGER NOT NULL, last_login INTEGER) WITHOUT ROWID;
       CREATE TABLE session (id TEXT PRIMARY KEY, account TEXT NOT NULL, csrf TEXT NOT NULL, created INTEGER NOT NULL,
                             last_seen INTEGER NOT NULL, address TEXT NOT NULL) WITHOUT ROWID;
       CREATE TABLE once (id TEXT PRIMARY KEY, account TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
       CREATE TABLE personal_token (id TEXT PRIMARY KEY, account TEXT NOT NULL, name TEXT NOT NULL, hash TEXT NOT NULL,
                                    scopes TEXT NOT NULL, created INTEGER NOT NULL, expires INTEGER) WITHOUT ROWID;
       CREATE TABLE share_link (id TEXT PRIMARY KEY, hash TEXT NOT NULL, account TEXT NOT NULL, kind TEXT NOT NULL,
                                runs TEXT NOT NULL, study TEXT NOT NULL, note TEXT NOT NULL, created INTEGER NOT NULL,
                                expires INTEGER) WITHOUT ROWID;
       CREATE TABLE catalog (name TEXT PRIMARY KEY, description TEXT NOT NULL, kind TEXT NOT NULL, models TEXT NOT NULL,
                             datasets TEXT NOT NULL, commands TEXT NOT NULL) WITHOUT ROWID;
       CREATE TABLE quota (account TEXT PRIMARY KEY, runs_at_once INTEGER, runs_per_order INTEGER,
                           gpu_hours_per_day REAL) WITHOUT ROWID;
       CREATE TABLE owner (kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL, time INTEGER NOT NULL,
                           PRIMARY KEY (kind, id)) WITHOUT ROWID;
       CREATE INDEX owner_by_time ON owner (owner, time);
       CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, who TEXT NOT NULL,
                           address TEXT NOT NULL, what TEXT NOT NULL, about TEXT NOT NULL, status INTEGER NOT NULL,
                           detail TEXT NOT NULL);
       CREATE INDEX audit_by_who ON audit (who, id);
       CREATE INDEX audit_by_time ON audit (time);)";

/// What GPU hours and power cost.
inline constexpr const char* kPriceTables = R"(
       CREATE TABLE gpu_price (gpu TEXT PRIMARY KEY, on_demand REAL, spot REAL, currency TEXT NOT NULL,
                               source TEXT NOT NULL) WITHOUT ROWID;
       CREATE TABLE power_price (site TEXT PRIMARY KEY, per_kwh REAL, currency TEXT NOT NULL, grams_co2_per_kwh REAL,
                                 source TEXT NOT NULL) WITHOUT ROWID;)";

/// Charts that people put together.
inline constexpr const char* kPanelTable = R"(
       CREATE TABLE panel (id TEXT PRIMARY KEY, account TEXT NOT NULL, changed INTEGER NOT NULL, name TEXT NOT NULL,
                           shared INTEGER NOT NULL, metrics TEXT NOT NULL, runs TEXT NOT NULL, filter TEXT NOT NULL,
                           newest INTEGER NOT NULL, axis TEXT NOT NULL, smoothing REAL NOT NULL,
                           logarithmic INTEGER NOT NULL) WITHOUT ROWID;)";

}  // namespace assay
