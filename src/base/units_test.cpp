#include "base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

using namespace std::chrono_literals;

/// The rule that a text breaks; fails the test if it breaks none.
template <typename T>
std::string rule_of(const Result<T>& result) {
  if (result.ok()) {
    ADD_FAILURE() << "was accepted";
    return {};
  }
  EXPECT_EQ(result.error().kind, ErrorKind::bad_spec);
  return result.error().message;
}

TEST(ParseDuration, ReadsEveryUnit) {
  EXPECT_EQ(*parse_duration("7ns"), 7ns);
  EXPECT_EQ(*parse_duration("7us"), 7us);
  EXPECT_EQ(*parse_duration("7\u00B5s"), 7us);  // micro sign
  EXPECT_EQ(*parse_duration("7\u03BCs"), 7us);  // Greek mu
  EXPECT_EQ(*parse_duration("7ms"), 7ms);
  EXPECT_EQ(*parse_duration("7s"), 7s);
  EXPECT_EQ(*parse_duration("7min"), 7min);
  EXPECT_EQ(*parse_duration("7h"), 7h);
  EXPECT_EQ(*parse_duration("7d"), 24h * 7);
}

TEST(ParseDuration, IsExact) {
  EXPECT_EQ(*parse_duration("0.1s"), 100ms);
  EXPECT_EQ(*parse_duration("9007199.254740993s"), Nanos(9007199254740993));  // no double holds this
  EXPECT_EQ(*parse_duration(".5s"), 500ms);
  EXPECT_EQ(*parse_duration("1e3s"), 1000s);
  EXPECT_EQ(*parse_duration("25E-1ms"), 2500us);
  EXPECT_EQ(*parse_duration("1e+2s"), 100s);
  EXPECT_EQ(*parse_duration("1.6ns"), 2ns);
  EXPECT_EQ(*parse_duration("0s"), 0ns);
  EXPECT_EQ(*parse_duration("0e999999999999s"), 0ns);
  EXPECT_EQ(*parse_duration("9223372036854775807ns"), Nanos::max());
}

TEST(ParseDuration, ReadsPartsAndBlanks) {
  EXPECT_EQ(*parse_duration("1h30min"), 90min);
  EXPECT_EQ(*parse_duration("1d 2h 3min 4s"), 26h + 3min + 4s);
  EXPECT_EQ(*parse_duration("  10 s "), 10s);
}

TEST(ParseDuration, NamesTheMissingUnitWithTheUsersNumber) {
  EXPECT_EQ(rule_of(parse_duration("10")), "has no unit. Write '10s' or '10ms'.");
  EXPECT_EQ(rule_of(parse_duration("2.5")), "has no unit. Write '2.5s' or '2.5ms'.");
  EXPECT_EQ(rule_of(parse_duration("0")), "has no unit. Write '0s' or '0ms'.");
  EXPECT_EQ(rule_of(parse_duration("1h30")), "ends with '30', which has no unit. Write '30s' or '30ms'.");
}

TEST(ParseDuration, UnknownUnitsGetAProposal) {
  EXPECT_EQ(rule_of(parse_duration("10sec")), "has the unknown unit 'sec'. Did you mean '10s'?");
  EXPECT_EQ(rule_of(parse_duration("10 Minutes")), "has the unknown unit 'Minutes'. Did you mean '10min'?");
  EXPECT_EQ(rule_of(parse_duration("10S")), "has the unknown unit 'S'. Did you mean '10s'?");
  EXPECT_EQ(rule_of(parse_duration("10min5sec")), "has the unknown unit 'sec'. Did you mean '5s'?");
  EXPECT_EQ(rule_of(parse_duration("10m")), "has the ambiguous unit 'm'. Write '10min' or '10ms'.");
  EXPECT_EQ(rule_of(parse_duration("10M")), "has the ambiguous unit 'M'. Write '10min' or '10ms'.");
  EXPECT_EQ(rule_of(parse_duration("10furlongs")),
            "has the unknown unit 'furlongs'. The units are ns, us, ms, s, min, h and d.");
}

TEST(ParseDuration, RefusesWhatIsNoDuration) {
  const std::string no_duration = "is not a duration. Write a number with a unit, like '10s' or '10ms'.";
  EXPECT_EQ(rule_of(parse_duration("")), no_duration);
  EXPECT_EQ(rule_of(parse_duration("  ")), no_duration);
  EXPECT_EQ(rule_of(parse_duration("soon")), no_duration);
  EXPECT_EQ(rule_of(parse_duration(".")), no_duration);
  EXPECT_EQ(rule_of(parse_duration("1.2.3s")), no_duration);
  EXPECT_EQ(rule_of(parse_duration("10 000s")), no_duration);
  EXPECT_EQ(rule_of(parse_duration("nan")), no_duration);
  EXPECT_EQ(rule_of(parse_duration("-5s")), "must not be negative.");
  EXPECT_EQ(rule_of(parse_duration("\u22125s")), "must not be negative.");
  EXPECT_EQ(rule_of(parse_duration("1h-5s")), "must not be negative.");
  EXPECT_EQ(rule_of(parse_duration("30min1h")),
            "has its parts out of order. Write the larger unit first, like '1h30min'.");
  EXPECT_EQ(rule_of(parse_duration("1h1h")),
            "has its parts out of order. Write the larger unit first, like '1h30min'.");
}

