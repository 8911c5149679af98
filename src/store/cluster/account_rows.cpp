#include "store/cluster/account_rows.h"

#include <fmt/format.h>

#include <cmath>

#include "base/json.h"
#include "model/price_book.h"
#include "store/cluster/rows.h"

namespace assay {
namespace {

std::string text_of_list(const std::vector<std::string>& list) { return json::serialize(json::value_from(list)); }

Result<std::vector<std::string>> list_in(const Statement& statement, int column) {
  ASSAY_TRY(const auto value, parse_json(statement.bytes(column)));
  const json::value row(json::object{{"list", value}});
  JsonFields fields(row, "account");
  auto list = fields.texts_or_empty("list");
  ASSAY_CHECK(fields.finish());
  return list;
}

void bind_number(Statement& statement, int parameter, std::optional<std::int64_t> number) {
  if (number) {
    statement.bind(parameter, *number);
  } else {
    statement.bind(parameter, std::nan(""));
  }
}
std::optional<std::int64_t> number_in(const Statement& statement, int column) {
  if (std::isnan(statement.real(column))) return std::nullopt;
  return statement.integer(column);
}

std::optional<double> real_in(const Statement& statement, int column) {
  const double real = statement.real(column);
  return std::isnan(real) ? std::nullopt : std::optional(real);
}

/// How a kind of row stands in its table: name, columns (the key first), and both ways.
template <typename Row>
struct RowForm;

template <>
struct RowForm<UserRecord> {
  static constexpr const char* kTable = "account";
  static constexpr const char* kColumns =
      "name, full_name, role, password_hash, from_directory, disabled, created, last_login";
  static constexpr int kCount = 8;
  static void bind(Statement& statement, const UserRecord& row) {
    statement.bind(1, row.name).bind(2, row.full_name).bind(3, row.role).bind(4, row.password_hash);
    statement.bind(5, std::int64_t{row.from_directory}).bind(6, std::int64_t{row.disabled});
    statement.bind(7, stored_time(row.created));
    bind_time(statement, 8, row.last_login);
  }
  static Result<UserRecord> read(const Statement& statement) {
    return UserRecord{.name = statement.text(0),
                      .full_name = statement.text(1),
                      .role = statement.text(2),
                      .password_hash = statement.text(3),
                      .from_directory = statement.integer(4) != 0,
                      .disabled = statement.integer(5) != 0,
                      .created = wall_time(statement.integer(6)),
                      .last_login = time_in(statement, 7)};
  }
};

template <>
struct RowForm<SessionRecord> {
  static constexpr const char* kTable = "session";
  static constexpr const char* kColumns = "id, account, csrf, created, last_seen, address";
  static constexpr int kCount = 6;
  static void bind(Statement& statement, const SessionRecord& row) {
    statement.bind(1, row.id).bind(2, row.user).bind(3, row.csrf).bind(4, stored_time(row.created));
    statement.bind(5, stored_time(row.last_seen)).bind(6, row.from);
  }
  static Result<SessionRecord> read(const Statement& statement) {
    return SessionRecord{.id = statement.text(0),
                         .user = statement.text(1),
                         .csrf = statement.text(2),
                         .created = wall_time(statement.integer(3)),
                         .last_seen = wall_time(statement.integer(4)),
                         .from = statement.text(5)};
  }
};

template <>
struct RowForm<OnceRecord> {
  static constexpr const char* kTable = "once";
  static constexpr const char* kColumns = "id, account, expires";
  static constexpr int kCount = 3;
  static void bind(Statement& statement, const OnceRecord& row) {
    statement.bind(1, row.id).bind(2, row.user).bind(3, stored_time(row.expires));
  }
  static Result<OnceRecord> read(const Statement& statement) {
    return OnceRecord{.id = statement.text(0), .user = statement.text(1), .expires = wall_time(statement.integer(2))};
  }
};

template <>
struct RowForm<PersonalTokenRecord> {
  static constexpr const char* kTable = "personal_token";
  static constexpr const char* kColumns = "id, account, name, hash, scopes, created, expires";
  static constexpr int kCount = 7;
  static void bind(Statement& statement, const PersonalTokenRecord& row) {
    statement.bind(1, row.id).bind(2, row.user).bind(3, row.name).bind(4, row.hash);
    statement.bind(5, text_of_list(row.scopes)).bind(6, stored_time(row.created));
    bind_time(statement, 7, row.expires);
  }
  static Result<PersonalTokenRecord> read(const Statement& statement) {
    PersonalTokenRecord row{.id = statement.text(0),
                            .user = statement.text(1),
                            .name = statement.text(2),
                            .hash = statement.text(3),
                            .scopes = {},
                            .created = wall_time(statement.integer(5)),
                            .expires = time_in(statement, 6)};
    ASSAY_TRY(row.scopes, list_in(statement, 4));
    return row;
  }
};

template <>
struct RowForm<LinkRecord> {
  static constexpr const char* kTable = "share_link";
  static constexpr const char* kColumns = "id, hash, account, kind, runs, study, note, created, expires";
  static constexpr int kCount = 9;
  static void bind(Statement& statement, const LinkRecord& row) {
    statement.bind(1, row.id).bind(2, row.hash).bind(3, row.user).bind(4, row.kind).bind(5, text_of_list(row.runs));
    statement.bind(6, row.study).bind(7, row.note).bind(8, stored_time(row.created));
    bind_time(statement, 9, row.expires);
  }
  static Result<LinkRecord> read(const Statement& statement) {
    LinkRecord row{.id = statement.text(0),
                   .hash = statement.text(1),
                   .user = statement.text(2),
                   .kind = statement.text(3),
                   .runs = {},
                   .study = statement.text(5),
                   .note = statement.text(6),
                   .created = wall_time(statement.integer(7)),
                   .expires = time_in(statement, 8)};
    ASSAY_TRY(row.runs, list_in(statement, 4));
    return row;
  }
};

template <>
struct RowForm<PanelRecord> {
  static constexpr const char* kTable = "panel";
  static constexpr const char* kColumns =
      "id, account, changed, name, shared, metrics, runs, filter, newest, axis, smoothing, logarithmic";
  static constexpr int kCount = 12;
  static void bind(Statement& statement, const PanelRecord& row) {
    const PanelContent& content = row.content;
    statement.bind(1, row.id).bind(2, row.user).bind(3, stored_time(row.changed)).bind(4, content.name);
    statement.bind(5, std::int64_t{content.shared}).bind(6, text_of_list(content.metrics));
    statement.bind(7, text_of_list(content.runs)).bind(8, content.filter).bind(9, content.newest);
    statement.bind(10, content.axis).bind(11, content.smoothing).bind(12, std::int64_t{content.logarithmic});
  }
  static Result<PanelRecord> read(const Statement& statement) {
    PanelRecord row{.id = statement.text(0),
                    .user = statement.text(1),
                    .changed = wall_time(statement.integer(2)),
                    .content = {.name = statement.text(3),
                                .shared = statement.integer(4) != 0,
                                .metrics = {},
                                .runs = {},
                                .filter = statement.text(7),
                                .newest = statement.integer(8),
                                .axis = statement.text(9),
                                .smoothing = statement.real(10),
                                .logarithmic = statement.integer(11) != 0}};
    ASSAY_TRY(row.content.metrics, list_in(statement, 5));
    ASSAY_TRY(row.content.runs, list_in(statement, 6));
    return row;
  }
};

template <>
struct RowForm<CatalogRecord> {
  static constexpr const char* kTable = "catalog";
  static constexpr const char* kColumns = "name, description, kind, models, datasets, commands";
  static constexpr int kCount = 6;
  static void bind(Statement& statement, const CatalogRecord& row) {
    statement.bind(1, row.name).bind(2, row.description).bind(3, row.kind).bind(4, text_of_list(row.models));
    statement.bind(5, text_of_list(row.datasets)).bind(6, text_of_list(row.commands));
  }
  static Result<CatalogRecord> read(const Statement& statement) {
    CatalogRecord row{.name = statement.text(0), .description = statement.text(1), .kind = statement.text(2)};
    ASSAY_TRY(row.models, list_in(statement, 3));
    ASSAY_TRY(row.datasets, list_in(statement, 4));
    ASSAY_TRY(row.commands, list_in(statement, 5));
    return row;
  }
};

template <>
struct RowForm<QuotaRecord> {
  static constexpr const char* kTable = "quota";
  static constexpr const char* kColumns = "account, runs_at_once, runs_per_order, gpu_hours_per_day, gpus_at_once";
  static constexpr int kCount = 5;
  static void bind(Statement& statement, const QuotaRecord& row) {
    statement.bind(1, row.user);
    bind_number(statement, 2, row.runs_at_once);
    bind_number(statement, 3, row.runs_per_order);
    statement.bind(4, row.gpu_hours_per_day.value_or(std::nan("")));
    bind_number(statement, 5, row.gpus_at_once);
  }
  static Result<QuotaRecord> read(const Statement& statement) {
    QuotaRecord row{
        .user = statement.text(0), .runs_at_once = number_in(statement, 1), .runs_per_order = number_in(statement, 2)};
    row.gpu_hours_per_day = real_in(statement, 3);
    row.gpus_at_once = number_in(statement, 4);
    return row;
  }
};

template <>
struct RowForm<GpuPrice> {
  static constexpr const char* kTable = "gpu_price";
  static constexpr const char* kColumns = "gpu, on_demand, spot, currency, source";
  static constexpr int kCount = 5;
  static void bind(Statement& statement, const GpuPrice& row) {
    statement.bind(1, row.gpu).bind(2, row.on_demand.value_or(std::nan(""))).bind(3, row.spot.value_or(std::nan("")));
    statement.bind(4, row.currency).bind(5, row.source);
  }
  static Result<GpuPrice> read(const Statement& statement) {
    return GpuPrice{.gpu = statement.text(0),
                    .on_demand = real_in(statement, 1),
                    .spot = real_in(statement, 2),
                    .currency = statement.text(3),
                    .source = statement.text(4)};
  }
};

template <>
struct RowForm<PowerPrice> {
  static constexpr const char* kTable = "power_price";
  static constexpr const char* kColumns = "site, per_kwh, currency, grams_co2_per_kwh, source";
  static constexpr int kCount = 5;
  static void bind(Statement& statement, const PowerPrice& row) {
    statement.bind(1, row.site).bind(2, row.per_kwh.value_or(std::nan(""))).bind(3, row.currency);
    statement.bind(4, row.grams_co2_per_kwh.value_or(std::nan(""))).bind(5, row.source);
  }
  static Result<PowerPrice> read(const Statement& statement) {
    return PowerPrice{.site = statement.text(0),
                      .per_kwh = real_in(statement, 1),
                      .currency = statement.text(2),
                      .grams_co2_per_kwh = real_in(statement, 3),
                      .source = statement.text(4)};
  }
};

template <typename Row>
class KeptRows final : public KeptTable<Row> {
 public:
  using Form = RowForm<Row>;
  explicit KeptRows(ClusterConnections& connections) : connections_(connections) {}

