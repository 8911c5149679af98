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
  EXPECT_EQ(metrics->scan("step 120: loss=1").step, 120);
  EXPECT_EQ(metrics->scan("[iter=7/100] loss=1").step, 7);
  EXPECT_EQ(metrics->scan("loss=1").step, std::nullopt);
}

TEST(TextMetrics, UsersOwnNamesAndExpressions) {
  EXPECT_EQ(found_in("reward 3.5", {{"reward", ""}}), (Metrics{{"reward", 3.5}}));
  EXPECT_EQ(found_in("request took 12.5 ms", {{"latency_ms", "took ([0-9.]+) ms"}}), (Metrics{{"latency_ms", 12.5}}));
  EXPECT_EQ(found_in("nothing here", {{"latency_ms", "took ([0-9.]+) ms"}}), Metrics{});
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

}  // namespace
}  // namespace assay
