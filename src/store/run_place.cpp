#include "store/run_place.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>

#include "base/hash.h"
#include "base/json.h"

namespace assay {
namespace {

Error no_place() {
  return Error{.kind = ErrorKind::usage,
               .message = "'after' must be the 'next' of another page of the same list in the same order"};
}

std::string order_of_list(const RunQuery& query) { return (query.descending ? "-" : "") + query.sort; }

/// As text, since JSON has no infinity, which a metric may be.
Result<double> read_exactly(const std::string& text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || std::isnan(number)) return no_place();
  return number;
}

Result<std::string> bytes_of(std::string_view digits) {
  if (digits.size() % 2 != 0) return no_place();
  std::string bytes;
  for (std::size_t at = 0; at < digits.size(); at += 2) {
    unsigned char byte = 0;
    const auto* const end = digits.data() + at + 2;
    const auto read = std::from_chars(digits.data() + at, end, byte, 16);
    if (read.ec != std::errc() || read.ptr != end) return no_place();
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace

RunPlace place_of(const RunRow& row, const RunQuery& query, std::string tie) {
  RunPlace place{.order = order_of_list(query),
                 .text = {},
                 .number = {},
                 .created = unix_seconds(row.created),
                 .tie = std::move(tie)};
  if (run_field_kind(query.sort) == RunFieldKind::text) {
    place.text = text_of(row, query.sort);
  } else {
    place.number = number_of(row, query.sort);
  }
  return place;
}

bool precedes(const RunPlace& place, const RunPlace& other, bool descending) {
  const auto compare = [&](const auto& one, const auto& two) { return descending ? two < one : one < two; };
  if (place.text != other.text) return compare(place.text, other.text);
  if (place.number != other.number) {
    // Runs without the metric come last, whichever way.
    if (!place.number || !other.number) return place.number.has_value();
    return compare(*place.number, *other.number);
  }
  if (place.created != other.created) return other.created < place.created;
  return compare(place.tie, other.tie);
}

std::string write_place(const RunPlace& place) {
  json::object object{{"order", place.order}, {"created", fmt::format("{}", place.created)}, {"tie", place.tie}};
  if (place.text) object["text"] = *place.text;
  if (place.number) object["number"] = fmt::format("{}", *place.number);
  const auto text = json::serialize(object);
  return hexadecimal(std::span(reinterpret_cast<const unsigned char*>(text.data()), text.size()));
}

Result<RunPlace> read_place(const RunQuery& query) {
  ASSAY_TRY(const auto text, bytes_of(query.after));
  const auto value = parse_json(text);
  if (!value) return no_place();
  JsonFields fields(*value, "place");
  RunPlace place{.order = fields.text("order"), .text = {}, .number = {}, .tie = fields.text("tie")};
  const auto created = fields.text("created");
  const bool is_text = run_field_kind(query.sort) == RunFieldKind::text;
  if (is_text) place.text = fields.text("text");
  const bool has_number = !is_text && fields.find("number") != nullptr;
  const auto number = has_number ? fields.text("number") : std::string();
  if (!fields.finish().ok() || place.order != order_of_list(query)) return no_place();
  ASSAY_TRY(place.created, read_exactly(created));
  if (has_number) {
    ASSAY_TRY(place.number, read_exactly(number));
  }
  return place;
}

}  // namespace assay
