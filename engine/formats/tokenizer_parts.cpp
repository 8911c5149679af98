#include "formats/tokenizer_parts.h"

#include <algorithm>
#include <array>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <optional>
#include <utility>

#include "formats/failure.h"
#include "formats/pre_tokenizer.h"
#include "formats/unicode.h"

namespace assay::engine {
namespace {

namespace json = boost::json;

constexpr const char* kSupported =
    "Supported are BPE models, either byte-level (as of GPT-2 and Llama 3) or with '\u2581' for spaces (as of Llama 2, "
    "TinyLlama and Mistral).";

std::string_view view(const json::string& text) { return {text.data(), text.size()}; }

/// The characters that stand for bytes in byte-level vocabularies: printable Latin-1 for itself, the rest from U+0100
/// on.
constexpr std::array<int, 324> kByteOfCode = [] {
  std::array<int, 324> bytes{};
  bytes.fill(-1);
  std::size_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
    bytes[printable ? static_cast<std::size_t>(byte) : next++] = byte;
  }
  return bytes;
}();

/// The bytes of a byte-level token; empty: it has a character that stands for no byte.
std::optional<std::string> bytes_of_token(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    const Char next = first_char(token);
    if (next.code >= kByteOfCode.size() || kByteOfCode[next.code] < 0) return std::nullopt;
    bytes += static_cast<char>(kByteOfCode[next.code]);
    token.remove_prefix(next.length);
  }
  return bytes;
}

