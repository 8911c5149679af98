#include "store/cluster/rows.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay {

std::string text_of_values(const std::map<std::string, double>& values) {
  json::object object;
  for (const auto& [name, value] : values) object[name] = finite(value);
  return json::serialize(object);
}

std::map<std::string, double> values_in(std::string_view text) {
  std::map<std::string, double> values;
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return values;
  for (const auto& [name, value] : parsed->as_object()) {
    values[name] = value.is_number() ? value.to_number<double>() : std::numeric_limits<double>::quiet_NaN();
  }
  return values;
}

std::string selected(const RevisedTable& table) { return join(table.columns, ", ") + ", revision"; }

Result<Statement> prepare_put(Database& database, const RevisedTable& table, Revision expected) {
  std::string places;
  for (std::size_t i = 0; i < table.columns.size(); ++i) places += fmt::format("?{}, ", i + 1);
  if (expected == 0) {
    return database.prepare(fmt::format("INSERT OR IGNORE INTO {} ({}) VALUES ({}1) RETURNING revision", table.name,
                                        selected(table), places));
  }
  std::string changes;
  for (std::size_t i = 1; i < table.columns.size(); ++i) changes += fmt::format("{} = ?{}, ", table.columns[i], i + 1);
  return database.prepare(
      fmt::format("UPDATE {} SET {}revision = revision + 1 WHERE {} = ?1 AND revision = ?{} "
                  "RETURNING revision",
                  table.name, changes, table.columns[0], table.columns.size() + 1));
}

Result<Revision> run_put(Statement& statement, const RevisedTable& table, Revision expected, std::string_view row) {
  if (expected != 0) statement.bind(static_cast<int>(table.columns.size()) + 1, expected);
  ASSAY_TRY(const bool done, statement.step());
  const Revision revision = done ? statement.integer(0) : 0;
  statement.reset();
  if (done) return revision;
  return Error{.kind = ErrorKind::busy,
               .message = fmt::format("somebody else has just changed the {} '{}'", table.name, row),
               .hint = "Look at it again, then repeat what is still wanted."};
}

Error no_such_row(std::string_view what, std::string_view name) {
  return {.kind = ErrorKind::not_found, .message = fmt::format("there is no {} '{}'", what, name)};
}

}  // namespace assay
