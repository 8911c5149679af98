#include "runs/text_metrics.h"

#include <gmock/gmock.h>

#include <cmath>

namespace assay {
namespace {

std::map<std::string, double> found_in(std::string_view line, std::vector<MetricPattern> patterns = {}) {
  auto metrics = TextMetrics::make(std::move(patterns));
  EXPECT_TRUE(metrics.ok());
  std::map<std::string, double> found;
  for (const auto& metric : metrics->scan(line).metrics) found.emplace(metric.name, metric.value);
  return found;
}

using Metrics = std::map<std::string, double>;

TEST(TextMetrics, ReadsTheUsualSpellings) {
  EXPECT_EQ(found_in("loss=0.12"), (Metrics{{"loss", 0.12}}));
  EXPECT_EQ(found_in("Epoch 3 | Train_Loss: 1e-3 | val_acc = 0.953"),
            (Metrics{{"loss", 1e-3}, {"val_accuracy", 0.953}}));
  EXPECT_EQ(found_in("12/100 [00:01<00:09, 9.1it/s, loss=0.5, val_loss=0.119, val_acc=0.953]"),
            (Metrics{{"loss", 0.5}, {"val_loss", 0.119}, {"val_accuracy", 0.953}}));
  EXPECT_EQ(found_in("{'loss': 2.5, 'grad_norm': 0.7, 'learning_rate': 5e-05, 'epoch': 0.1}"),
            (Metrics{{"loss", 2.5}, {"grad_norm", 0.7}, {"learning_rate", 5e-05}}));
  EXPECT_EQ(found_in("tokens/s=3200 loss=-0.5"), (Metrics{{"tokens_per_second", 3200}, {"loss", -0.5}}));
}

TEST(TextMetrics, LeavesOtherNumbersAlone) {
  for (const auto* line : {"loss", "loss=", "loss=abc", "glossy=1", "my_loss_fn=3", "port=8080",
                           "the loss was 5 dollars", "flossloss=2", "seed=42", "lossless: 1"}) {
    EXPECT_EQ(found_in(line), Metrics{}) << line;
  }
}

TEST(TextMetrics, NonFiniteValuesAreFound) {
  const auto found = found_in("loss=nan val_loss=inf");
  EXPECT_TRUE(std::isnan(found.at("loss")));
  EXPECT_TRUE(std::isinf(found.at("val_loss")));
}

TEST(TextMetrics, FindsTheStep) {
  auto metrics = TextMetrics::make({});
  EXPECT_EQ(metrics->scan("step 120: loss=1").step->at, 120);
  EXPECT_EQ(metrics->scan("[iter=7/100] loss=1").step->at, 7);
  EXPECT_EQ(metrics->scan("[iter=7/100] loss=1").step->of, 100);
  EXPECT_FALSE(metrics->scan("loss=1").step);
  EXPECT_FALSE(metrics->scan("epoch_step=1 step_size=3 loss=1").step);
  EXPECT_EQ(metrics->scan("Epoch: [3][ 10/500] Loss 1 (1)").epoch, 3);
  EXPECT_FALSE(metrics->scan("{'loss': 1, 'epoch': 1.0}").epoch) << "part of an epoch is no place to count from";
}

TEST(TextMetrics, UsersOwnNamesAndExpressions) {
  EXPECT_EQ(found_in("reward 3.5", {{"reward", ""}}), (Metrics{{"reward", 3.5}}));
  EXPECT_EQ(found_in("request took 12.5 ms", {{"latency_ms", "took ([0-9.]+) ms"}}), (Metrics{{"latency_ms", 12.5}}));
  EXPECT_EQ(found_in("nothing here", {{"latency_ms", "took ([0-9.]+) ms"}}), Metrics{});
}

TEST(TextMetrics, AUsersOwnNameAddsToTheKnownSpellings) {
  EXPECT_EQ(found_in("val_acc: 0.95", {{"val_accuracy", ""}}), (Metrics{{"val_accuracy", 0.95}}));
  EXPECT_EQ(found_in("f1 87.5%", {{"f1", ""}}), (Metrics{{"f1", 0.875}}));
  EXPECT_EQ(found_in("latency_ms: 1,234.5", {{"latency_ms", ""}}), (Metrics{{"latency_ms", 1234.5}}));
  EXPECT_EQ(found_in("took 12ms", {{"took", ""}}), (Metrics{{"took", 12}})) << "only the user knows its unit";
}

TEST(TextMetrics, SaysWhatItDidToANumber) {
  auto metrics = TextMetrics::make({}).value();
  EXPECT_EQ(metrics.scan("val acc: 95.5%").metrics.at(0).how, "percent → share");
  EXPECT_EQ(metrics.scan("iter 3: loss 1, time 20ms").metrics.at(1).how, "ms → s");
  EXPECT_EQ(metrics.scan("val_loss: 0.5").metrics.at(0).how, "");
}

TEST(TextMetrics, AnExpressionReplacesTheBuiltInMetricOfItsName) {
  auto metrics = TextMetrics::make({{"loss", "final loss=([0-9.]+)"}});
  EXPECT_TRUE(metrics->scan("loss=1 val_loss=2").metrics.size() == 1);
  const auto& found = metrics->scan("final loss=3").metrics;
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].value, 3);
}

