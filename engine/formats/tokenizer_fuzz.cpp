// libFuzzer entry. The input is a tokenizer.json, a zero byte and a text: reading it ends with a tokenizer or a
// Failure, and a tokenizer encodes anything. Where nothing stands before the zero byte, the text goes through
// byte-level tokenizers that lose nothing, and must come back as it was.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "formats/failure.h"
#include "formats/pre_tokenizer.h"
#include "formats/tokenizer.h"

namespace {

namespace json = boost::json;
using assay::engine::Failure;
using assay::engine::Tokenizer;

/// All 256 bytes and a few merges.
Tokenizer byte_level(std::string_view regex) {
  json::object vocabulary;
  int id = 0;
  for (int byte = 0, other = 0x100; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte != 0xAD);
    const int code = printable ? byte : other++;
    std::string token(1, static_cast<char>(code));
    if (code >= 0x80) token = {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 0x3F))};
    vocabulary[token] = id++;
  }
  const json::array merges = {"t h", "th e", "a a", "aa aa", "\u0120 \u0120", "\u0120 the", "\u010A \u010A"};
  for (const char* token : {"th", "the", "aa", "aaaa", "\u0120\u0120", "\u0120the", "\u010A\u010A"})
    vocabulary[token] = id++;
  const json::object split = {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}};
  const json::object bytes = {{"type", "ByteLevel"}, {"use_regex", false}};
  const json::object steps = {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}};
  const json::object model = {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}};
  return Tokenizer::parse(json::serialize(json::object{{"pre_tokenizer", steps}, {"model", model}}), "built-in");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Tokenizer gpt2 = byte_level(assay::engine::kGpt2Regex);
  static const Tokenizer llama3 = byte_level(assay::engine::kLlama3Regex);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t end = input.find('\0');
  const std::string_view text = end == std::string_view::npos ? "a text" : input.substr(end + 1);
  if (end == 0) {
    if (gpt2.decode(gpt2.encode(text)) != text || llama3.decode(llama3.encode(text)) != text) std::abort();
    return 0;
  }
  try {
    const Tokenizer tokenizer = Tokenizer::parse(input.substr(0, end), "fuzz");
    const auto ids = tokenizer.encode(text);
    for (const std::int32_t id : ids) {
      if (id < 0 || id >= tokenizer.vocabulary()) std::abort();
    }
    static_cast<void>(tokenizer.decode(ids));
  } catch (const Failure& failure) {
    if (failure.kind() != "bad_file" && failure.kind() != "unsupported") std::abort();
  }
  return 0;
}
