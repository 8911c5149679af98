#include "importers/text/figure.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

Stated read(std::string_view text) {
  std::size_t used = 0;
  const auto number = number_at(text, used);
  EXPECT_TRUE(number) << text;
  return number.value_or(Stated{-1, -1});
}

TEST(Figure, ANumberKnowsItsLastDigit) {
  EXPECT_EQ(read("1.46"), (Stated{1.46, 0.005}));
  EXPECT_EQ(read("748"), (Stated{748, 0.5}));
  EXPECT_EQ(read("-0.5,"), (Stated{-0.5, 0.05}));
  EXPECT_DOUBLE_EQ(read("5e-05").half_unit, 5e-6);
  EXPECT_DOUBLE_EQ(read("1.5e+3").half_unit, 50);
  EXPECT_DOUBLE_EQ(read("+2.50").half_unit, 0.005);
}

TEST(Figure, WordsAreNoNumbers) {
  std::size_t used = 0;
  for (const auto* text : {"", "-", "information", "nancy", "x", ".", "+-1", "e5"}) {
    EXPECT_FALSE(number_at(text, used)) << text;
  }
  EXPECT_TRUE(std::isnan(read("nan").value));
  EXPECT_TRUE(std::isnan(read("NaN]").value));
  EXPECT_TRUE(std::isinf(read("Infinity").value));
  EXPECT_EQ(read("-inf").value, -HUGE_VAL);
  EXPECT_EQ(read("1e999").value, HUGE_VAL);
  EXPECT_EQ(read("1e-999").value, 0);
}

TEST(Figure, WholeNumbersEndWithTheText) {
  EXPECT_TRUE(sole_number(" 0.5 "));
  EXPECT_FALSE(sole_number("0.5s"));
  EXPECT_FALSE(sole_number(""));
}

TEST(Figure, CountsMayHaveThousandsSeparators) {
  std::size_t used = 0;
  EXPECT_EQ(count_at("10,000 samples", used), 10000);
  EXPECT_EQ(used, 6u);
  EXPECT_EQ(count_at("1,234,567", used), 1234567);
  EXPECT_EQ(count_at("10,00", used), 10);
  EXPECT_EQ(count_at("4, 5", used), 4);
  EXPECT_FALSE(count_at("-4", used));
  EXPECT_FALSE(count_at("99999999999999999999", used));
}

TEST(Figure, RoundingOfTheInputsExcusesAFigure) {
  // 1.46 samples/s × 512 tokens: 747.52, but anything from 745 to 750 may have been rounded to 1.46 × 512.
  const auto tokens = range_of(stated_from(1.46)) * exactly(512);
  EXPECT_TRUE(agree(range_of(stated_from(748)), tokens));
  EXPECT_TRUE(agree(range_of(stated_from(750)), tokens));
  EXPECT_FALSE(agree(range_of(stated_from(752)), tokens));
  // 2.11 and 2.12 are both possible for 1.46 / 0.69.
  const auto speedup = range_of(stated_from(1.46)) / range_of(stated_from(0.69));
  EXPECT_TRUE(agree(range_of(stated_from(2.11)), speedup));
  EXPECT_TRUE(agree(range_of(stated_from(2.12)), speedup));
  EXPECT_FALSE(agree(range_of(stated_from(2.2)), speedup));
}

TEST(Figure, AFigureOverNothingAgreesWithAnythingLarge) {
  const auto open = exactly(10) / FigureRange{0, 0.5};
  EXPECT_TRUE(agree(exactly(1e9), open));
  EXPECT_FALSE(agree(exactly(19), open));
  EXPECT_FALSE(agree(exactly(std::nan("")), exactly(1)));
}

TEST(Figure, MessagesShowAFewDigits) {
  EXPECT_EQ(plain_figure(1379.500621), "1379.5");
  EXPECT_EQ(plain_figure(0.677), "0.677");
  EXPECT_EQ(plain_figure(0.1142), "0.1142");
  EXPECT_EQ(plain_figure(362.45), "362.45");
  EXPECT_EQ(plain_figure(95.23), "95.23");
  EXPECT_EQ(plain_figure(50), "50");
  EXPECT_EQ(plain_figure(123456.7), "123457");
  EXPECT_EQ(plain_figure(0), "0");
}

}  // namespace
}  // namespace assay
