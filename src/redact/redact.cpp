#include "redact/redact.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "redact/secret_names.h"
#include "redact/token_shapes.h"

namespace assay {
namespace {

bool is_name_character(char c) { return is_url_safe(c) || c == '.'; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_line_end(char c) { return c == '\n' || c == '\r'; }
bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }

bool contains_letter_and_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit) && std::any_of(text.begin(), text.end(), is_letter);
}

/// A stretch of the text that is to be replaced.
struct Span {
  std::size_t begin;
  std::size_t end;
};

/// Goes over the text once. Every look ahead is bounded, or is over text that is then skipped or looked at a fixed
/// number of times more, so that the whole takes linear time.
class Redactor {
 public:
  explicit Redactor(std::string_view text) : text_(text) {}

  std::string run() {
    while (at_ < text_.size()) {
      const auto end = secret_end();
      if (!end) {
        // Nothing starts in the middle of a word.
        do {
          ++at_;
        } while (at_ < text_.size() && is_word(text_[at_]) && is_word(text_[at_ - 1]));
        continue;
      }
      result_.append(text_, after_secret_, at_ - after_secret_);
      result_.append(kRedacted);
      after_secret_ = at_ = *end;
    }
    result_.append(text_, after_secret_);
    return std::move(result_);
  }

 private:
  /// The end of the secret that starts here, if one does. Also notes the secrets that are announced here, such as the
  /// value of a name: the text up to them is gone through like any other.
  std::optional<std::size_t> secret_end() {
    for (auto* announced : {&named_value_, &url_password_}) {
      if (!*announced || (*announced)->begin > at_) continue;
      const Span span = *std::exchange(*announced, std::nullopt);
      if (span.end > at_) return span.end;
    }
    const char c = text_[at_];
    if (c == ':') note_url_password();
    if (c == '-') {
      if (const auto end = private_key_end(text_, at_)) return end;
    }
    if (!is_letter(c) && c != '-' && c != '_' && c != '.') return std::nullopt;
    // What follows a replaced secret starts a word, as it will when the result is read again.
    const char before = at_ == after_secret_ ? ' ' : text_[at_ - 1];
    if (!is_url_safe(before)) {
      if (const auto end = token_shape_end(text_, at_)) return end;
    }
    if (!is_name_character(before) && !named_value_) {
      named_value_ = named_secret();
      if (named_value_ && named_value_->begin == named_value_->end) named_value_.reset();
    }
    return std::nullopt;
  }

