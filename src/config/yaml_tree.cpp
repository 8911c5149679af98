#include "config/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace assay {
namespace {

/// Ends the reading at the first thing that makes the rest meaningless.
struct Unreadable {
  YAML::Mark mark;
  std::string message;
};

constexpr std::string_view kAliasRule =
    "anchors (&) and aliases (*) are not supported. Write the value out, or put text that starts with '&' or '*' in "
    "quotes.";

/// Turns yaml-cpp's events into our tree. Throws Unreadable out of yaml-cpp, which is safe: it holds no resources that
/// do not clean up after themselves.
class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const std::string& text, std::string_view file, Problems& problems)
      : text_(text), file_(file), problems_(problems) {}

  YamlNode take_root() { return std::move(root_); }

  /// The innermost list or map that is still open and was written with brackets.
  const YamlNode* open_bracket() const {
    for (auto node = open_.rbegin(); node != open_.rend(); ++node) {
      const auto position = static_cast<std::size_t>(node->position);
      if (position < text_.size() && (text_[position] == '[' || text_[position] == '{')) return &node->node;
    }
    return nullptr;
  }

  /// yaml-cpp counts bytes; people and editors count characters. Counting goes on from the place before, since a file
  /// may be one line of a million bytes.
  Place place_of(const YAML::Mark& mark) {
    const auto position = std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), text_.size());
    const auto column = std::min(static_cast<std::size_t>(std::max(mark.column, 0)), position);
    if (mark.line != counted_.line || position < counted_.position) counted_ = {mark.line, position - column, 0};
    for (; counted_.position < position; ++counted_.position) {
      if ((static_cast<unsigned char>(text_[counted_.position]) & 0xC0) != 0x80) ++counted_.characters;
    }
    return {file_, mark.line + 1, counted_.characters + 1};
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) throw Unreadable{mark, "a second YAML document starts here. Put it into a file of its own."};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    YamlNode node{.kind = YamlNode::Kind::empty, .place = place_of(mark)};
    // yaml-cpp hides how the null was spelled, and for a missing value points at the next token, which may be a key.
    for (const std::string_view spelling : {"null", "Null", "NULL", "~"}) {
      const auto position = std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), text_.size());
      if (text_.compare(position, spelling.size(), spelling) != 0) continue;
      const auto next = text_.find_first_not_of(' ', position + spelling.size());
      const bool is_key = next != std::string::npos && text_[next] == ':';
      if (!is_key || expects_key())
        node = {.kind = YamlNode::Kind::scalar, .text = std::string(spelling), .place = node.place};
    }
    add(std::move(node), mark);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { throw Unreadable{mark, std::string(kAliasRule)}; }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (value.find('\0') != std::string::npos) throw Unreadable{mark, "text must not contain a NUL character."};
    const bool quoted = tag == "!";
    if (quoted) refuse_open_quote(mark);
    add(YamlNode{.kind = YamlNode::Kind::scalar, .text = value, .quoted = quoted, .place = place_of(mark)}, mark);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(YamlNode::Kind::list, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(YamlNode::Kind::map, mark, tag, anchor);
  }
  void OnSequenceEnd() override { finish(); }
  void OnMapEnd() override { finish(); }

 private:
  struct Open {
    YamlNode node;
    int position = 0;                            ///< of its first character in the text
    std::optional<YamlEntry> key;                ///< of a map: read, its value still to come
    std::unordered_map<std::string, int> lines;  ///< of a map: where each key was first
  };

  bool expects_key() const { return !open_.empty() && open_.back().node.is_map() && !open_.back().key; }

  static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) throw Unreadable{mark, std::string(kAliasRule)};
  }

  static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Unreadable{mark,
                     "YAML tags (!) are not supported. Remove the tag, or put text that starts with '!' in quotes."};
  }

  /// yaml-cpp takes a quote that never closes as closed at the end of the file.
  void refuse_open_quote(const YAML::Mark& mark) const {
    auto position = static_cast<std::size_t>(mark.pos);
    const char quote = position < text_.size() ? text_[position] : '\0';
    if (quote != '"' && quote != '\'') return;
    for (++position; position < text_.size(); ++position) {
      if (quote == '"' && text_[position] == '\\') {
        ++position;
      } else if (text_[position] == quote) {
        if (quote == '"' || position + 1 >= text_.size() || text_[position + 1] != quote) return;
        ++position;
      }
    }
    throw Unreadable{mark, fmt::format("the quote that opens here is never closed. Add the closing {}.", quote)};
  }

  void start(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    // yaml-cpp also takes a bracket that is never closed for the start of a key.
    if (expects_key()) {
      throw Unreadable{mark, fmt::format("a {0} stands where a key must be. Is its closing '{1}' missing?",
                                         kind == YamlNode::Kind::list ? "list" : "mapping",
                                         kind == YamlNode::Kind::list ? ']' : '}')};
    }
    if (open_.size() >= kDeepestNesting) {
      throw Unreadable{mark, fmt::format("nested more than {} levels deep.", kDeepestNesting)};
    }
    open_.push_back({.node = {.kind = kind, .place = place_of(mark)}, .position = mark.pos});
  }

  void finish() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    add(std::move(node), {});
  }

  void add(YamlNode node, const YAML::Mark& mark) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& parent = open_.back();
    if (parent.node.is_list()) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (!node.is_scalar()) throw Unreadable{mark, "a key is missing before ':'."};
      parent.key = YamlEntry{.key = std::move(node.text), .key_place = node.place};
    } else {
      close_entry(parent, std::move(node));
    }
  }

  void close_entry(Open& parent, YamlNode value) {
    YamlEntry entry = std::move(*parent.key);
    parent.key.reset();
    const auto [first, is_new] = parent.lines.emplace(entry.key, entry.key_place.line);
    if (!is_new) {
      problems_.add(entry.key_place, fmt::format("key '{}' is given twice, first in line {}. Remove one of them.",
                                                 printable(entry.key), first->second));
      return;
    }
    entry.value = std::move(value);
    // yaml-cpp places a missing value at the next token, which is often in another line.
    if (entry.value.kind == YamlNode::Kind::empty) entry.value.place = entry.key_place;
    parent.node.entries.push_back(std::move(entry));
  }

  struct Counted {
    int line = -1;
    std::size_t position = 0;
    int characters = 0;  ///< of the line, before the position
  };

  const std::string& text_;
  std::string_view file_;
  Problems& problems_;
  Counted counted_;
  std::vector<Open> open_;
  YamlNode root_;
  int documents_ = 0;
};