TEST(ParseDuration, ExplainsCommas) {
  EXPECT_EQ(rule_of(parse_duration("1,5s")), "has a comma in its number. Write '1.5s'.");
  EXPECT_EQ(rule_of(parse_duration("1,000s")), "has a comma in its number. Write '1000s' or '1.000s'.");
  EXPECT_EQ(rule_of(parse_duration("1,000,000s")), "has commas in its number. Write '1000000s'.");
}

TEST(ParseDuration, RefusesWhatDoesNotFit) {
  EXPECT_EQ(rule_of(parse_duration("106752d")), "is too large: the largest duration is 106751d.");
  EXPECT_EQ(rule_of(parse_duration("1e300s")), "is too large: the largest duration is 106751d.");
  EXPECT_EQ(rule_of(parse_duration("1e99999999999s")), "is too large: the largest duration is 106751d.");
  EXPECT_EQ(rule_of(parse_duration("106751d 24h")), "is too large: the largest duration is 106751d.");
  EXPECT_TRUE(parse_duration("106751d").ok());
  EXPECT_EQ(rule_of(parse_duration("0.4ns")), "is too small: the smallest duration is 1ns.");
  EXPECT_EQ(rule_of(parse_duration("1e-99999999999s")), "is too small: the smallest duration is 1ns.");
  EXPECT_EQ(rule_of(parse_duration("1.234567890123456789012s")), "has too many digits.");
}

