#include "store/sqlite/repair.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>

#include "base/ids.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::array<const char*, 4> kSuffixes = {"", "-wal", "-shm", "-journal"};
constexpr const char* kMostProblems = "PRAGMA integrity_check(5)";

std::string sql_name(std::string_view name) {
  std::string text = "\"";
  for (const char character : name) {
    if (character == '"') text += '"';
    text += character;
  }
  return text + '"';
}

fs::path with_suffix(const fs::path& file, const char* suffix) { return file.string() + suffix; }

/// In words, at most a few; whatever else went wrong is an error.
Result<std::vector<std::string>> problems_of(const fs::path& file) {
  std::vector<std::string> problems;
  const auto look = [&]() -> Result<void> {
    ASSAY_TRY(auto database, Database::open(file.string()));
    ASSAY_CHECK(database.execute("PRAGMA cell_size_check = ON"));
    ASSAY_TRY(auto check, database.prepare(kMostProblems));
    for (;;) {
      ASSAY_TRY(const bool row, check.step());
      if (!row) return {};
      auto text = check.text(0);
      std::replace(text.begin(), text.end(), '\n', ' ');
      if (text != "ok") problems.push_back(std::move(text));
    }
  };
  if (const auto looked = look(); !looked) {
    if (looked.error().kind != ErrorKind::bad_file) return looked.error();
    problems.push_back(looked.error().message);
  }
  return problems;
}

struct TableInfo {
  std::string name;
  std::string sql;
};

/// Copies the rows of one table that can be read.
class TableSalvage {
 public:
  TableSalvage(Database& damaged, Database& fresh, std::string name)
      : damaged_(damaged), fresh_(fresh), name_(std::move(name)) {}

  Result<SalvagedTable> run() {
    ASSAY_CHECK(prepare());
    return key_.empty() ? both_ways() : by_key();
  }

 private:
  /// Tables that go by a number are read from any number on; others from both ends.
  Result<void> prepare() {
    ASSAY_TRY(auto columns, fresh_.prepare(fmt::format("PRAGMA table_info({})", sql_name(name_))));
    std::string places;
    std::string first_key_type;
    std::map<std::int64_t, std::string> by_rank;
    for (;;) {
      ASSAY_TRY(const bool row, columns.step());
      if (!row) break;
      places += places.empty() ? "?" : ", ?";
      ++columns_;
      const auto rank = columns.integer(5);
      if (rank == 1) {
        key_ = sql_name(columns.text(1));
        first_key_type = columns.text(2);
      }
      if (rank > 0) by_rank[rank] = sql_name(columns.text(1));
    }
    for (const auto& [rank, column] : by_rank) order_.push_back(column);
    if (fresh_.prepare(fmt::format("SELECT rowid FROM {}", sql_name(name_))).ok()) {
      key_ = "rowid";
      order_ = {"rowid"};
    } else if (first_key_type != "INTEGER") {
      key_.clear();
    }
    ASSAY_TRY(auto insert,
              fresh_.prepare(fmt::format("INSERT OR IGNORE INTO {} VALUES ({})", sql_name(name_), places)));
    insert_.emplace(std::move(insert));
    return {};
  }

  Result<Statement> select(const std::string& key, const std::string& rest) {
    return damaged_.prepare(fmt::format("SELECT {}, * FROM {} NOT INDEXED {}", key, sql_name(name_), rest));
  }

  Result<void> keep(const Statement& row) {
    for (int column = 0; column < columns_; ++column) insert_->bind_column(column + 1, row, column + 1);
    ASSAY_CHECK(insert_->run());
    ++table_.rows;
    return {};
  }