/// Bytes of the UTF-8 character at `position`, 0 if there is none that is valid.
std::size_t character_length(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) {
    return position + i < text.size() ? static_cast<unsigned char>(text[position + i]) : 0U;
  };
  const unsigned first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool surrogate = first == 0xED && byte(1) >= 0xA0;
  const bool beyond_unicode = first == 0xF4 && byte(1) >= 0x90;
  return overlong || surrogate || beyond_unicode ? 0 : length;
}

/// Looks at every byte before yaml-cpp does: it drops NULs, ends at byte 4 and guesses encodings.
bool only_plain_text(std::string_view text, const YamlSource& source, Problems& problems) {
  const std::string_view file = source.file;
  int line = 1;
  int column = 1;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    const auto byte = static_cast<unsigned char>(text[i]);
    if (length == 0) {
      problems.add({file, line, column},
                   fmt::format("byte 0x{:02X} is not valid UTF-8. Save the file as UTF-8.", byte));
      return false;
    }
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      problems.add({file, line, column},
                   byte == 0 ? fmt::format("a NUL character. A {} is plain text; is this the right file?", source.what)
                             : fmt::format("control character 0x{:02X}. Remove it.", byte));
      return false;
    }
    column = byte == '\n' ? 1 : column + 1;
    line += byte == '\n' ? 1 : 0;
    i += length;
  }
  return true;
}