  /// Remembers where the password of `scheme://user:password@host` is, when one starts here.
  void note_url_password() {
    if (text_.substr(at_, 3) != "://" || at_ == after_secret_ || !is_letter(text_[at_ - 1])) return;
    const std::size_t begin = at_ + 3;
    std::size_t end = begin;
    std::optional<std::size_t> colon, at_sign;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      if (c == '/' || c == '?' || c == '#' || is_blank(c) || is_line_end(c) || c == '"' || c == '\'' || c == '<') break;
      if (another_secret_at(end)) break;
      if (c == ':' && !colon) colon = end;
      if (c == '@') at_sign = end;
    }
    if (colon && at_sign && *colon + 1 < *at_sign) url_password_ = Span{*colon + 1, *at_sign};
  }

  /// `name = value`, `"name": "value"`, `--name value`, `Authorization: Bearer value`, `Bearer value`.
  std::optional<Span> named_secret() {
    // Behind a replaced secret the rest of a long row of name characters is looked at again, but not read again.
    if (name_end_ <= at_) name_end_ = at_;
    while (name_end_ < text_.size() && is_name_character(text_[name_end_])) ++name_end_;
    const std::size_t end = name_end_;
    const std::string_view name = text_.substr(at_, end - at_);
    if (name == "Bearer" || name == "bearer") return bearer_token(end);
    const auto value = value_after_sign(end);
    if (!value && !name.starts_with("--")) return std::nullopt;
    const bool header = name.size() <= 32 && lower_case(name).ends_with("authorization");
    const NameVerdict verdict = header ? NameVerdict::maybe : judge_name(name);
    if (verdict == NameVerdict::plain) return std::nullopt;
    if (!value) return value_after_blank(name, end);
    return header ? authorization(name, *value) : judged(name, verdict, *value);
  }

  struct Value {
    std::size_t begin;
    std::string_view quote;  ///< what it is enclosed in; empty without
    char sign;               ///< '=' or ':'
  };

  /// Where the value starts after a name that ended at `at` and an equals sign or colon.
  std::optional<Value> value_after_sign(std::size_t at) const {
    at += quote_at(at).size();
    at = skip_blanks(at);
    if (at >= text_.size() || (text_[at] != '=' && text_[at] != ':')) return std::nullopt;
    const char sign = text_[at++];
    if (at < text_.size() && sign == ':' && text_[at] == '=') ++at;
    if (at < text_.size() && sign == '=' && text_[at] == '>') ++at;
    // A comparison, a C++ scope, a URL.
    if (at < text_.size() && (text_[at] == '=' || text_[at] == ':' || text_.substr(at, 2) == "//")) return std::nullopt;
    at = skip_blanks(at);
    const auto quote = quote_at(at);
    return Value{at + quote.size(), quote, sign};
  }

  std::size_t skip_blanks(std::size_t at) const {
    constexpr std::size_t kMost = 16;
    const std::size_t limit = std::min(text_.size(), at + kMost);
    while (at < limit && is_blank(text_[at])) ++at;
    return at;
  }

  /// A quotation mark, or one behind a backslash as in JSON inside of JSON.
  std::string_view quote_at(std::size_t at) const {
    if (at < text_.size() && is_quote(text_[at])) return text_.substr(at, 1);
    if (at + 1 < text_.size() && text_[at] == '\\' && is_quote(text_[at + 1])) return text_.substr(at, 2);
    return {};
  }

  std::optional<Span> judged(std::string_view name, NameVerdict verdict, const Value& value) {
    const Span span{value.begin, value.quote.empty() ? plain_end(value.begin) : quoted_end(value)};
    if (is_harmless_value(name, text_.substr(span.begin, span.end - span.begin))) return std::nullopt;
    // `token: word` is as often prose as YAML.
    if (verdict == NameVerdict::maybe && value.sign == ':' && !looks_random(span, value.quote.empty())) {
      return std::nullopt;
    }
    return span;
  }

  bool looks_random(const Span& span, bool plain) const {
    constexpr std::size_t kShortest = 8;
    if (span.end - span.begin < kShortest) return false;
    if (!plain) return contains_letter_and_digit(text_.substr(span.begin, span.end - span.begin));
    return plain_.last_digit > span.begin && plain_.last_letter > span.begin && !url_at(span.begin);
  }

  bool url_at(std::size_t at) const {
    constexpr std::size_t kLongestScheme = 16;
    const std::size_t limit = std::min(text_.size(), at + kLongestScheme);
    const std::size_t begin = at;
    while (at < limit && text_[at] >= 'a' && text_[at] <= 'z') ++at;
    return at > begin && text_.substr(at, 3) == "://";
  }

  /// The end of a value without quotation marks: a blank, or a comma or ampersand before the next `name=`. Brackets
  /// and full stops at its end belong to the text around it.
  std::size_t plain_end(std::size_t begin) {
    if (text_.substr(begin).starts_with(kRedacted)) return begin + kRedacted.size();
    if (begin < plain_.begin || begin > plain_.end) read_plain(begin);
    constexpr std::size_t kMostTrimmed = 16;
    const std::size_t least = std::max(begin, plain_.end - std::min(plain_.end, kMostTrimmed));
    std::size_t end = plain_.end;
    while (end > least && std::string_view(",;:&.)]}>").find(text_[end - 1]) != std::string_view::npos) --end;
    return end;
  }

  void read_plain(std::size_t begin) {
    plain_ = {.begin = begin, .end = begin};
    for (auto& at = plain_.end; at < text_.size(); ++at) {
      const char c = text_[at];
      if (is_blank(c) || is_line_end(c) || is_quote(c) || another_secret_at(at)) break;
      if ((c == ',' || c == ';' || c == '&') && name_and_equals_at(at + 1)) break;
      // Positions plus one, so that 0 can say never.
      if (is_digit(c)) plain_.last_digit = at + 1;
      if (is_letter(c)) plain_.last_letter = at + 1;
    }
  }

  /// Values end where a private key starts, which has its own end, and where one was replaced before.
  bool another_secret_at(std::size_t at) const {
    return (text_[at] == '-' && starts_private_key(text_, at)) ||
           (text_[at] == '[' && text_.substr(at).starts_with(kRedacted));
  }

  bool name_and_equals_at(std::size_t at) const {
    constexpr std::size_t kLongest = 64;
    const std::size_t begin = at;
    const std::size_t limit = std::min(text_.size(), at + kLongest);
    while (at < limit && is_url_safe(text_[at])) ++at;
    return at > begin && at < text_.size() && text_[at] == '=';
  }

  /// The closing quotation mark, or the end of the line.
  std::size_t quoted_end(const Value& value) const {
    const char mark = value.quote.back();
    std::size_t end = value.begin;
    if (text_.substr(end).starts_with(kRedacted)) return end + kRedacted.size();
    for (; end < text_.size() && !is_line_end(text_[end]); ++end) {
      if (text_[end] == mark || another_secret_at(end)) return end;
      if (text_[end] != '\\') continue;
      if (value.quote.size() == 2 && end + 1 < text_.size() && text_[end + 1] == mark) return end;
      if (end + 1 < text_.size() && !is_line_end(text_[end + 1])) ++end;
    }
    return end;
  }

  /// After a known scheme, the rest of the line or of the quotation.
  std::optional<Span> authorization(std::string_view name, const Value& value) {
    static constexpr std::array<std::string_view, 5> kSchemes = {"basic", "bearer", "digest", "negotiate", "token"};
    constexpr std::size_t kLongestScheme = 16;
    std::size_t begin = value.begin;
    while (begin < text_.size() && begin - value.begin < kLongestScheme && is_letter(text_[begin])) ++begin;
    const auto scheme = lower_case(text_.substr(value.begin, begin - value.begin));
    const bool known = std::find(kSchemes.begin(), kSchemes.end(), scheme) != kSchemes.end();
    if (!known || begin >= text_.size() || !is_blank(text_[begin])) return judged(name, NameVerdict::maybe, value);
    begin = skip_blanks(begin);
    if (text_.substr(begin).starts_with(kRedacted)) return Span{begin, begin + kRedacted.size()};
    std::size_t end = begin;
    while (end < text_.size() && !is_line_end(text_[end]) && !is_quote(text_[end]) && text_[end] != '\\' &&
           !another_secret_at(end)) {
      ++end;
    }
    return end > begin ? std::optional(Span{begin, end}) : std::nullopt;
  }

  std::optional<Span> bearer_token(std::size_t at) const {
    if (at >= text_.size() || text_[at] != ' ') return std::nullopt;
    const std::size_t begin = at + 1;
    std::size_t end = begin;
    while (end < text_.size() &&
           (is_name_character(text_[end]) || std::string_view("~+/=").find(text_[end]) != std::string_view::npos)) {
      ++end;
    }
    if (end - begin < 16 || !contains_letter_and_digit(text_.substr(begin, end - begin))) return std::nullopt;
    return Span{begin, end};
  }

  /// `--token value` as part of a text. Prose and help texts speak of flags too: `--token TEXT`, "--token is needed".
  std::optional<Span> value_after_blank(std::string_view name, std::size_t at) {
    if (at >= text_.size() || !is_blank(text_[at])) return std::nullopt;
    at = skip_blanks(at);
    if (at >= text_.size() || text_[at] == '-' || is_blank(text_[at])) return std::nullopt;
    const auto quote = quote_at(at);
    const Value value{at + quote.size(), quote, '='};
    const std::size_t end = quote.empty() ? plain_end(value.begin) : quoted_end(value);
    const auto content = text_.substr(value.begin, end - value.begin);
    static constexpr std::array<std::string_view, 12> kProse = {"and",  "argument", "flag", "for", "if",  "is",
                                                                "must", "option",   "or",   "to",  "was", "with"};
    const bool prose = std::find(kProse.begin(), kProse.end(), content) != kProse.end();
    const bool placeholder =
        std::all_of(content.begin(), content.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
    if (prose || placeholder || is_harmless_value(name, content)) return std::nullopt;
    return Span{value.begin, end};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t after_secret_ = 0;  ///< where the last one ended; the text starts as if after one
  std::size_t name_end_ = 0;
  std::optional<Span> named_value_;
  std::optional<Span> url_password_;
  /// The last value without quotation marks that was read. Names inside of it start values with the same end, which
  /// are not read again.
  struct {
    std::size_t begin = 1;
    std::size_t end = 0;
    std::size_t last_digit = 0;
    std::size_t last_letter = 0;
  } plain_;
  std::string result_;
};

}  // namespace

std::string redact(std::string_view text) { return Redactor(text).run(); }

std::vector<std::string> redact_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> shared;
  shared.reserve(arguments.size());
  bool value_is_secret = false;
  std::string_view flag;
  for (const std::string& argument : arguments) {
    const std::string_view text = argument;
    if (value_is_secret && !text.starts_with("--")) {
      value_is_secret = false;
      shared.emplace_back(is_harmless_value(flag, text) ? text : kRedacted);
      continue;
    }
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    const bool is_flag = text.starts_with("-");
    // The shell has ended the argument where it ends, so that a flag needs no second look at its value.
    const bool secret =
        std::all_of(name.begin(), name.end(), is_name_character) &&
        (judge_name(name) == NameVerdict::secret || (is_flag && judge_name(name) == NameVerdict::maybe));
    value_is_secret = secret && is_flag && equals == std::string_view::npos;
    flag = name;
    if (secret && equals != std::string_view::npos && !is_harmless_value(name, text.substr(equals + 1))) {
      shared.push_back(std::string(name) + "=" + std::string(kRedacted));
    } else {
      shared.push_back(redact(text));
    }
  }
  return shared;
}

}  // namespace assay