TEST(ParseBytes, ReadsEveryUnit) {
  EXPECT_EQ(parse_bytes("512B")->count, 512);
  EXPECT_EQ(parse_bytes("3kB")->count, 3000);
  EXPECT_EQ(parse_bytes("3MB")->count, 3'000'000);
  EXPECT_EQ(parse_bytes("20GB")->count, 20'000'000'000);
  EXPECT_EQ(parse_bytes("3TB")->count, 3'000'000'000'000);
  EXPECT_EQ(parse_bytes("3KiB")->count, 3072);
  EXPECT_EQ(parse_bytes("3MiB")->count, 3 << 20);
  EXPECT_EQ(parse_bytes("24 GiB")->count, std::int64_t{24} << 30);
  EXPECT_EQ(parse_bytes("3TiB")->count, std::int64_t{3} << 40);
  EXPECT_EQ(parse_bytes("1.5GiB")->count, std::int64_t{3} << 29);
  EXPECT_EQ(parse_bytes("1.46GiB")->count, 1567663063);  // to the nearest byte
}

TEST(ParseBytes, ExplainsMistakes) {
  EXPECT_EQ(rule_of(parse_bytes("24")), "has no unit. Write '24GB' or '24GiB'.");
  EXPECT_EQ(rule_of(parse_bytes("24G")), "has the ambiguous unit 'G'. Write '24GB' or '24GiB'.");
  EXPECT_EQ(rule_of(parse_bytes("24M")), "has the ambiguous unit 'M'. Write '24MB' or '24MiB'.");
  EXPECT_EQ(rule_of(parse_bytes("24m")), "has the ambiguous unit 'm'. Write '24MB' or '24MiB'.");
  EXPECT_EQ(rule_of(parse_bytes("24KB")), "has the ambiguous unit 'KB'. Write '24kB' or '24KiB'.");
  EXPECT_EQ(rule_of(parse_bytes("24gb")), "has the unknown unit 'gb'. Did you mean '24GB'?");
  EXPECT_EQ(rule_of(parse_bytes("24Gi")), "has the unknown unit 'Gi'. Did you mean '24GiB'?");
  EXPECT_EQ(rule_of(parse_bytes("24gib")), "has the unknown unit 'gib'. Did you mean '24GiB'?");
  EXPECT_EQ(rule_of(parse_bytes("24 bytes")), "has the unknown unit 'bytes'. Did you mean '24B'?");
  EXPECT_EQ(rule_of(parse_bytes("24 acres")),
            "has the unknown unit 'acres'. The units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB.");
  EXPECT_EQ(rule_of(parse_bytes("-1B")), "must not be negative.");
  EXPECT_EQ(rule_of(parse_bytes("1,5GB")), "has a comma in its number. Write '1.5GB'.");
  EXPECT_EQ(rule_of(parse_bytes("1GB 2MB")), "is not a size. Write a number with a unit, like '24GB' or '24GiB'.");
  EXPECT_EQ(rule_of(parse_bytes("9e6TiB")), "is too large: the largest size is 8388607TiB.");
  EXPECT_EQ(rule_of(parse_bytes("0.1B")), "is too small: the smallest size is 1B.");
}

TEST(ParseRate, ReadsEveryUnitAsPerSecond) {
  EXPECT_EQ(*parse_rate("20/s"), 20.0);
  EXPECT_EQ(*parse_rate("90/min"), 1.5);
  EXPECT_EQ(*parse_rate("1800/h"), 0.5);
  EXPECT_EQ(*parse_rate("5Hz"), 5.0);
  EXPECT_EQ(*parse_rate("1.5 kHz"), 1500.0);
  EXPECT_EQ(*parse_rate("2e-1 /s"), 0.2);
}

TEST(ParseRate, ExplainsMistakes) {
  EXPECT_EQ(rule_of(parse_rate("20")), "has no unit. Write '20/s' or '20/min'.");
  EXPECT_EQ(rule_of(parse_rate("20 req/s")), "has the unknown unit 'req/s'. Did you mean '20/s'?");
  EXPECT_EQ(rule_of(parse_rate("20qps")), "has the unknown unit 'qps'. Did you mean '20/s'?");
  EXPECT_EQ(rule_of(parse_rate("20s")), "has the unknown unit 's'. Did you mean '20/s'?");
  EXPECT_EQ(rule_of(parse_rate("20hz")), "has the unknown unit 'hz'. Did you mean '20Hz'?");
  EXPECT_EQ(rule_of(parse_rate("20 knots")), "has the unknown unit 'knots'. The units are /s, /min, /h, Hz and kHz.");
  EXPECT_EQ(rule_of(parse_rate("often")), "is not a rate. Write a number with a unit, like '20/s' or '20/min'.");
  EXPECT_EQ(rule_of(parse_rate("-20/s")), "must not be negative.");
  EXPECT_EQ(rule_of(parse_rate("1e999/s")), "is out of range.");
}

TEST(ParsePrice, ReadsAmountCurrencyAndUnit) {
  EXPECT_EQ(*parse_price("0.60 USD/GPUh"), (Price{0.6, "USD", "GPUh"}));
  EXPECT_EQ(*parse_price("1.20 EUR/h"), (Price{1.2, "EUR", "h"}));
  EXPECT_EQ(*parse_price(" 2USD / GPUh "), (Price{2, "USD", "GPUh"}));
}

TEST(ParsePrice, ExplainsMistakes) {
  EXPECT_EQ(rule_of(parse_price("0.60")), "has no unit. Write '0.60 USD/GPUh' or '0.60 USD/h'.");
  EXPECT_EQ(rule_of(parse_price("0.60 EUR")), "does not say for what. Write '0.60 EUR/GPUh' or '0.60 EUR/h'.");
  EXPECT_EQ(rule_of(parse_price("0.60 usd/h")), "has the unknown currency 'usd'. Did you mean 'USD'?");
  EXPECT_EQ(rule_of(parse_price("0.60 dollars/h")),
            "has the unknown currency 'dollars'. Write three capital letters, like 'USD' or 'EUR'.");
  EXPECT_EQ(rule_of(parse_price("0.60 USD/gpu-hour")),
            "has the unknown unit 'gpu-hour'. Did you mean '0.60 USD/GPUh'?");
  EXPECT_EQ(rule_of(parse_price("0.60 USD/hour")), "has the unknown unit 'hour'. Did you mean '0.60 USD/h'?");
  EXPECT_EQ(rule_of(parse_price("0.60 USD/rack")), "has the unknown unit 'rack'. The units are GPUh and h.");
  EXPECT_EQ(rule_of(parse_price("$0.60/h")), "is not a price. Write it like '0.60 USD/GPUh' or '0.60 USD/h'.");
  EXPECT_EQ(rule_of(parse_price("")), "is not a price. Write it like '0.60 USD/GPUh' or '0.60 USD/h'.");
  EXPECT_EQ(rule_of(parse_price("-1 USD/h")), "must not be negative.");
  EXPECT_EQ(rule_of(parse_price("0,60 USD/h")), "has a comma in its number. Write '0.60 USD/h'.");
}

TEST(FormatDuration, ChoosesTheUnitByWhatItShows) {
  EXPECT_EQ(format_duration(0ns), "0 s");
  EXPECT_EQ(format_duration(870ns), "870 ns");
  EXPECT_EQ(format_duration(870us), "870 µs");
  EXPECT_EQ(format_duration(1234us), "1.23 ms");
  EXPECT_EQ(format_duration(12340us), "12.3 ms");
  EXPECT_EQ(format_duration(999'600us), "1.00 s");
  EXPECT_EQ(format_duration(1234ms), "1.23 s");
  EXPECT_EQ(format_duration(9996ms), "10.0 s");
  EXPECT_EQ(format_duration(59'900ms), "59.9 s");
  EXPECT_EQ(format_duration(59'970ms), "1 min 00 s");
  EXPECT_EQ(format_duration(245s), "4 min 05 s");
  EXPECT_EQ(format_duration(3599s + 600ms), "1 h 00 min");
  EXPECT_EQ(format_duration(2h + 3min), "2 h 03 min");
  EXPECT_EQ(format_duration(24h - 1s), "1 d 00 h");
  EXPECT_EQ(format_duration(76h), "3 d 04 h");
  EXPECT_EQ(format_duration(-1234ms), "-1.23 s");
  EXPECT_EQ(format_duration(Nanos::max()), "106,752 d 00 h");
  EXPECT_EQ(format_duration(Nanos::min()), "-106,752 d 00 h");
}

TEST(FormatBytes, UsesBinaryUnits) {
  EXPECT_EQ(format_bytes({0}), "0 B");
  EXPECT_EQ(format_bytes({512}), "512 B");
  EXPECT_EQ(format_bytes({1010}), "1,010 B");
  EXPECT_EQ(format_bytes({1024}), "1.00 KiB");
  EXPECT_EQ(format_bytes({1567663063}), "1.46 GiB");
  EXPECT_EQ(format_bytes({(std::int64_t{1} << 30) - 1}), "1.00 GiB");
  EXPECT_EQ(format_bytes({1010 * 1024}), "1010 KiB");
  EXPECT_EQ(format_bytes({-2048}), "-2.00 KiB");
  EXPECT_EQ(format_bytes({std::numeric_limits<std::int64_t>::max()}), "8.00 EiB");
}

TEST(FormatCount, ShowsThreeDigitsAndWholeNumbersInFull) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(-0.0), "0");
  EXPECT_EQ(format_count(3), "3");
  EXPECT_EQ(format_count(1379), "1,379");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(-999), "-999");
  EXPECT_EQ(format_count(0.119), "0.119");
  EXPECT_EQ(format_count(0.0002), "0.0002");
  EXPECT_EQ(format_count(1.2345e-5), "1.23e-05");
  EXPECT_EQ(format_count(12.345), "12.3");
  EXPECT_EQ(format_count(999.4), "999");
  EXPECT_EQ(format_count(999.7), "1,000");
  EXPECT_EQ(format_count(12345.67), "12,346");
  EXPECT_EQ(format_count(1e18), "1e+18");
}

TEST(FormatValue, WritesEveryUnit) {
  EXPECT_EQ(format_value(0.119, ""), "0.119");
  EXPECT_EQ(format_value(0.00087, "s"), "870 µs");
  EXPECT_EQ(format_value(1e-10, "s"), "0.1 ns");
  EXPECT_EQ(format_value(1e17, "s"), "1e+17 s");
  EXPECT_EQ(format_value(1567663063, "B"), "1.46 GiB");
  EXPECT_EQ(format_value(1567663063, "B/s"), "1.46 GiB/s");
  EXPECT_EQ(format_value(1379, "1/s"), "1,379/s");
  EXPECT_EQ(format_value(7.907e14, "FLOP/s"), "791 TFLOP/s");
  EXPECT_EQ(format_value(748.2, "tok/s"), "748 tok/s");
  EXPECT_EQ(format_value(1.46, "samples/s"), "1.46 samples/s");
  EXPECT_EQ(format_value(312.4, "W"), "312 W");
  EXPECT_EQ(format_value(65, "°C"), "65 °C");
  EXPECT_EQ(format_value(1980, "MHz"), "1,980 MHz");
  EXPECT_EQ(format_value(97.31, "%"), "97.3%");
  EXPECT_EQ(format_value(0.9731, "ratio"), "97.3%");
  EXPECT_EQ(format_value(0.07, "ratio"), "7%");
  EXPECT_EQ(format_value(1, "ratio"), "100%");
}

TEST(FormatValue, NamesWhatIsNotANumberWithoutAUnit) {
  for (const auto* unit : {"", "s", "B", "ratio", "W"}) {
    EXPECT_EQ(format_value(std::nan(""), unit), "NaN");
    EXPECT_EQ(format_value(std::numeric_limits<double>::infinity(), unit), "inf");
    EXPECT_EQ(format_value(-std::numeric_limits<double>::infinity(), unit), "-inf");
  }
}

}  // namespace
}  // namespace assay
