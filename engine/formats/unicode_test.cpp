#include "formats/unicode.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace assay::engine {
namespace {

void expect_class(CharClass expected, std::u32string_view characters) {
  for (const char32_t code : characters) EXPECT_EQ(class_of(code), expected) << std::hex << std::uint32_t{code};
}

TEST(Unicode, ClassesOfSomeCharacters) {
  expect_class(CharClass::letter, U"azAZªµßéĀʰͰЖא\u0E01あ中한𐍈𠀀");
  expect_class(CharClass::number, U"09²¼٣०Ⅷ①〇㊿𝟘");
  expect_class(CharClass::space, U"\t\n\v\f\r \u0085\u00A0\u1680\u2000\u200A\u2028\u2029\u202F\u205F\u3000");
  // U+001C … U+001F, the zero-width space and the Mongolian separator are no White_Space.
  expect_class(CharClass::other, U"!~_'\u001C\u001F\u007F\u0301\u180E\u200B\u200D\u2581€🙂\uFFFD\U0010FFFF");
  expect_class(CharClass::other, std::u32string_view(U"\0", 1));
  EXPECT_EQ(class_of(kInvalidByte), CharClass::other);
  EXPECT_EQ(class_of(0xFFFFFFFF), CharClass::other);
  EXPECT_EQ(class_of(0x40000000 + 'a'), CharClass::other);
}

TEST(Unicode, CountsOfTheGeneralCategories) {
  // As Unicode 14 counts them: a table with a hole or a shift would show here.
  std::size_t counts[4] = {};
  for (char32_t code = 0; code < kInvalidByte; ++code) ++counts[static_cast<std::size_t>(class_of(code))];
  EXPECT_EQ(counts[static_cast<std::size_t>(CharClass::letter)], 131756U);
  EXPECT_EQ(counts[static_cast<std::size_t>(CharClass::number)], 1791U);
  EXPECT_EQ(counts[static_cast<std::size_t>(CharClass::space)], 25U);
}

std::string encoded(char32_t code) {
  std::string bytes;
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))};
  if (code >= 0x10000) bytes = {static_cast<char>(0xF0 | code >> 18), static_cast<char>(0x80 | (code >> 12 & 63))};
  if (code < 0x10000) bytes = {static_cast<char>(0xE0 | code >> 12)};
  return bytes + static_cast<char>(0x80 | (code >> 6 & 63)) + static_cast<char>(0x80 | (code & 63));
}

TEST(Unicode, ReadsEveryCodePointFromBothEnds) {
  for (char32_t code = 0; code < kInvalidByte; ++code) {
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    const std::string bytes = encoded(code);
    const Char first = first_char(bytes + "\x80");
    const Char last = last_char("\xF0\xE2" + bytes);
    ASSERT_EQ(first.code, surrogate ? kInvalidByte : code);
    ASSERT_EQ(first.length, surrogate ? 1 : bytes.size());
    ASSERT_EQ(last.code, surrogate ? kInvalidByte : code);
    ASSERT_EQ(last.length, surrogate ? 1 : bytes.size());
  }
}

TEST(Unicode, BytesThatAreNotUtf8StandAlone) {
  for (const std::string bytes :
       {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC3", "\xC3(", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xE2\x96",
        "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF0\x9F\x99", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(first_char(bytes).code, kInvalidByte) << testing::PrintToString(bytes);
    EXPECT_EQ(first_char(bytes).length, 1U);
  }
  EXPECT_EQ(last_char("a\x80").code, kInvalidByte);
  EXPECT_EQ(last_char("\xC3").length, 1U);
}

}  // namespace
}  // namespace assay::engine
