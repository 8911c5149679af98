#include "store/local/index_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <variant>
#include <vector>

#include "bytes/varint.h"
#include "store/run_place.h"

namespace assay {

// Columns of `runs` are named as the fields of a query. Times and durations are in seconds. Tags, nodes and metrics are
// there twice: in tables of their own to search and sort by, and packed into the row, which halves the time of a long
// list.
const char* const kIndexTables = R"(
CREATE TABLE runs(
  key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, kind TEXT, state TEXT, verdict TEXT, study TEXT,
  variant TEXT, repeat INTEGER, ranks INTEGER, nodes INTEGER, host TEXT, created REAL, started REAL, duration REAL,
  packed BLOB, change INTEGER);
CREATE INDEX runs_by_created ON runs(created);
CREATE INDEX runs_by_name ON runs(name);
CREATE INDEX runs_by_study ON runs(study);
CREATE INDEX runs_going_on ON runs(id) WHERE state IN ('starting', 'running');
CREATE INDEX runs_by_change ON runs(change);
CREATE TABLE removed_runs(id TEXT PRIMARY KEY, change INTEGER) WITHOUT ROWID;
CREATE INDEX removed_by_change ON removed_runs(change);
CREATE TABLE changes(newest INTEGER);
INSERT INTO changes VALUES(CAST((julianday('now') - 2440587.5) * 86400e6 AS INTEGER));
CREATE TABLE run_metrics(run INTEGER, name TEXT, value REAL, PRIMARY KEY(run, name)) WITHOUT ROWID;
CREATE TABLE run_tags(run INTEGER, tag TEXT, PRIMARY KEY(run, tag)) WITHOUT ROWID;
CREATE INDEX run_tags_by_tag ON run_tags(tag);
CREATE TABLE run_nodes(run INTEGER, node TEXT, PRIMARY KEY(run, node)) WITHOUT ROWID;
CREATE INDEX run_nodes_by_node ON run_nodes(node);
)";

const char* const kCountChange = "UPDATE changes SET newest = newest + 1 RETURNING newest";

