#pragma once

#include <boost/json.hpp>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

namespace json = boost::json;

/// Parses one JSON document; at most 32 levels deep. The error says where in the text.
Result<json::value> parse_json(std::string_view text);
/// The same for what people write: a key that stands twice in one object is an error, since only one of its values
/// could count.
Result<json::value> parse_json_strictly(std::string_view text);

/// JSON has no NaN or infinity: they become null (the caller adds a flag where that matters).
inline json::value finite(double number) { return std::isfinite(number) ? json::value(number) : json::value(nullptr); }

/// Indented, keys in their given order, final newline: for files that people read and diff.
std::string pretty_json(const json::value& value);

/// Reads the fields of one JSON object that came from outside. The first problem is kept and every later
/// read gives a default, so a reader can be written straight down and checked once with `finish()`. Keys that nobody
/// asks for are passed over: a newer program may have written them.
class JsonFields {
 public:
  /// `what` names the object in messages: "run.json".
  JsonFields(const json::value& value, std::string what);

  std::string text(std::string_view key);
  std::string text_or(std::string_view key, std::string_view fallback);
  std::int64_t integer(std::string_view key);
  std::int64_t integer_or(std::string_view key, std::int64_t fallback);
  int small_integer(std::string_view key);  ///< one that does not fit is an error
  int small_integer_or(std::string_view key, int fallback);
  double number(std::string_view key);  ///< null is NaN, see `finite`
  double number_or(std::string_view key, double fallback);
  bool boolean_or(std::string_view key, bool fallback);
  /// The nested value, or null when it is absent.
  const json::value* find(std::string_view key) const;
  /// Iterates nothing when absent; a wrong type is an error.
  const json::array& array_or_empty(std::string_view key);
  const json::object& object_or_empty(std::string_view key);
  /// A list, an object of strings; anything else in them is an error.
  std::vector<std::string> texts_or_empty(std::string_view key);
  std::map<std::string, std::string> text_map_or_empty(std::string_view key);

  /// Notes a problem of the caller's own finding: `run: 'state' is not queued, running or ended`.
  void fail(std::string_view key, std::string_view rule);
  Result<void> finish();

 private:
  const json::value* need(std::string_view key);

  const json::object* object_ = nullptr;
  std::string what_;
  std::optional<Error> error_;
};

/// A file or message carries `"schema": N`. An older one is read, a newer one is a clear error.
Result<int> check_schema(const json::value& value, int newest, std::string_view what);

}  // namespace assay