  Result<std::vector<Row>> list() override {
    return connections_.read([&](Database& database) -> Result<std::vector<Row>> {
      ASSAY_TRY(auto statement,
                database.prepare(fmt::format("SELECT {} FROM {} ORDER BY 1", Form::kColumns, Form::kTable)));
      std::vector<Row> rows;
      for (;;) {
        ASSAY_TRY(const bool found, statement.step());
        if (!found) return rows;
        ASSAY_TRY(auto row, Form::read(statement));
        rows.push_back(std::move(row));
      }
    });
  }
  Result<void> put(const Row& row) override {
    return connections_.write([&](Database& database) -> Result<void> {
      std::string places = "?";
      for (int i = 1; i < Form::kCount; ++i) places += ", ?";
      ASSAY_TRY(auto statement, database.prepare(fmt::format("INSERT OR REPLACE INTO {} ({}) VALUES ({})", Form::kTable,
                                                             Form::kColumns, places)));
      Form::bind(statement, row);
      return statement.run();
    });
  }
  Result<void> remove(std::string_view key) override {
    return connections_.write([&](Database& database) -> Result<void> {
      const std::string_view columns = Form::kColumns;
      ASSAY_TRY(auto statement, database.prepare(fmt::format("DELETE FROM {} WHERE {} = ?", Form::kTable,
                                                             columns.substr(0, columns.find(',')))));
      statement.bind(1, key);
      return statement.run();
    });
  }