namespace {

using Value = std::variant<std::string, double, std::int64_t>;

struct Clause {
  std::string sql;
  std::vector<Value> values;
};

std::string_view operator_of(Condition::Op op) {
  switch (op) {
    case Condition::Op::equal: return "=";
    case Condition::Op::not_equal: return "<>";
    case Condition::Op::less: return "<";
    case Condition::Op::less_equal: return "<=";
    case Condition::Op::greater: return ">";
    case Condition::Op::greater_equal: return ">=";
    case Condition::Op::contains:
    case Condition::Op::starts_with: break;
  }
  ASSAY_ASSERT(false);
}

std::string text_comparison(std::string_view column, Condition::Op op) {
  if (op == Condition::Op::contains) return fmt::format("instr(lower({}), lower(?)) > 0", column);
  if (op == Condition::Op::starts_with) return fmt::format("instr({}, ?) = 1", column);
  return fmt::format("{} {} ?", column, operator_of(op));
}

Error unknown_field(std::string_view field) {
  return Error{.kind = ErrorKind::usage, .message = fmt::format("runs have no field '{}'", field)};
}

Result<Clause> clause_of(const Condition& condition) {
  const auto kind = run_field_kind(condition.field);
  if (!kind) return unknown_field(condition.field);
  const bool negated = condition.op == Condition::Op::not_equal;
  switch (*kind) {
    case RunFieldKind::text: return Clause{text_comparison(condition.field, condition.op), {condition.text}};
    case RunFieldKind::several:
      // "tag != x" means that none of its tags is x.
      return Clause{
          fmt::format("{} EXISTS(SELECT 1 FROM run_{}s WHERE run = runs.key AND {})", negated ? "NOT" : "",
                      condition.field, text_comparison(condition.field, negated ? Condition::Op::equal : condition.op)),
          {condition.text}};
    case RunFieldKind::metric:
      return Clause{fmt::format("EXISTS(SELECT 1 FROM run_metrics WHERE run = runs.key AND name = ? AND value {} ?)",
                                operator_of(condition.op)),
                    {metric_of(condition.field), condition.number}};
    case RunFieldKind::number:
    case RunFieldKind::time:
    case RunFieldKind::duration:
      return Clause{fmt::format("{} {} ?", condition.field, operator_of(condition.op)), {condition.number}};
  }
  ASSAY_ASSERT(false);
}

void join_clause(Clause& where, Clause clause) {
  where.sql += where.sql.empty() ? " WHERE " : " AND ";
  where.sql += clause.sql;
  for (auto& value : clause.values) where.values.push_back(std::move(value));
}

Result<Clause> where_of(const RunQuery& query) {
  Clause where;
  for (const auto& condition : query.conditions) {
    ASSAY_TRY(auto clause, clause_of(condition));
    join_clause(where, std::move(clause));
  }
  if (query.changed_after) {
    const auto number = std::min<std::uint64_t>(*query.changed_after, INT64_MAX);
    join_clause(where, {.sql = "change > ?", .values = {static_cast<std::int64_t>(number)}});
  }
  return where;
}

/// What the list is sorted by.
Clause sort_key(const RunQuery& query) {
  if (run_field_kind(query.sort) != RunFieldKind::metric) return {.sql = query.sort, .values = {}};
  return {.sql = "(SELECT value FROM run_metrics WHERE run = runs.key AND name = ?)",
          .values = {metric_of(query.sort)}};
}

Result<Clause> order_of(const RunQuery& query) {
  const auto kind = run_field_kind(query.sort);
  if (!kind || *kind == RunFieldKind::several) return unknown_field(query.sort);
  auto order = sort_key(query);
  order.sql = fmt::format(" ORDER BY {} {}", order.sql, query.descending ? "DESC" : "ASC");
  if (*kind == RunFieldKind::metric) order.sql += " NULLS LAST";
  if (query.sort != "created") order.sql += ", created DESC";
  // Of runs made in the same millisecond the later one counts as newer.
  order.sql += query.descending ? ", key DESC" : ", key ASC";
  return order;
}

Result<std::int64_t> key_of(const RunPlace& place) {
  std::int64_t key = 0;
  const auto* const end = place.tie.data() + place.tie.size();
  const auto read = std::from_chars(place.tie.data(), end, key);
  if (read.ec == std::errc() && read.ptr == end) return key;
  return Error{.kind = ErrorKind::usage, .message = "'after' is a place in a list of another store"};
}

/// The rows behind a place, in the order of `order_of`.
Result<Clause> after_of(const RunQuery& query) {
  ASSAY_TRY(const auto place, read_place(query));
  ASSAY_TRY(const auto key, key_of(place));
  const std::string_view beyond = query.descending ? "<" : ">";
  if (query.sort == "created") return Clause{fmt::format("(created, key) {} (?, ?)", beyond), {place.created, key}};
  const auto sorted_by = sort_key(query);
  const bool is_metric = run_field_kind(query.sort) == RunFieldKind::metric;
  Clause after;
  const auto compare_key = [&](std::string_view with) {
    after.sql += fmt::format("{} {}", sorted_by.sql, with);
    after.values.insert(after.values.end(), sorted_by.values.begin(), sorted_by.values.end());
    if (!with.ends_with('?')) return;
    after.values.push_back(place.text ? Value(*place.text) : Value(place.number.value_or(0)));
  };
  if (!place.text && !place.number) {
    compare_key("IS NULL");
  } else {
    after.sql = "(";
    compare_key(fmt::format("{} ?", beyond));
    if (is_metric) {
      after.sql += " OR ";
      compare_key("IS NULL");
    }
    after.sql += " OR ";
    compare_key("= ?");
  }
  after.sql += fmt::format(" AND (created < ? OR (created = ? AND key {} ?))", beyond);
  after.values.insert(after.values.end(), {place.created, place.created, key});
  if (place.text || place.number) after.sql += ")";
  return after;
}

int bind_all(Statement& statement, const std::vector<Value>& values, int next) {
  for (const auto& value : values) {
    std::visit([&](const auto& one) { statement.bind(next++, one); }, value);
  }
  return next;
}

std::string pack(const RunRow& row) {
  std::string packed;
  put_varint(packed, row.tags.size());
  for (const auto& tag : row.tags) put_text(packed, tag);
  put_varint(packed, row.on.size());
  for (const auto& node : row.on) put_text(packed, node);
  for (const auto& [name, value] : row.metrics) {
    put_text(packed, name);
    put_fixed(packed, std::bit_cast<std::uint64_t>(value), sizeof value);
  }
  return packed;
}

Result<void> unpack(std::string_view packed, RunRow& row) {
  ByteReader reader(packed);
  for (auto tags = reader.varint(); tags > 0 && reader.ok(); --tags) row.tags.emplace_back(reader.text());
  for (auto nodes = reader.varint(); nodes > 0 && reader.ok(); --nodes) row.on.emplace_back(reader.text());
  while (reader.ok() && !reader.rest().empty()) {
    std::string name(reader.text());
    row.metrics.emplace_hint(row.metrics.end(), std::move(name), std::bit_cast<double>(reader.fixed(sizeof(double))));
  }
  if (reader.ok()) return {};
  return Error{.kind = ErrorKind::bad_file, .message = fmt::format("the row of run '{}' is damaged", row.id)};
}

constexpr std::string_view kSelectRows =
    "SELECT id, name, kind, state, verdict, study, variant, repeat, ranks, nodes, host, created, started, duration, "
    "packed, key FROM runs";
constexpr int kKeyColumn = 15;
/// Whatever other index a condition could use: else every slice of a list would look at all that this one finds.
constexpr std::string_view kByCreation = " INDEXED BY runs_by_created";

WallTime wall_time(double unix_seconds) {
  return WallTime(std::chrono::milliseconds(std::llround(unix_seconds * 1e3)));
}

/// Columns as `kSelectRows` has them.
Result<RunRow> row_from(const Statement& statement) {
  RunRow row;
  row.id = statement.text(0);
  row.name = statement.text(1);
  row.kind = statement.text(2);
  row.state = run_state_from(statement.text(3)).value_or(RunState::queued);
  row.verdict = verdict_from(statement.text(4)).value_or(Verdict::none);
  row.study = statement.text(5);
  row.variant = statement.text(6);
  row.repeat = static_cast<int>(statement.integer(7));
  row.ranks = static_cast<int>(statement.integer(8));
  row.nodes = static_cast<int>(statement.integer(9));
  row.host = statement.text(10);
  row.created = wall_time(statement.real(11));
  row.started = wall_time(statement.real(12));
  row.duration = Nanos(std::llround(statement.real(13) * 1e9));
  ASSAY_CHECK(unpack(statement.bytes(14), row));
  return row;
}

/// Of the rows that `select` finds: those behind the query's place, in its order, up to its limit.
Result<void> read_rows(Database& database, std::string_view select, const Clause& where, const RunQuery& query,
                       RunPage& page) {
  ASSAY_TRY(const auto order, order_of(query));
  ASSAY_TRY(auto rows, database.prepare(fmt::format("{}{}{} LIMIT ?", select, where.sql, order.sql)));
  int next = bind_all(rows, where.values, 1);
  next = bind_all(rows, order.values, next);
  // One more than wanted says whether there is a next page.
  rows.bind(next, query.limit < 0 ? std::int64_t{-1} : query.limit + 1);

  std::int64_t last_key = 0;
  for (std::int64_t count = 0;; ++count) {
    ASSAY_TRY(const bool found, rows.step());
    if (!found) return {};
    if (query.limit >= 0 && count == query.limit) {
      page.next = count == 0 ? query.after : write_place(place_of(page.rows.back(), query, std::to_string(last_key)));
      return {};
    }
    ASSAY_TRY(auto row, row_from(rows));
    page.rows.push_back(std::move(row));
    last_key = rows.integer(kKeyColumn);
  }
}

/// What fits, behind the query's place.
Result<Clause> where_behind(const RunQuery& query) {
  ASSAY_TRY(auto where, where_of(query));
  if (query.after.empty()) return where;
  ASSAY_TRY(auto after, after_of(query));
  join_clause(where, std::move(after));
  return where;
}

Result<RunPage> page_of(Database& database, const RunQuery& query) {
  ASSAY_TRY(const auto where, where_behind(query));
  RunPage page;
  ASSAY_CHECK(read_rows(database, kSelectRows, where, query, page));
  return page;
}

Result<std::int64_t> count_rows(Database& database, const RunQuery& query) {
  ASSAY_TRY(const auto where, where_of(query));
  ASSAY_TRY(auto count, database.prepare("SELECT count(*) FROM runs" + where.sql));
  bind_all(count, where.values, 1);
  ASSAY_CHECK(count.step());
  return count.integer(0);
}

/// A list by creation is looked through in slices of so many runs: a page ends behind one of them.
constexpr std::int64_t kRunsInASlice = 1000;

/// Where the slice ends that begins where the query does; nothing for the rest of the list.
Result<std::optional<RunPlace>> end_of_slice(Database& database, const RunQuery& query) {
  auto by_creation = query;
  std::erase_if(by_creation.conditions, [](const Condition& condition) { return condition.field != "created"; });
  ASSAY_TRY(const auto where, where_behind(by_creation));
  ASSAY_TRY(const auto order, order_of(query));
  ASSAY_TRY(auto last, database.prepare(fmt::format("SELECT created, key FROM runs{}{}{} LIMIT 1 OFFSET {}",
                                                    kByCreation, where.sql, order.sql, kRunsInASlice - 1)));
  bind_all(last, where.values, 1);
  ASSAY_TRY(const bool found, last.step());
  if (!found) return std::optional<RunPlace>();
  RunRow row;
  row.created = wall_time(last.real(0));
  return std::optional(place_of(row, query, std::to_string(last.integer(1))));
}

/// What fits of one slice, up to the query's limit, with the place behind it.
Result<RunPage> slice_of(Database& database, const RunQuery& query) {
  ASSAY_TRY(const auto end, end_of_slice(database, query));
  ASSAY_TRY(auto where, where_behind(query));
  if (end) {
    ASSAY_TRY(const auto key, key_of(*end));
    join_clause(where, {fmt::format("(created, key) {} (?, ?)", query.descending ? ">=" : "<="), {end->created, key}});
  }
  RunPage page;
  ASSAY_CHECK(read_rows(database, fmt::format("{}{}", kSelectRows, kByCreation), where, query, page));
  if (page.next.empty() && end) page.next = write_place(*end);
  return page;
}

Error too_much_work() {
  return Error{.kind = ErrorKind::usage,
               .message = "this filter would have to look at too many runs",
               .hint = "Add how far back it shall look: created>7d. A list by creation goes on in pages."};
}

/// As many slices as the work allows.
Result<RunPage> slices_of(Database& database, const RunQuery& query, std::int64_t most_work) {
  const WorkLimit limit(database, most_work);
  RunPage page;
  auto rest = query;
  do {
    auto slice = slice_of(database, rest);
    if (!slice.ok()) {
      if (!limit.reached()) return slice;
      if (page.next.empty()) return too_much_work();
      return page;
    }
    std::move(slice->rows.begin(), slice->rows.end(), std::back_inserter(page.rows));
    rest.limit = query.limit - std::ssize(page.rows);
    page.next = rest.after = std::move(slice->next);
  } while (!page.next.empty() && rest.limit > 0);
  return page;
}

}  // namespace

