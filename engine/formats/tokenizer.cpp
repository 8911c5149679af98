#include "formats/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "formats/mapped_file.h"
#include "formats/pre_tokenizer.h"

namespace assay::engine {
namespace {

/// Bytes of the first word of `text`, which is not empty.
std::size_t first_word(WordRule rule, std::string_view text) {
  switch (rule) {
    case WordRule::none: break;
    case WordRule::gpt2: return first_word(SplitPattern::gpt2, text);
    case WordRule::llama3: return first_word(SplitPattern::llama3, text);
    case WordRule::before_marks: return std::min(text.size(), text.find(kSpaceMark, 1));
    case WordRule::before_runs_of_marks: {
      std::size_t start = 0;
      while (text.substr(start).starts_with(kSpaceMark)) start += kSpaceMark.size();
      return std::min(text.size(), text.find(kSpaceMark, start));
    }
  }
  return text.size();
}

}  // namespace

std::string mark_spaces(const SpaceMarking& marking, std::string_view text, bool at_start) {
  using Prefix = SpaceMarking::Prefix;
  std::string marked;
  marked.reserve(text.size() + text.size() / 2);
  const bool is_marked = text.starts_with(kSpaceMark) || (marking.replace_spaces && text.starts_with(' '));
  const bool wanted = marking.prefix == Prefix::always || (marking.prefix == Prefix::unless_marked && !is_marked) ||
                      (marking.prefix == Prefix::unless_marked_at_start && !is_marked && at_start);
  if (wanted) marked += kSpaceMark;
  while (marking.replace_spaces) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) break;
    marked += text.substr(0, space);
    marked += kSpaceMark;
    text.remove_prefix(space + 1);
  }
  return marked += text;
}

Tokenizer Tokenizer::read(const std::string& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::string file = folder ? (std::filesystem::path(path) / "tokenizer.json").string() : path;
  return parse(MappedFile(file).text(), file);
}

Tokenizer Tokenizer::parse(std::string_view json, const std::string& file) {
  return Tokenizer(parse_tokenizer(json, file));
}

std::vector<std::int32_t> Tokenizer::encode(std::string_view utf8) const {
  std::vector<std::int32_t> ids;
  ids.reserve(utf8.size() / 4);
  parts_.in_text.split(
      utf8, [&](std::string_view piece, std::size_t offset) { encode_plain(piece, offset == 0, ids); },
      [&](std::int32_t id) { ids.push_back(id); });
  return ids;
}

void Tokenizer::encode_plain(std::string_view text, bool at_start, std::vector<std::int32_t>& ids) const {
  std::string marked;
  if (parts_.normalizer.does_anything()) text = marked = mark_spaces(parts_.normalizer, text, at_start);
  parts_.in_normalized_text.split(
      text, [&](std::string_view piece, std::size_t offset) { encode_normalized(piece, at_start && offset == 0, ids); },
      [&](std::int32_t id) { ids.push_back(id); });
}

void Tokenizer::encode_normalized(std::string_view text, bool at_start, std::vector<std::int32_t>& ids) const {
  std::string changed;
  if (parts_.metaspace.does_anything()) text = changed = mark_spaces(parts_.metaspace, text, at_start);
  if (parts_.prefix_space && !text.starts_with(' ')) text = changed = " " + std::string(text);
  encode_words(text, ids);
}

void Tokenizer::encode_words(std::string_view text, std::vector<std::int32_t>& ids) const {
  while (!text.empty()) {
    const std::size_t length = first_word(parts_.words, text);
    parts_.bpe.encode(text.substr(0, length), ids);
    text.remove_prefix(length);
  }
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids) {
    if (const auto found = parts_.texts.find(id); found != parts_.texts.end()) text += found->second;
  }
  if (parts_.strip_first_space && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

}  // namespace assay::engine
