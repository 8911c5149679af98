#include "exchange/exact_json.h"

#include <fmt/format.h>

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>

namespace assay {
namespace {

constexpr std::size_t kMaxDepth = 32;

/// Builds the value as Boost.JSON's own handler does, but reads fractions itself.
class ExactHandler {
 public:
  // The names and types are those that basic_parser calls.
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  json::value release() { return stack_.release(); }

  bool on_document_begin(json::error_code&) {
    stack_.reset();
    return true;
  }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) { return true; }
  bool on_object_end(std::size_t members, json::error_code&) {
    stack_.push_object(members);
    return true;
  }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(std::size_t items, json::error_code&) {
    stack_.push_array(items);
    return true;
  }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    stack_.push_key(part);
    return true;
  }
  bool on_string_part(json::string_view part, std::size_t, json::error_code&) {
    stack_.push_chars(part);
    return true;
  }
  bool on_string(json::string_view part, std::size_t, json::error_code&) {
    stack_.push_string(part);
    return true;
  }
  bool on_number_part(json::string_view part, json::error_code&) {
    number_ += std::string_view(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t number, json::string_view, json::error_code&) {
    number_.clear();
    stack_.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, json::string_view, json::error_code&) {
    number_.clear();
    stack_.push_uint64(number);
    return true;
  }
  bool on_double(double number, json::string_view part, json::error_code&) {
    number_ += std::string_view(part.data(), part.size());
    double exact = 0;
    const auto [end, code] = std::from_chars(number_.data(), number_.data() + number_.size(), exact);
    stack_.push_double(code == std::errc() ? exact : number);
    number_.clear();
    return true;
  }
  bool on_bool(bool value, json::error_code&) {
    stack_.push_bool(value);
    return true;
  }
  bool on_null(json::error_code&) {
    stack_.push_null();
    return true;
  }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  json::value_stack stack_;
  std::string number_;  ///< the text of the number at hand
};

/// The text with Python's words for what JSON has not replaced by null. Empty if there are none.
std::string without_python_words(std::string_view text, std::int64_t& replaced) {
  std::string clean;
  std::size_t copied = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c != 'N' && c != 'I' && c != '-') continue;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"}) {
      if (!text.substr(i).starts_with(word)) continue;
      clean += text.substr(copied, i - copied);
      clean += "null";
      i += word.size() - 1;
      copied = i + 1;
      ++replaced;
      break;
    }
  }
  if (replaced > 0) clean += text.substr(copied);
  return clean;
}

Error bad_json(std::size_t at, const std::string& why) {
  return Error{.kind = ErrorKind::bad_file, .message = fmt::format("not valid JSON at byte {}: {}", at, why)};
}

}  // namespace

Result<ImportedJson> parse_exact_json(std::string_view text) {
  ImportedJson result;
  const std::string clean = without_python_words(text, result.non_finite);
  if (result.non_finite > 0) text = clean;

  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<ExactHandler> parser(options);
  json::error_code code;
  // "false": the whole document is here.
  const std::size_t used = parser.write_some(false, text.data(), text.size(), code);
  if (code) return bad_json(used, code.message());
  if (text.find_first_not_of(" \t\r\n", used) != std::string_view::npos) return bad_json(used, "extra text");
  result.value = parser.handler().release();
  return result;
}

}  // namespace assay