 private:
  ClusterConnections& connections_;
};

std::string_view word_of(OwnerTable::Owned::Kind kind) {
  return kind == OwnerTable::Owned::Kind::run ? "run" : "study";
}

class OwnerRows final : public OwnerTable {
 public:
  explicit OwnerRows(ClusterConnections& connections) : connections_(connections) {}

  Result<void> note(const Owned& owned, std::string_view owner, WallTime time) override {
    return connections_.write([&](Database& database) -> Result<void> {
      ASSAY_TRY(auto statement,
                database.prepare("INSERT OR IGNORE INTO owner (kind, id, owner, time) VALUES (?, ?, ?, ?)"));
      statement.bind(1, word_of(owned.kind)).bind(2, owned.id).bind(3, owner).bind(4, stored_time(time));
      return statement.run();
    });
  }
  Result<std::string> find(const Owned& owned) override {
    return connections_.read([&](Database& database) -> Result<std::string> {
      ASSAY_TRY(auto statement, database.prepare("SELECT owner FROM owner WHERE kind = ? AND id = ?"));
      statement.bind(1, word_of(owned.kind)).bind(2, owned.id);
      ASSAY_TRY(const bool found, statement.step());
      return found ? statement.text(0) : std::string();
    });
  }
  Result<std::vector<Owned>> owned_since(std::string_view owner, WallTime time) override {
    return connections_.read([&](Database& database) -> Result<std::vector<Owned>> {
      ASSAY_TRY(auto statement,
                database.prepare("SELECT kind, id FROM owner WHERE owner = ? AND time >= ? ORDER BY time, id"));
      statement.bind(1, owner).bind(2, stored_time(time));
      std::vector<Owned> all;
      for (;;) {
        ASSAY_TRY(const bool found, statement.step());
        if (!found) return all;
        all.push_back(
            {.kind = statement.text(0) == "run" ? Owned::Kind::run : Owned::Kind::study, .id = statement.text(1)});
      }
    });
  }
  Result<void> forget(const Owned& owned) override {
    return connections_.write([&](Database& database) -> Result<void> {
      ASSAY_TRY(auto statement, database.prepare("DELETE FROM owner WHERE kind = ? AND id = ?"));
      statement.bind(1, word_of(owned.kind)).bind(2, owned.id);
      return statement.run();
    });
  }