/// Without the byte order mark, every line ending a plain newline.
std::string normalised(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 >= text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

bool indented_with_tab(std::string_view text, int line_number) {
  for (int line = 0; line < line_number; ++line) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  const auto first = text.find_first_not_of(" \t");
  return text.substr(0, std::min(first, text.size())).find('\t') != std::string_view::npos;
}

/// yaml-cpp's words are those of a parser; these say what to look for.
std::string explain(const YAML::ParserException& error, const TreeBuilder& builder, std::string_view text) {
  namespace words = YAML::ErrorMsg;
  const std::string& said = error.msg;
  // yaml-cpp 0.8 adds the name of the anchor.
  if (said.starts_with(words::UNKNOWN_ANCHOR) || said == words::INVALID_ALIAS || said == words::INVALID_ANCHOR ||
      said == words::CHAR_IN_ALIAS || said == words::CHAR_IN_ANCHOR || said == words::ALIAS_NOT_FOUND ||
      said == words::ANCHOR_NOT_FOUND) {
    return std::string(kAliasRule);
  }
  if (said == words::TAB_IN_INDENTATION || indented_with_tab(text, error.mark.line)) {
    return "a tab in the indentation. YAML allows only spaces there.";
  }
  if (const YamlNode* open = builder.open_bracket();
      open && (said == words::END_OF_SEQ_FLOW || said == words::END_OF_MAP_FLOW)) {
    return fmt::format("the {} that opens in line {} is not closed. Add the missing '{}' or ','.",
                       open->is_list() ? "list" : "mapping", open->place.line, open->is_list() ? ']' : '}');
  }
  if (said == words::MAP_VALUE) {
    return "':' is not expected here. Check the indentation and that the line above is 'key: value'; text that "
           "contains "
           "': ' needs quotes.";
  }
  if (said == words::UNKNOWN_TOKEN) return "a value cannot start with this character. Put the value in quotes.";
  return fmt::format("this is not valid YAML: {}.", printable(said));
}

std::optional<YamlNode> build_tree(const std::string& text, std::string_view file, Problems& problems) {
  TreeBuilder builder(text, file, problems);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    return builder.take_root();
  } catch (const Unreadable& stop) {
    problems.add(builder.place_of(stop.mark), stop.message);
  } catch (const YAML::ParserException& error) {
    problems.add(builder.place_of(error.mark), explain(error, builder, text));
  }
  return std::nullopt;
}

void move_to(YamlNode& node, const Place& place) {
  node.place = place;
  for (YamlNode& item : node.items) move_to(item, place);
  for (YamlEntry& entry : node.entries) {
    entry.key_place = place;
    move_to(entry.value, place);
  }
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const YamlEntry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &found->value;
}

std::optional<YamlNode> read_yaml(std::string_view text, const YamlSource& source, Problems& problems) {
  if (text.size() > kLargestYamlBytes) {
    problems.add({source.file}, fmt::format("the file has {}; a {} has at most {}.",
                                            format_bytes(Bytes{static_cast<std::int64_t>(text.size())}), source.what,
                                            format_bytes(Bytes{static_cast<std::int64_t>(kLargestYamlBytes)})));
    return std::nullopt;
  }
  const std::string plain = normalised(text);
  if (!only_plain_text(plain, source, problems)) return std::nullopt;
  return build_tree(plain, source.file, problems);
}

std::optional<YamlNode> read_yaml_value(std::string_view text, const Place& place, Problems& problems) {
  text = trim(text);
  if (text.empty()) return YamlNode{.kind = YamlNode::Kind::empty, .place = place};
  const YamlSource source{.file = place.file, .what = "value"};
  if (std::string_view("[{\"'").find(text.front()) == std::string_view::npos) {
    Problems found;
    if (!only_plain_text(text, source, found)) {
      problems.add(place, found.take().front().message);
      return std::nullopt;
    }
    return YamlNode{.kind = YamlNode::Kind::scalar, .text = std::string(text), .place = place};
  }
  Problems found;
  auto node = read_yaml(text, source, found);
  for (Diagnostic& diagnostic : found.take()) problems.add(place, std::move(diagnostic.message));
  if (node) move_to(*node, place);
  return node;
}

}  // namespace assay
