#include "model/price_book.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

GpuPrice priced(std::string gpu, double on_demand) {
  return {.gpu = std::move(gpu), .on_demand = on_demand, .spot = {}, .currency = "USD", .source = ""};
}

TEST(PriceBook, FindsTheNameThenTheLongestPattern) {
  const PriceBook book{
      .gpus = {priced("*", 1), priced("*H200*", 2), priced("nvidia h200", 3), priced("NVIDIA H200 NVL*", 4)},
      .power = {}};
  EXPECT_EQ(book.find("NVIDIA H200")->on_demand, 3);
  EXPECT_EQ(book.find("NVIDIA H200 NVL 141GB")->on_demand, 4);
  EXPECT_EQ(book.find("GH200 480GB h200")->on_demand, 2);
  EXPECT_EQ(book.find("Tesla T4")->on_demand, 1);
  EXPECT_EQ(PriceBook{}.find("NVIDIA H200"), nullptr);
}

TEST(PriceBook, TakesAmountsInACurrency) {
  EXPECT_TRUE(check_price(priced("*H200*", 0)).ok());
  EXPECT_TRUE(check_price(GpuPrice{.gpu = "a", .on_demand = {}, .spot = 1, .currency = "EUR", .source = ""}).ok());
  for (const auto& bad : {priced("", 1), priced(" ", 1), priced("a\x1b[1m", 1), priced(std::string(200, 'x'), 1),
                          priced("a", -1), priced("a", std::nan("")), priced("a", 1e9),
                          GpuPrice{.gpu = "a", .on_demand = {}, .spot = {}, .currency = "USD", .source = ""},
                          GpuPrice{.gpu = "a", .on_demand = 1, .spot = {}, .currency = "usd", .source = ""},
                          GpuPrice{.gpu = "a", .on_demand = 1, .spot = {}, .currency = "", .source = ""}}) {
    EXPECT_FALSE(check_price(bad).ok()) << bad.gpu;
  }
}

TEST(PriceBook, TakesPowerWithoutAPriceOrWithoutCo2) {
  const auto power = [](std::optional<double> per_kwh, std::string currency, std::optional<double> grams) {
    return PowerPrice{
        .site = "", .per_kwh = per_kwh, .currency = std::move(currency), .grams_co2_per_kwh = grams, .source = ""};
  };
  EXPECT_TRUE(check_price(power(0.3, "EUR", {})).ok());
  EXPECT_TRUE(check_price(power({}, "", 380)).ok());
  EXPECT_TRUE(check_price(power({}, "", {})).ok());
  EXPECT_FALSE(check_price(power(0.3, "", 380)).ok());
  EXPECT_FALSE(check_price(power({}, "", -1)).ok());
  EXPECT_FALSE(check_price(power({}, "", 20'000)).ok());
}

}  // namespace
}  // namespace assay