 private:
  ClusterConnections& connections_;
};

class AuditRows final : public AuditLog {
 public:
  explicit AuditRows(ClusterConnections& connections) : connections_(connections) {}

  Result<void> append(const AuditRecord& record) override {
    return connections_.write([&](Database& database) -> Result<void> {
      ASSAY_TRY(auto statement, database.prepare("INSERT INTO audit (time, who, address, what, about, status, detail) "
                                                 "VALUES (?, ?, ?, ?, ?, ?, ?)"));
      statement.bind(1, stored_time(record.time)).bind(2, record.who).bind(3, record.from).bind(4, record.what);
      statement.bind(5, record.about).bind(6, std::int64_t{record.status}).bind(7, record.detail);
      return statement.run();
    });
  }
  Result<std::vector<AuditRecord>> list(const AuditQuery& query) override {
    return connections_.read([&](Database& database) -> Result<std::vector<AuditRecord>> {
      std::string where = "id < ?1 AND time >= ?2";
      if (!query.who.empty()) where += " AND who = ?3";
      ASSAY_TRY(auto statement, database.prepare(fmt::format("SELECT id, time, who, address, what, about, status, "
                                                             "detail FROM audit WHERE {} ORDER BY id DESC LIMIT ?4",
                                                             where)));
      statement.bind(1, query.before > 0 ? query.before : INT64_MAX);
      statement.bind(2, query.from ? stored_time(*query.from) : INT64_MIN);
      if (!query.who.empty()) statement.bind(3, query.who);
      statement.bind(4, static_cast<std::int64_t>(query.limit));
      std::vector<AuditRecord> all;
      for (;;) {
        ASSAY_TRY(const bool found, statement.step());
        if (!found) return all;
        all.push_back({.id = statement.integer(0),
                       .time = wall_time(statement.integer(1)),
                       .who = statement.text(2),
                       .from = statement.text(3),
                       .what = statement.text(4),
                       .about = statement.text(5),
                       .status = static_cast<int>(statement.integer(6)),
                       .detail = statement.text(7)});
      }
    });
  }
  Result<bool> forget(WallTime time, std::size_t most) override {
    return connections_.write([&](Database& database) -> Result<bool> {
      ASSAY_TRY(auto statement, database.prepare("DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE time < ? "
                                                 "ORDER BY time LIMIT ?)"));
      statement.bind(1, stored_time(time)).bind(2, static_cast<std::int64_t>(most));
      ASSAY_CHECK(statement.run());
      ASSAY_TRY(const auto gone, database.number("SELECT changes()"));
      return gone == static_cast<std::int64_t>(most);
    });
  }

