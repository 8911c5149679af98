#include "target/openai/answer_scan.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"

namespace assay {
namespace {

constexpr int kMostLevels = 64;
constexpr std::array<std::string_view, kFinishReasons> kReasonNames = {"unknown",    "stop",           "length",
                                                                       "tool_calls", "content_filter", "other"};

/// Walks over JSON. After a failure everything says that nothing more is there.
class JsonWalk {
 public:
  explicit JsonWalk(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool failed() const { return failed_; }
  bool at_end() {
    skip_blanks();
    return at_ == end_;
  }
  char peek() {
    skip_blanks();
    return at_ == end_ ? '\0' : *at_;
  }

  /// Calls `member(key)` for each member; it must take the value.
  template <typename Member>
  void object(Member member) {
    if (!open('{')) return;
    if (closed('}')) return;
    do {
      const std::string_view key = string();
      if (!take(':')) return;
      member(key);
    } while (!failed_ && another('}'));
  }
  /// Calls `item(index)` for each item; it must take the value.
  template <typename Item>
  void array(Item item) {
    if (!open('[')) return;
    if (closed(']')) return;
    std::size_t index = 0;
    do {
      item(index++);
    } while (!failed_ && another(']'));
  }

  std::string_view string() {
    if (!take('"')) return {};
    const char* start = at_;
    for (; at_ != end_; ++at_) {
      if (*at_ == '"') return {start, static_cast<std::size_t>(at_++ - start)};
      if (*at_ == '\\' && ++at_ == end_) break;
    }
    fail();
    return {};
  }
  /// A text, or "" of any other value.
  std::string_view string_or_skip() {
    if (peek() == '"') return string();
    skip();
    return {};
  }
  std::optional<std::uint32_t> count_or_skip() {
    skip_blanks();
    const char* start = at_;
    skip();
    std::uint32_t number = 0;
    const auto [rest, problem] = std::from_chars(start, at_, number);
    if (failed_ || problem != std::errc() || rest != at_) return std::nullopt;
    return number;
  }

  void skip() {
    switch (peek()) {
      case '"': string(); break;
      case '{': object([&](std::string_view) { skip(); }); break;
      case '[': array([&](std::size_t) { skip(); }); break;
      default: skip_word();
    }
  }

 private:
  void fail() {
    failed_ = true;
    at_ = end_;
  }
  void skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  bool take(char c) {
    if (peek() != c || at_ == end_) {
      fail();
      return false;
    }
    ++at_;
    return true;
  }
  bool open(char c) {
    if (++levels_ > kMostLevels) {
      fail();
      return false;
    }
    return take(c);
  }
  bool closed(char c) {
    if (peek() != c) return false;
    ++at_;
    --levels_;
    return true;
  }
  bool another(char close) {
    if (peek() == ',') {
      ++at_;
      return true;
    }
    if (!closed(close)) fail();
    return false;
  }
  /// A number, true, false or null.
  void skip_word() {
    const char* start = at_;
    while (at_ != end_ && (is_word(*at_) || *at_ == '-' || *at_ == '+' || *at_ == '.')) ++at_;
    if (at_ == start) fail();
  }

  const char* at_;
  const char* end_;
  int levels_ = 0;
  bool failed_ = false;
};

void scan_delta(JsonWalk& walk, AnswerPart& part) {
  if (walk.peek() != '{') return walk.skip();
  walk.object([&](std::string_view key) {
    if (key == "content") {
      part.text = walk.string_or_skip();
    } else if (key == "reasoning_content" || key == "reasoning") {
      part.thinking = walk.string_or_skip();
    } else if (key == "tool_calls" && walk.peek() == '[') {
      part.calls_tool = false;
      walk.array([&](std::size_t) {
        part.calls_tool = true;
        walk.skip();
      });
    } else {
      walk.skip();
    }
  });
}

void scan_choice(JsonWalk& walk, AnswerPart& part) {
  if (walk.peek() != '{') return walk.skip();
  walk.object([&](std::string_view key) {
    if (key == "delta" || key == "message") {
      scan_delta(walk, part);
    } else if (key == "text") {
      part.text = walk.string_or_skip();
    } else if (key == "finish_reason") {
      part.finished = walk.peek() == '"';
      part.finish_reason = walk.string_or_skip();
    } else {
      walk.skip();
    }
  });
}

void scan_choices(JsonWalk& walk, AnswerPart& part) {
  if (walk.peek() != '[') return walk.skip();
  walk.array([&](std::size_t index) {
    part.has_choices = true;
    if (index == 0) {
      scan_choice(walk, part);
    } else {
      walk.skip();
    }
  });
}

void scan_usage(JsonWalk& walk, AnswerPart& part) {
  if (walk.peek() != '{') return walk.skip();
  walk.object([&](std::string_view key) {
    if (key == "completion_tokens") {
      part.output_tokens = walk.count_or_skip();
    } else if (key == "prompt_tokens") {
      part.input_tokens = walk.count_or_skip();
    } else if (key == "prompt_tokens_details" && walk.peek() == '{') {
      walk.object([&](std::string_view detail) {
        if (detail == "cached_tokens") {
          part.cached_tokens = walk.count_or_skip();
        } else {
          walk.skip();
        }
      });
    } else {
      walk.skip();
    }
  });
}

void scan_error(JsonWalk& walk, AnswerPart& part) {
  const char first = walk.peek();
  part.failed = first == '{' || first == '"';
  if (first != '{') {
    part.message = walk.string_or_skip();
    return;
  }
  walk.object([&](std::string_view key) {
    if (key == "message") {
      part.message = walk.string_or_skip();
    } else {
      walk.skip();
    }
  });
}

void append_utf8(std::uint32_t code, std::string& out) {
  const auto push = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (code < 0x80) {
    push(code);
  } else if (code < 0x800) {
    push(0xc0 | code >> 6);
    push(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    push(0xe0 | code >> 12);
    push(0x80 | (code >> 6 & 0x3f));
    push(0x80 | (code & 0x3f));
  } else {
    push(0xf0 | code >> 18);
    push(0x80 | (code >> 12 & 0x3f));
    push(0x80 | (code >> 6 & 0x3f));
    push(0x80 | (code & 0x3f));
  }
}

/// Four hexadecimal digits at the front, which it takes off.
std::optional<std::uint32_t> take_code(std::string_view& text) {
  std::uint32_t code = 0;
  if (text.size() < 4) return std::nullopt;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (problem != std::errc() || end != text.data() + 4) return std::nullopt;
  text.remove_prefix(4);
  return code;
}

constexpr std::uint32_t kReplacement = 0xfffd;

/// Behind `\u`.
std::uint32_t take_code_point(std::string_view& text) {
  const auto code = take_code(text);
  if (!code) return kReplacement;
  if (*code < 0xd800 || *code > 0xdfff) return *code;
  if (*code >= 0xdc00 || !text.starts_with("\\u")) return kReplacement;
  std::string_view rest = text.substr(2);
  const auto low = take_code(rest);
  if (!low || *low < 0xdc00 || *low > 0xdfff) return kReplacement;
  text = rest;
  return 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
}

}  // namespace

std::string_view name_of(FinishReason reason) { return kReasonNames[static_cast<std::size_t>(reason)]; }

FinishReason finish_reason_of(std::string_view name) {
  if (name.empty()) return FinishReason::unknown;  // what some servers say before the end
  const auto* const found = std::find(kReasonNames.begin(), kReasonNames.end() - 1, name);
  return static_cast<FinishReason>(found - kReasonNames.begin());
}

std::optional<AnswerPart> scan_answer(std::string_view json) {
  JsonWalk walk(json);
  if (walk.peek() != '{') return std::nullopt;
  AnswerPart part;
  walk.object([&](std::string_view key) {
    if (key == "choices") {
      scan_choices(walk, part);
    } else if (key == "usage") {
      scan_usage(walk, part);
    } else if (key == "error") {
      scan_error(walk, part);
    } else {
      walk.skip();
    }
  });
  if (walk.failed() || !walk.at_end()) return std::nullopt;
  return part;
}

void append_unescaped(std::string_view raw, std::string& out) {
  while (!raw.empty()) {
    const std::size_t escape = raw.find('\\');
    out += raw.substr(0, escape);
    if (escape == std::string_view::npos) return;
    raw.remove_prefix(escape + 1);
    if (raw.empty()) return append_utf8(kReplacement, out);
    const char mark = raw.front();
    raw.remove_prefix(1);
    switch (mark) {
      case 'n': out += '\n'; break;
      case 't': out += '\t'; break;
      case 'r': out += '\r'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case '"':
      case '\\':
      case '/': out += mark; break;
      case 'u': append_utf8(take_code_point(raw), out); break;
      default: append_utf8(kReplacement, out);
    }
  }
}

}  // namespace assay
