#include "model/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "support/generated_page.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(Metric, EveryNameIsThereOnceWithADescription) {
  std::set<std::string_view> names;
  for (const auto& metric : known_metrics()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name << " is there twice";
    EXPECT_FALSE(metric.description.empty()) << metric.name;
    EXPECT_FALSE(metric.description.ends_with('.')) << metric.name;
  }
}

TEST(Metric, TheNamesOfTheContractAreKnown) {
  for (const std::string_view name : {"loss",
                                      "perplexity",
                                      "learning_rate",
                                      "grad_norm",
                                      "samples_per_second",
                                      "tokens_per_second",
                                      "step_seconds",
                                      "val_loss",
                                      "val_accuracy",
                                      "val_perplexity",
                                      "gpu_memory_bytes",
                                      "gpu_memory_peak_bytes",
                                      "host_rss_bytes",
                                      "mfu",
                                      "gpu.util",
                                      "gpu.memory_used_bytes",
                                      "gpu.temperature_c",
                                      "gpu.power_w",
                                      "gpu.sm_clock_mhz",
                                      "host.cpu_util",
                                      "host.memory_used_bytes"}) {
    const auto* metric = find_metric(name);
    ASSERT_NE(metric, nullptr) << name;
    EXPECT_EQ(metric->name, name);
  }
  EXPECT_EQ(find_metric("my_own_metric"), nullptr);
  EXPECT_EQ(find_metric(""), nullptr);
}

TEST(Metric, WhatGrowsSinceTheMachineStartedIsACounter) {
  for (const auto& metric : known_metrics()) {
    const bool grows = metric.description.find("since boot") != std::string_view::npos ||
                       metric.description.find("since the driver was loaded") != std::string_view::npos;
    if (grows) {
      EXPECT_EQ(metric.kind, MetricInfo::Kind::counter) << metric.name;
    }
  }
  EXPECT_EQ(find_metric("gpu.nvlink_replays")->kind, MetricInfo::Kind::counter);
  EXPECT_EQ(find_metric("gpu.temperature_c")->kind, MetricInfo::Kind::gauge);
}

TEST(Metric, KnowsUnitAndDirection) {
  EXPECT_EQ(find_metric("tokens_per_second")->unit, "tok/s");
  EXPECT_EQ(find_metric("tokens_per_second")->better, MetricInfo::Better::higher);
  EXPECT_EQ(find_metric("loss")->better, MetricInfo::Better::lower);
  EXPECT_EQ(find_metric("host.cpu_util")->unit, "ratio");
  EXPECT_EQ(find_metric("workload.cpu_util")->unit, "cores");
}

TEST(Metric, TheUnitMatchesTheEndOfTheName) {
  const std::vector<std::pair<std::string_view, std::string_view>> ends = {
      {"_bytes_per_second", "B/s"}, {"_bytes", "B"}, {"_seconds", "s"}, {"_c", "°C"}, {"_w", "W"}, {"_mhz", "MHz"}};
  for (const auto& metric : known_metrics()) {
    for (const auto& [end, unit] : ends) {
      if (metric.name.ends_with(end)) {
        EXPECT_EQ(metric.unit, unit) << metric.name;
      }
    }
  }
}

TEST(MetricReference, ListsEveryMetricOnce) {
  const std::string page = metric_reference();
  for (const auto& metric : known_metrics()) {
    const std::string cell = "| `" + std::string(metric.name) + "` |";
    const auto first = page.find(cell);
    ASSERT_NE(first, std::string::npos) << metric.name;
    EXPECT_EQ(page.find(cell, first + 1), std::string::npos) << metric.name;
  }
  EXPECT_THAT(page, HasSubstr("| `tokens_per_second` | tok/s | higher |"));
}

TEST(Metric, WhatIsShownHasAPlaceOfItsOwn) {
  for (const auto where : {&MetricInfo::Places::curve, &MetricInfo::Places::resource, &MetricInfo::Places::study}) {
    int last = 0;
    for (const auto name : metrics_shown(where)) {
      const int place = find_metric(name)->places.*where;
      EXPECT_GT(place, last) << name;
      last = place;
    }
    EXPECT_GT(last, 3);
  }
  EXPECT_EQ(metrics_shown(&MetricInfo::Places::study).front(), "loss");
}

TEST(DifferentLines, AreThoseThatWereLostAndThoseThatAreNew) {
  EXPECT_EQ(test::different_lines({"a", "b", "c", "d"}, {"a", "B", "c", "d"}), "-2: b\n+2: B\n");
  EXPECT_EQ(test::different_lines({"a", "c"}, {"a", "b", "c", "d"}), "+2: b\n+4: d\n");
  EXPECT_EQ(test::different_lines({"a", "b", "c"}, {"c"}), "-1: a\n-2: b\n");
  EXPECT_EQ(test::different_lines({"a", "b"}, {"x", "y"}, 3), "-1: a\n-2: b\n+1: x\n… and 1 more\n");
  EXPECT_EQ(test::different_lines({"a"}, {"a"}), "");
}

TEST(GeneratedPage, OfMetrics) { test::expect_generated_page("docs/reference/metrics.md", metric_reference()); }

}  // namespace
}  // namespace assay