  Result<SalvagedTable> by_key() {
    table_.name = name_;
    ASSAY_TRY(auto rows, select(key_, fmt::format("WHERE {} >= ? ORDER BY {}", key_, ordered("ASC"))));
    const auto read_from = [&](std::int64_t key) {
      rows.reset();
      rows.bind(1, key);
      return rows.step();
    };
    std::int64_t reached = std::numeric_limits<std::int64_t>::min();
    auto more = read_from(reached);
    for (;;) {
      for (; more.ok() && *more; more = rows.step()) {
        reached = rows.integer(0);
        ASSAY_CHECK(keep(rows));
      }
      if (more.ok()) break;
      if (more.error().kind != ErrorKind::bad_file) return more.error();
      table_.whole = false;
      const auto next = next_readable(reached, [&](std::int64_t key) { return read_from(key).ok(); });
      rows.reset();
      ASSAY_CHECK(backwards(reached, next.value_or(std::numeric_limits<std::int64_t>::max())));
      if (!next) break;
      more = read_from(*next);
    }
    return counted();
  }

  /// The first number after one that cannot be read past; nothing if there is none.
  static std::optional<std::int64_t> next_readable(std::int64_t reached,
                                                   const std::function<bool(std::int64_t)>& readable) {
    std::int64_t unreadable = std::max<std::int64_t>(reached, -1);
    for (std::int64_t step = 1; step < (std::int64_t{1} << 61); step *= 2) {
      if (unreadable > std::numeric_limits<std::int64_t>::max() - step) return std::nullopt;
      std::int64_t found = unreadable + step;
      if (!readable(found)) continue;
      std::int64_t low = unreadable + step / 2;
      while (found - low > 1) {
        const std::int64_t middle = low + (found - low) / 2;
        (readable(middle) ? found : low) = middle;
      }
      return found;
    }
    return std::nullopt;
  }

  /// What follows the damage in the same stretch of keys: a key may have rows on many pages. Until the damage again.
  Result<void> backwards(std::int64_t from, std::int64_t before) {
    if (key_ == "rowid") return {};
    ASSAY_TRY(auto rows, select(key_, fmt::format("WHERE {0} >= ?1 AND {0} < ?2 ORDER BY {1}", key_, ordered("DESC"))));
    rows.bind(1, from).bind(2, before);
    for (;;) {
      const auto more = rows.step();
      if (!more.ok() && more.error().kind != ErrorKind::bad_file) return more.error();
      if (!more.ok() || !*more) return {};
      ASSAY_CHECK(keep(rows));
    }
  }

  std::string ordered(const std::string& direction) const {
    std::vector<std::string> columns;
    for (const auto& column : order_) columns.push_back(fmt::format("{} {}", column, direction));
    return join(columns, ", ");
  }

  Result<SalvagedTable> both_ways() {
    table_.name = name_;
    for (const char* direction : {"ASC", "DESC"}) {
      ASSAY_TRY(auto rows, select("1", fmt::format("ORDER BY {}", ordered(direction))));
      for (;;) {
        const auto more = rows.step();
        if (more.ok() && !*more) return counted();
        if (!more.ok() && more.error().kind != ErrorKind::bad_file) return more.error();
        if (!more.ok()) break;
        ASSAY_CHECK(keep(rows));
      }
      table_.whole = false;
    }
    return counted();
  }

  Result<SalvagedTable> counted() {
    ASSAY_TRY(table_.rows, fresh_.number(fmt::format("SELECT count(*) FROM {}", sql_name(name_))));
    return table_;
  }

  Database& damaged_;
  Database& fresh_;
  const std::string name_;
  std::string key_;                 ///< of numbers; empty: there is none
  std::vector<std::string> order_;  ///< the columns by which rows lie in the file
  int columns_ = 0;
  std::optional<Statement> insert_;
  SalvagedTable table_;
};

Result<std::vector<TableInfo>> schema_of_damaged(Database& database, std::string_view types) {
  ASSAY_TRY(auto rows, database.prepare(fmt::format("SELECT name, sql FROM sqlite_schema WHERE type IN ({}) AND "
                                                    "sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
                                                    types)));
  std::vector<TableInfo> found;
  for (;;) {
    ASSAY_TRY(const bool row, rows.step());
    if (!row) return found;
    found.push_back({rows.text(0), rows.text(1)});
  }
}

/// How a database is laid out must be said before there is a table in it.
Result<void> copy_settings(Database& from, Database& to) {
  for (const char* name : {"page_size", "auto_vacuum", "user_version"}) {
    ASSAY_TRY(const auto value, from.number(fmt::format("PRAGMA {}", name)));
    ASSAY_CHECK(to.execute(fmt::format("PRAGMA {} = {}", name, value)));
  }
  return {};
}

