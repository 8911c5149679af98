#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "exchange/csv_cell.h"
#include "report/document.h"
#include "report/render.h"
#include "report/text/plain_text.h"

namespace assay {
namespace {

std::vector<const FigureTable*> tables_of(const Document& document) {
  std::vector<const FigureTable*> tables;
  for (const auto& section : document.sections) {
    for (const auto& block : section.blocks) {
      if (const auto* table = std::get_if<FigureTable>(&block)) tables.push_back(table);
    }
  }
  return tables;
}

void append_table(std::string& out, const FigureTable& table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i) out += ',';
    append_csv_cell(out, table.columns[i].key);
  }
  out += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i) out += ',';
      append_csv_cell(out, row[i].text);
    }
    // A line with nothing in it would be read as no record at all.
    if (row.size() == 1 && row[0].text.empty()) out += "\"\"";
    out += '\n';
  }
}

Error no_such_table(std::string_view name, const std::vector<const FigureTable*>& tables) {
  std::vector<std::string> ids;
  ids.reserve(tables.size());
  for (const auto* table : tables) ids.push_back(table->id);
  if (ids.empty()) return Error{.kind = ErrorKind::not_found, .message = "this report has no table to write as CSV"};
  const auto meant = nearest(name, ids);
  return Error{
      .kind = ErrorKind::not_found,
      .message = fmt::format("this report has no table '{}'", clean_line(name)),
      .hint = fmt::format("{}It has: {}.", meant ? fmt::format("Did you mean '{}'? ", *meant) : "", join(ids, ", "))};
}

}  // namespace

Result<std::string> render_csv(const Document& document, std::string_view table) {
  const auto tables = tables_of(document);
  std::string out;
  if (!table.empty()) {
    for (const auto* one : tables) {
      if (one->id != table) continue;
      append_table(out, *one);
      return out;
    }
    return no_such_table(table, tables);
  }
  if (tables.empty()) return no_such_table(table, tables);
  for (const auto* one : tables) {
    if (!out.empty()) out += '\n';
    if (tables.size() > 1)
      out += fmt::format("# {}\n", clean_line(one->title.empty() ? one->id : one->id + ": " + one->title));
    append_table(out, *one);
  }
  return out;
}

}  // namespace assay