/// The byte that "<0x0A>" stands for.
std::optional<unsigned char> fallback_byte(std::string_view token) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  const std::size_t high = kDigits.find(token[3]);
  const std::size_t low = kDigits.find(token[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<unsigned char>(high * 16 + low);
}

std::string with_spaces(std::string_view marked) {
  std::string text;
  for (std::size_t mark = marked.find(kSpaceMark); mark != std::string_view::npos; mark = marked.find(kSpaceMark)) {
    text += marked.substr(0, mark);
    text += ' ';
    marked.remove_prefix(mark + kSpaceMark.size());
  }
  return text += marked;
}

/// Whether a space mark follows something else than a space mark.
bool has_inner_mark(std::string_view token) {
  while (token.starts_with(kSpaceMark)) token.remove_prefix(kSpaceMark.size());
  return token.find(kSpaceMark) != std::string_view::npos;
}

class Reader {
 public:
  Reader(const json::object& root, const std::string& file) : root_(root), file_(file) {}

  TokenizerParts read() {
    if (const auto* step = find(root_, "pre_tokenizer")) read_pre_tokenizer(*step);
    if (split_ && !byte_level_) unsupported("the pre-tokenizer 'Split' without 'ByteLevel'");
    if (const auto* step = find(root_, "normalizer")) read_normalizer(*step);
    if (byte_level_ && parts_.normalizer.does_anything()) unsupported("a normalizer before 'ByteLevel'");
    read_model();
    read_added_tokens();
    if (parts_.vocabulary == 0) bad("has no tokens");
    return std::move(parts_);
  }

 private:
  using Prefix = SpaceMarking::Prefix;

  void read_pre_tokenizer(const json::value& value) {
    const json::object& step = object(value, "pre_tokenizer");
    const std::string_view type = text(step, "type");
    if (type == "Sequence") {
      for (const json::value& element : array(step, "pretokenizers")) read_pre_tokenizer(element);
    } else if (type == "Split" && !byte_level_ && !split_ && !parts_.metaspace.does_anything()) {
      read_split(step);
    } else if (type == "ByteLevel" && !byte_level_ && !parts_.metaspace.does_anything()) {
      byte_level_ = true;
      parts_.prefix_space = flag(step, "add_prefix_space", false);
      const bool gpt2 = flag(step, "use_regex", true);
      if (split_ && (gpt2 || parts_.prefix_space))
        unsupported("the pre-tokenizer 'ByteLevel' that changes what 'Split' left");
      if (gpt2) parts_.words = WordRule::gpt2;
    } else if (type == "Metaspace" && !byte_level_ && !split_ && !parts_.metaspace.does_anything()) {
      read_metaspace(step);
    } else {
      unsupported("the pre-tokenizer '" + std::string(type) + "'" + (byte_level_ || split_ ? " at its place" : ""));
    }
  }

  void read_split(const json::object& step) {
    const json::object& pattern = object(member(step, "pattern"), "pattern");
    const std::string_view regex = find(pattern, "Regex") ? text(pattern, "Regex") : "";
    const auto known = split_pattern(regex);
    if (!known) unsupported("the pre-tokenizer 'Split' with the pattern " + json::serialize(pattern));
    // Both keep every match: the patterns leave nothing out between them.
    const bool invert = flag(step, "invert", false);
    const std::string_view behavior = text(step, "behavior");
    if (!(behavior == "Isolated" && !invert) && !(behavior == "Removed" && invert)) {
      unsupported("the pre-tokenizer 'Split' with the behavior '" + std::string(behavior) + "'");
    }
    split_ = true;
    parts_.words = *known == SplitPattern::gpt2 ? WordRule::gpt2 : WordRule::llama3;
  }

  void read_metaspace(const json::object& step) {
    if (text(step, "replacement") != kSpaceMark) unsupported("the pre-tokenizer 'Metaspace' with another mark");
    const std::string_view scheme = find(step, "prepend_scheme") ? text(step, "prepend_scheme") : "always";
    if (scheme == "never" || !flag(step, "add_prefix_space", true)) {
      parts_.metaspace.prefix = Prefix::none;
    } else if (scheme == "always") {
      parts_.metaspace.prefix = Prefix::unless_marked;
    } else if (scheme == "first") {
      parts_.metaspace.prefix = Prefix::unless_marked_at_start;
    } else {
      bad("has the unknown prepend_scheme '" + std::string(scheme) + "'");
    }
    parts_.metaspace.replace_spaces = true;
    if (flag(step, "split", true)) parts_.words = WordRule::before_marks;
  }

  void read_normalizer(const json::value& value) {
    const json::object& step = object(value, "normalizer");
    const std::string_view type = text(step, "type");
    SpaceMarking& marking = parts_.normalizer;
    if (type == "Sequence") {
      for (const json::value& element : array(step, "normalizers")) read_normalizer(element);
    } else if (type == "Prepend" && text(step, "prepend") == kSpaceMark && marking.prefix == Prefix::none) {
      marking.prefix = Prefix::always;
    } else if (type == "Replace" && text(step, "content") == kSpaceMark &&
               member(step, "pattern") == json::value({{"String", " "}})) {
      marking.replace_spaces = true;
    } else {
      unsupported("the normalizer " + json::serialize(step));
    }
  }

  void read_model() {
    const json::object& model = object(member(root_, "model"), "model");
    const std::string_view type = find(model, "type") ? text(model, "type") : "BPE";  // older files do not say
    if (type != "BPE") unsupported("the model type '" + std::string(type) + "'");
    for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
      if (find(model, key) && !text(model, key).empty()) unsupported("the model's '" + std::string(key) + "'");
    }
    if (const auto* dropout = find(model, "dropout"); dropout && *dropout != 0 && *dropout != 0.0) {
      unsupported("the model's 'dropout'");
    }
    const json::object& vocabulary = object(member(model, "vocab"), "vocab");
    bpe_.starts_as_bytes = byte_level_;
    bpe_.fuse_unknown = flag(model, "fuse_unk", false);
    read_vocabulary(vocabulary, !byte_level_ && flag(model, "byte_fallback", false),
                    flag(model, "ignore_merges", false));
    std::string_view unknown;
    if (find(model, "unk_token")) unknown = text(model, "unk_token");
    if (const auto* id = unknown.empty() ? nullptr : vocabulary.if_contains(unknown))
      bpe_.unknown = id_from(*id, unknown);
    read_merges(vocabulary, array(model, "merges"));
    if (cuts_at_marks(unknown)) parts_.words = WordRule::before_runs_of_marks;
    parts_.strip_first_space = parts_.normalizer.prefix != Prefix::none || parts_.metaspace.prefix != Prefix::none;
    parts_.bpe = Bpe(std::move(bpe_));
  }

  void read_vocabulary(const json::object& vocabulary, bool byte_fallback, bool ignore_merges) {
    const bool marks = parts_.normalizer.replace_spaces || parts_.metaspace.replace_spaces;
    for (const auto& entry : vocabulary) {
      const std::string_view token(entry.key().data(), entry.key().size());
      const std::int32_t id = id_from(entry.value(), token);
      std::string content = marks ? with_spaces(token) : std::string(token);
      std::optional<std::string> word(token);  // the text that the token is for, as the BPE sees it
      if (byte_level_) {
        word = bytes_of_token(token);
        content = word.value_or(content);
        if (word && word->size() == 1) bpe_.byte_ids[static_cast<unsigned char>((*word)[0])] = id;
      } else if (!token.empty() && first_char(token).length == token.size()) {
        bpe_.characters[first_char(token).code] = id;
      } else if (const auto byte = fallback_byte(token); byte && byte_fallback) {
        bpe_.byte_ids[*byte] = id;
        content.assign(1, static_cast<char>(*byte));
      }
      if (ignore_merges && word && !word->empty()) bpe_.whole_words.emplace(*word, id);
      if (!parts_.texts.emplace(id, std::move(content)).second) {
        bad("has two tokens with the number " + std::to_string(id));
      }
    }
  }

  void read_merges(const json::object& vocabulary, const json::array& merges) {
    const auto id_of = [&](std::string_view token, std::size_t rank) {
      const json::value* id = vocabulary.if_contains(token);
      if (!id) bad("needs the token '" + std::string(token) + "' for merge " + std::to_string(rank) + ", but has none");
      return id_from(*id, token);
    };
    std::string joined;
    bpe_.merges.reserve(merges.size());
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      const auto [left, right] = pair_from(merges[rank], rank);
      joined.assign(left).append(right);
      bpe_.merges.push_back({id_of(left, rank), id_of(right, rank), id_of(joined, rank)});
      joins_before_mark_ = joins_before_mark_ || has_inner_mark(joined);
    }
  }

  /// Merges are written "a b" or ["a", "b"].
  std::pair<std::string_view, std::string_view> pair_from(const json::value& merge, std::size_t rank) const {
    if (const auto* both = merge.if_string()) {
      const std::size_t space = view(*both).find(' ');
      if (space != std::string_view::npos && view(*both).find(' ', space + 1) == std::string_view::npos) {
        return {view(*both).substr(0, space), view(*both).substr(space + 1)};
      }
    } else if (const auto* pair = merge.if_array(); pair && pair->size() == 2) {
      if ((*pair)[0].is_string() && (*pair)[1].is_string()) {
        return {view((*pair)[0].get_string()), view((*pair)[1].get_string())};
      }
    }
    bad("has as merge " + std::to_string(rank) + " " + json::serialize(merge) + ", not a pair of tokens");
  }

  /// Whether one long word may be cut into many short ones, which are faster (and mostly cached), without changing a
  /// token: nothing is ever joined across the start of a run of space marks.
  bool cuts_at_marks(std::string_view unknown) const {
    if (byte_level_ || parts_.words != WordRule::none || joins_before_mark_ || !bpe_.whole_words.empty()) return false;
    // A character that is left out would make its neighbours neighbours.
    const bool leaves_out =
        bpe_.unknown < 0 && std::find(bpe_.byte_ids.begin(), bpe_.byte_ids.end(), -1) != bpe_.byte_ids.end();
    return !leaves_out && bpe_.characters.contains(kSpaceMarkCode) &&
           unknown.find(kSpaceMark) == std::string_view::npos;
  }

  void read_added_tokens() {
    if (!find(root_, "added_tokens")) return;
    for (const json::value& element : array(root_, "added_tokens")) {
      const json::object& token = object(element, "added_tokens");
      const std::string content(text(token, "content"));
      const std::int32_t id = id_from(member(token, "id"), content);
      if (flag(token, "single_word", false)) unsupported("the added token '" + content + "', which is 'single_word',");
      const bool normalized = flag(token, "normalized", false);
      parts_.texts[id] = content;
      (normalized ? parts_.in_normalized_text : parts_.in_text)
          .add({normalized && !content.empty() ? mark_spaces(parts_.normalizer, content, false) : content, id,
                flag(token, "lstrip", false), flag(token, "rstrip", false)});
    }
  }

  std::int32_t id_from(const json::value& value, std::string_view token) {
    json::error_code code;
    const auto id = value.to_number<std::int64_t>(code);
    if (code || id < 0 || id >= std::numeric_limits<std::int32_t>::max()) {
      bad("has the number " + json::serialize(value) + " for the token '" + std::string(token) + "'");
    }
    parts_.vocabulary = std::max(parts_.vocabulary, id + 1);
    return static_cast<std::int32_t>(id);
  }

  /// Empty where it is absent or null.
  static const json::value* find(const json::object& object, std::string_view key) {
    const json::value* value = object.if_contains(key);
    return value && !value->is_null() ? value : nullptr;
  }
  const json::value& member(const json::object& object, std::string_view key) const {
    const json::value* value = find(object, key);
    if (!value) bad("lacks '" + std::string(key) + "'");
    return *value;
  }
  const json::object& object(const json::value& value, std::string_view key) const {
    if (!value.is_object()) wrong_type(key, "an object");
    return value.get_object();
  }
  const json::array& array(const json::object& object, std::string_view key) const {
    const json::value& value = member(object, key);
    if (!value.is_array()) wrong_type(key, "a list");
    return value.get_array();
  }
  std::string_view text(const json::object& object, std::string_view key) const {
    const json::value& value = member(object, key);
    if (!value.is_string()) wrong_type(key, "text");
    return view(value.get_string());
  }
  bool flag(const json::object& object, std::string_view key, bool otherwise) const {
    const json::value* value = find(object, key);
    if (value && !value->is_bool()) wrong_type(key, "true or false");
    return value ? value->get_bool() : otherwise;
  }

  [[noreturn]] void wrong_type(std::string_view key, const std::string& expected) const {
    bad("has a '" + std::string(key) + "' that is not " + expected);
  }
  [[noreturn]] void bad(const std::string& problem) const {
    throw Failure("bad_file", "the tokenizer '" + file_ + "' " + problem,
                  "A tokenizer.json as Hugging Face's tokenizers write it is expected.");
  }
  [[noreturn]] void unsupported(const std::string& part) const {
    throw Failure("unsupported", "the tokenizer '" + file_ + "' has " + part + ", which is not supported", kSupported);
  }

  const json::object& root_;
  const std::string& file_;
  TokenizerParts parts_;
  BpeParts bpe_;
  bool byte_level_ = false;
  bool split_ = false;
  bool joins_before_mark_ = false;
};

}  // namespace

TokenizerParts parse_tokenizer(std::string_view text, const std::string& file) {
  json::monotonic_resource memory;
  json::error_code code;
  const json::value root = json::parse(text, code, &memory);
  if (code || !root.is_object()) {
    throw Failure("bad_file", "the tokenizer '" + file + "' is not a JSON object" + (code ? ": " + code.message() : ""),
                  "A tokenizer.json as Hugging Face's tokenizers write it is expected.");
  }
  return Reader(root.get_object(), file).read();
}

}  // namespace assay::engine