Result<std::vector<SalvagedTable>> salvage_into(const fs::path& path, const fs::path& damaged_path,
                                                const FinishSalvage& finish) {
  // Two connections: what one has met damage with, SQLite lets write nothing more.
  ASSAY_TRY(auto damaged, Database::open(damaged_path.string()));
  ASSAY_CHECK(damaged.execute("PRAGMA cell_size_check = ON; PRAGMA query_only = 1"));
  ASSAY_TRY(auto fresh, Database::open(path.string()));
  ASSAY_CHECK(copy_settings(damaged, fresh));
  ASSAY_TRY(const auto tables, schema_of_damaged(damaged, "'table'"));
  ASSAY_TRY(const auto others, schema_of_damaged(damaged, "'index', 'trigger', 'view'"));
  std::vector<SalvagedTable> salvaged;
  ASSAY_TRY(auto transaction, Transaction::begin(fresh));
  for (const auto& table : tables) {
    ASSAY_CHECK(fresh.execute(table.sql));
    ASSAY_TRY(auto kept, TableSalvage(damaged, fresh, table.name).run());
    salvaged.push_back(std::move(kept));
  }
  for (const auto& other : others) ASSAY_CHECK(fresh.execute(other.sql));
  if (finish) ASSAY_CHECK(finish(fresh, salvaged));
  ASSAY_CHECK(transaction.commit());
  return salvaged;
}

void remove_database(const fs::path& file) {
  for (const char* suffix : kSuffixes) {
    std::error_code ignored;
    fs::remove(with_suffix(file, suffix), ignored);
  }
}

Result<void> move_aside(const fs::path& file, const fs::path& aside) {
  for (const char* suffix : kSuffixes) {
    if (::rename(with_suffix(file, suffix).c_str(), with_suffix(aside, suffix).c_str()) != 0 && errno != ENOENT) {
      return system_error(errno, fmt::format("cannot move '{}' aside", with_suffix(file, suffix).string()));
    }
  }
  return {};
}

/// Root mends what is not root's.
Result<void> give_to(const struct stat& owner, const fs::path& file) {
  if (::geteuid() == 0 && ::chown(file.c_str(), owner.st_uid, owner.st_gid) != 0) {
    return system_error(errno, fmt::format("cannot give '{}' to its owner", file.string()));
  }
  if (::chmod(file.c_str(), owner.st_mode & 07777) != 0) {
    return system_error(errno, fmt::format("cannot set the mode of '{}'", file.string()));
  }
  return {};
}

}  // namespace

Result<DatabaseRepair> repair_database(const fs::path& file, bool mend, const FinishSalvage& finish) {
  DatabaseRepair repair;
  struct stat owner{};
  if (::stat(file.c_str(), &owner) != 0) {
    if (errno == ENOENT) return repair;
    return system_error(errno, fmt::format("cannot look at '{}'", file.string()));
  }
  ASSAY_TRY(repair.problems, problems_of(file).within(fmt::format("looking at '{}'", file.string())));
  if (repair.problems.empty() || !mend) return repair;
  const std::string id = new_id();
  const fs::path fresh = fmt::format("{}.mended-{}", file.string(), id);
  auto salvaged = salvage_into(fresh, file, finish);
  if (!salvaged) {
    remove_database(fresh);
    if (salvaged.error().kind != ErrorKind::bad_file) {
      return std::move(salvaged).within(fmt::format("mending '{}'", file.string())).error();
    }
  }
  repair.aside = fmt::format("{}.damaged-{}", file.string(), id);
  ASSAY_CHECK(move_aside(file, repair.aside));
  if (!salvaged) return repair;
  ASSAY_CHECK(give_to(owner, fresh));
  if (::rename(fresh.c_str(), file.c_str()) != 0) return system_error(errno, "cannot rename the mended database");
  repair.salvaged = std::move(*salvaged);
  return repair;
}

}  // namespace assay
