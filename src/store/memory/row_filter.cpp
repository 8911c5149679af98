#include "store/memory/row_filter.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "store/run_place.h"

namespace assay {
namespace {

using Op = Condition::Op;

Error no_such_field(std::string_view field) {
  return Error{.kind = ErrorKind::usage, .message = fmt::format("runs have no field '{}'", field)};
}

template <typename T>
bool compare(const T& value, Op op, const T& with) {
  switch (op) {
    case Op::equal: return value == with;
    case Op::not_equal: return value != with;
    case Op::less: return value < with;
    case Op::less_equal: return value <= with;
    case Op::greater: return value > with;
    case Op::greater_equal: return value >= with;
    default: return false;
  }
}

bool matches_text(const std::string& value, Op op, const std::string& text) {
  if (op == Op::contains) return lower_case(value).find(lower_case(text)) != std::string::npos;
  if (op == Op::starts_with) return value.starts_with(text);
  return compare(value, op, text);
}

bool matches(const RunRow& row, const Condition& condition) {
  const auto kind = *run_field_kind(condition.field);
  if (kind == RunFieldKind::text) return matches_text(text_of(row, condition.field), condition.op, condition.text);
  if (kind == RunFieldKind::several) {
    const bool negated = condition.op == Op::not_equal;
    const auto op = negated ? Op::equal : condition.op;
    const bool any = std::ranges::any_of(values_of(row, condition.field), [&](const std::string& value) {
      return matches_text(value, op, condition.text);
    });
    return any != negated;
  }
  const auto number = number_of(row, condition.field);
  return number && compare(*number, condition.op, condition.number);
}

}  // namespace

Result<RunPage> filter_rows(std::vector<RunRow> rows, const RunQuery& query) {
  for (const auto& condition : query.conditions) {
    if (!run_field_kind(condition.field)) return no_such_field(condition.field);
  }
  const auto sort = run_field_kind(query.sort);
  if (!sort || *sort == RunFieldKind::several) return no_such_field(query.sort);
  std::erase_if(rows, [&](const RunRow& row) {
    return !std::all_of(query.conditions.begin(), query.conditions.end(),
                        [&](const Condition& condition) { return matches(row, condition); });
  });
  const auto place_in_list = [&](const RunRow& row) { return place_of(row, query, row.id); };
  std::sort(rows.begin(), rows.end(), [&](const RunRow& a, const RunRow& b) {
    return precedes(place_in_list(a), place_in_list(b), query.descending);
  });
  RunPage page{.rows = {}, .total = static_cast<std::int64_t>(rows.size()), .next = {}};
  if (!query.after.empty()) {
    ASSAY_TRY(const auto begin, read_place(query));
    std::erase_if(rows, [&](const RunRow& row) { return !precedes(begin, place_in_list(row), query.descending); });
  }
  if (query.limit >= 0 && static_cast<std::size_t>(query.limit) < rows.size()) {
    rows.resize(static_cast<std::size_t>(query.limit));
    page.next = rows.empty() ? query.after : write_place(place_in_list(rows.back()));
  }
  page.rows = std::move(rows);
  return page;
}

}  // namespace assay
