#include "exchange/exact_json.h"

#include <gmock/gmock.h>

#include <bit>
#include <charconv>

#include "base/random.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(ExactJson, EveryDoubleComesBack) {
  Random random(1, "exact json");
  for (int i = 0; i < 20000; ++i) {
    const double number = std::bit_cast<double>(random.bits64());
    if (!std::isfinite(number)) continue;
    std::array<char, 400> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::scientific).ptr;
    const auto read = parse_exact_json({text.data(), static_cast<std::size_t>(end - text.data())});
    ASSERT_TRUE(read.ok());
    ASSERT_EQ(std::bit_cast<std::uint64_t>(read->value.as_double()), std::bit_cast<std::uint64_t>(number));
  }
}

TEST(ExactJson, ReadsWhatBoostReads) {
  const std::string text =
      R"({"a": [1, -2, 18446744073709551615, 0.5, -0.0, true, false, null, "x\u00e9\n\"", {}], "": {"b": []}})";
  const auto read = parse_exact_json(text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->value, parse_json(text).value());
}

TEST(ExactJson, PythonsWordsBecomeNull) {
  const auto read = parse_exact_json(R"([NaN, -Infinity, Infinity, "NaN", "\"NaN", -1])");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(json::serialize(read->value), R"([null,null,null,"NaN","\"NaN",-1])");
  EXPECT_EQ(read->non_finite, 3);
}

TEST(ExactJson, ErrorsSayWhere) {
  EXPECT_THAT(parse_exact_json("[1, x]").error().message, HasSubstr("at byte 4"));
  EXPECT_THAT(parse_exact_json("").error().message, HasSubstr("incomplete"));
  EXPECT_THAT(parse_exact_json("{\"a\": 1").error().message, HasSubstr("incomplete"));
  EXPECT_THAT(parse_exact_json("1 2").error().message, HasSubstr("extra text"));
  EXPECT_FALSE(parse_exact_json(std::string(40, '[') + std::string(40, ']')).ok());
  EXPECT_FALSE(parse_exact_json("[NaNx]").ok());
}

}  // namespace
}  // namespace assay