TEST(TextMetrics, BadExpressionsAreUsageErrors) {
  const auto broken = TextMetrics::make({{"x", "([0-9"}});
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().kind, ErrorKind::usage);
  EXPECT_THAT(broken.error().message, testing::HasSubstr("'([0-9'"));
  const auto no_group = TextMetrics::make({{"x", "[0-9]+"}});
  ASSERT_FALSE(no_group.ok());
  EXPECT_THAT(no_group.error().message, testing::HasSubstr("exactly one group"));
}

TEST(TextMetrics, LongLinesDoNotExhaustTheStack) {
  const std::string line = std::string(500'000, 'a') + " took 1 ms";
  EXPECT_EQ(found_in(line, {{"latency_ms", "(?:a|b)*took ([0-9.]+) ms"}}), Metrics{});
}

TEST(TextMetrics, LongLinesTakeTimeInProportion) {
  // Each of these invites a reader to look ahead again and again: hours, which the test's time limit would end.
  for (const std::string part :
       {"loss ", "(", "[rank", "[1,", "1/", "Epoch [", "loss (", "\x1b[", "9", "1,234", "loss=tensor("}) {
    std::string line;
    while (line.size() < 1'000'000) line += part;
    EXPECT_LT(found_in(line).size(), line.size()) << part;
  }
}

TEST(PrintedNumber, ReadsWhatStandsAroundIt) {
  using Unit = PrintedNumber::Unit;
  const auto number = [](std::string_view text) { return printed_number_at(text).value(); };
  EXPECT_EQ(number("1,234,567.5 x").value, 1234567.5);
  EXPECT_EQ(number("-1e-3,").value, -1e-3);
  EXPECT_EQ(number(".5").value, 0.5);
  EXPECT_EQ(number("1.2M").value, 1.2e6);
  EXPECT_EQ(number("3k ").value, 3000);
  EXPECT_EQ(number("123ms").factor, 1e-3);
  EXPECT_EQ(number("12 µs").factor, 1e-6);
  EXPECT_EQ(number("98.2 %").unit, Unit::percent);
  EXPECT_EQ(number("9847/10000 (98%)").of, 10000);
  EXPECT_EQ(number("6.9 ( 7.0)").average, 7.0);
  EXPECT_EQ(number("155,123 tok/s").unit, Unit::tokens_rate);
  EXPECT_EQ(number("0.25 samples/s=3").unit, Unit::none) << "a name of the next number";
  EXPECT_TRUE(number("0,25").doubtful);
  EXPECT_TRUE(std::isinf(number("-Infinity").value));
  EXPECT_TRUE(std::isnan(number("NaN").value));
  EXPECT_TRUE(std::isinf(number("1e999").value));
  EXPECT_EQ(number("1e-999").value, 0);
  for (const auto* text : {"", "-", ".", "abc", "1.2.3", "3rd", "0x1f", "nano", "info", "12abc", "1_000", "5'"}) {
    const auto read = printed_number_at(text);
    EXPECT_TRUE(!read || std::string_view(text) == "5'") << text;
  }
}

}  // namespace
}  // namespace assay