Result<RowWriter> RowWriter::prepare(Database& database) {
  ASSAY_TRY(auto count_change, database.prepare(kCountChange));
  ASSAY_TRY(auto put_run, database.prepare(R"(
    INSERT INTO runs(id, name, kind, state, verdict, study, variant, repeat, ranks, nodes, host, created, started,
      duration, packed, change)
    VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(id) DO UPDATE SET name = excluded.name, kind = excluded.kind, state = excluded.state,
      verdict = excluded.verdict, study = excluded.study, variant = excluded.variant, repeat = excluded.repeat,
      ranks = excluded.ranks, nodes = excluded.nodes, host = excluded.host, created = excluded.created,
      started = excluded.started, duration = excluded.duration, packed = excluded.packed, change = excluded.change
    RETURNING key)"));
  ASSAY_TRY(auto drop_metrics, database.prepare("DELETE FROM run_metrics WHERE run = ?"));
  ASSAY_TRY(auto drop_tags, database.prepare("DELETE FROM run_tags WHERE run = ?"));
  ASSAY_TRY(auto drop_nodes, database.prepare("DELETE FROM run_nodes WHERE run = ?"));
  ASSAY_TRY(auto put_metric, database.prepare("INSERT INTO run_metrics(run, name, value) VALUES(?, ?, ?)"));
  ASSAY_TRY(auto put_tag, database.prepare("INSERT OR IGNORE INTO run_tags(run, tag) VALUES(?, ?)"));
  ASSAY_TRY(auto put_node, database.prepare("INSERT OR IGNORE INTO run_nodes(run, node) VALUES(?, ?)"));
  return RowWriter({.count_change = std::move(count_change),
                    .put_run = std::move(put_run),
                    .drop_metrics = std::move(drop_metrics),
                    .drop_tags = std::move(drop_tags),
                    .drop_nodes = std::move(drop_nodes),
                    .put_metric = std::move(put_metric),
                    .put_tag = std::move(put_tag),
                    .put_node = std::move(put_node)});
}

Result<void> RowWriter::put(const RunRow& row) {
  auto& [count_change, put_run, drop_metrics, drop_tags, drop_nodes, put_metric, put_tag, put_node] = statements_;
  ASSAY_CHECK(count_change.step());
  const auto change = count_change.integer(0);
  count_change.reset();
  put_run.bind(1, row.id).bind(2, row.name).bind(3, row.kind).bind(4, name_of(row.state)).bind(5, name_of(row.verdict));
  put_run.bind(6, row.study).bind(7, row.variant).bind(8, std::int64_t{row.repeat}).bind(9, std::int64_t{row.ranks});
  put_run.bind(10, std::int64_t{row.nodes}).bind(11, row.host).bind(12, unix_seconds(row.created));
  put_run.bind(13, unix_seconds(row.started)).bind(14, seconds_of(row.duration)).bind_bytes(15, pack(row));
  put_run.bind(16, change);
  ASSAY_CHECK(put_run.step());
  const auto key = put_run.integer(0);
  put_run.reset();
  for (Statement* drop : {&drop_metrics, &drop_tags, &drop_nodes}) ASSAY_CHECK(drop->bind(1, key).run());
  for (const auto& [name, value] : row.metrics) {
    ASSAY_CHECK(put_metric.bind(1, key).bind(2, name).bind(3, value).run());
  }
  for (const auto& tag : row.tags) ASSAY_CHECK(put_tag.bind(1, key).bind(2, tag).run());
  for (const auto& node : row.on) ASSAY_CHECK(put_node.bind(1, key).bind(2, node).run());
  return {};
}

Result<RunPage> query_rows(Database& database, const RunQuery& query, std::int64_t most_work) {
  if (query.limit < 0) {
    ASSAY_TRY(auto page, page_of(database, query));
    page.total = std::ssize(page.rows);
    if (query.after.empty()) return page;
    ASSAY_TRY(page.total, count_rows(database, query));
    return page;
  }
  {
    const WorkLimit limit(database, most_work / 2);
    auto page = page_of(database, query);
    if (page.ok()) {
      const bool is_all = query.after.empty() && page->next.empty();
      auto total = is_all ? Result<std::int64_t>(std::ssize(page->rows)) : count_rows(database, query);
      if (!total && !limit.reached()) return std::move(total).error();
      if (total) page->total = *total;
      return page;
    }
    if (!limit.reached()) return page;
  }
  if (query.sort != "created") return too_much_work();
  return slices_of(database, query, most_work / 2);
}

}  // namespace assay
