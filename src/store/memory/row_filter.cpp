#include "store/memory/row_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace assay {
namespace {

using Op = Condition::Op;

Error no_such_field(std::string_view field) {
  return Error{.kind = ErrorKind::usage, .message = fmt::format("runs have no field '{}'", field)};
}

std::string text_of(const RunRow& row, std::string_view field) {
  if (field == "id") return row.id;
  if (field == "name") return row.name;
  if (field == "kind") return row.kind;
  if (field == "state") return std::string(name_of(row.state));
  if (field == "verdict") return std::string(name_of(row.verdict));
  if (field == "study") return row.study;
  if (field == "variant") return row.variant;
  return row.host;
}

/// Nothing for a metric that the run does not have.
std::optional<double> number_of(const RunRow& row, std::string_view field) {
  switch (*run_field_kind(field)) {
    case RunFieldKind::time: return unix_seconds(row.created);
    case RunFieldKind::duration: return seconds_of(row.duration);
    case RunFieldKind::number: return field == "ranks" ? row.ranks : row.nodes;
    default: break;
  }
  const auto metric = row.metrics.find(metric_of(field));
  if (metric == row.metrics.end()) return std::nullopt;
  return metric->second;
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
  if (kind == RunFieldKind::tag) {
    const bool negated = condition.op == Op::not_equal;
    const auto op = negated ? Op::equal : condition.op;
    const bool any = std::any_of(row.tags.begin(), row.tags.end(),
                                 [&](const std::string& tag) { return matches_text(tag, op, condition.text); });
    return any != negated;
  }
  const auto number = number_of(row, condition.field);
  return number && !std::isnan(*number) && compare(*number, condition.op, condition.number);
}

}  // namespace

Result<RunPage> filter_rows(std::vector<RunRow> rows, const RunQuery& query) {
  for (const auto& condition : query.conditions) {
    if (!run_field_kind(condition.field)) return no_such_field(condition.field);
  }
  const auto sort = run_field_kind(query.sort);
  if (!sort || *sort == RunFieldKind::tag) return no_such_field(query.sort);
  std::erase_if(rows, [&](const RunRow& row) {
    return !std::all_of(query.conditions.begin(), query.conditions.end(),
                        [&](const Condition& condition) { return matches(row, condition); });
  });
  std::stable_sort(rows.begin(), rows.end(), [&](const RunRow& a, const RunRow& b) {
    if (*sort == RunFieldKind::text) {
      const auto first = text_of(a, query.sort);
      const auto second = text_of(b, query.sort);
      return query.descending ? second < first : first < second;
    }
    const auto first = number_of(a, query.sort);
    const auto second = number_of(b, query.sort);
    // Runs without the metric come last, whichever way.
    if (!first || !second) return first.has_value() && !second.has_value();
    return query.descending ? *second < *first : *first < *second;
  });
  RunPage page{.rows = {}, .total = static_cast<std::int64_t>(rows.size())};
  const auto begin =
      std::min<std::size_t>(rows.size(), static_cast<std::size_t>(std::max<std::int64_t>(query.offset, 0)));
  auto end = rows.size();
  if (query.limit >= 0) end = std::min(end, begin + static_cast<std::size_t>(query.limit));
  page.rows.assign(std::make_move_iterator(rows.begin() + static_cast<std::ptrdiff_t>(begin)),
                   std::make_move_iterator(rows.begin() + static_cast<std::ptrdiff_t>(end)));
  return page;
}

}  // namespace assay