 private:
  ClusterConnections& connections_;
};

class AccountRows final : public AccountTables {
 public:
  explicit AccountRows(ClusterConnections& connections)
      : users_(connections),
        sessions_(connections),
        once_(connections),
        tokens_(connections),
        links_(connections),
        panels_(connections),
        catalog_(connections),
        quotas_(connections),
        prices_(connections),
        power_prices_(connections),
        owners_(connections),
        audit_(connections) {}

  KeptTable<UserRecord>& users() override { return users_; }
  KeptTable<SessionRecord>& sessions() override { return sessions_; }
  KeptTable<OnceRecord>& once() override { return once_; }
  KeptTable<PersonalTokenRecord>& tokens() override { return tokens_; }
  KeptTable<LinkRecord>& links() override { return links_; }
  KeptTable<PanelRecord>& panels() override { return panels_; }
  KeptTable<CatalogRecord>& catalog() override { return catalog_; }
  KeptTable<QuotaRecord>& quotas() override { return quotas_; }
  KeptTable<GpuPrice>& prices() override { return prices_; }
  KeptTable<PowerPrice>& power_prices() override { return power_prices_; }
  OwnerTable& owners() override { return owners_; }
  AuditLog& audit() override { return audit_; }

 private:
  KeptRows<UserRecord> users_;
  KeptRows<SessionRecord> sessions_;
  KeptRows<OnceRecord> once_;
  KeptRows<PersonalTokenRecord> tokens_;
  KeptRows<LinkRecord> links_;
  KeptRows<PanelRecord> panels_;
  KeptRows<CatalogRecord> catalog_;
  KeptRows<QuotaRecord> quotas_;
  KeptRows<GpuPrice> prices_;
  KeptRows<PowerPrice> power_prices_;
  OwnerRows owners_;
  AuditRows audit_;
};

}  // namespace

std::unique_ptr<AccountTables> make_account_rows(ClusterConnections& connections) {
  return std::make_unique<AccountRows>(connections);
}

}  // namespace assay
