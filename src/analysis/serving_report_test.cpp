#include "analysis/serving_report.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The two-node report that claims 2.05 samples/s, no failures and super-linear scaling.
ServingRun golden_report() {
  ServingRun run;
  run.wall_seconds = 22.16;
  run.mean_output_tokens = 31.3;
  run.nodes = {{.name = "A",
                .asked = 10,
                .done = 10,
                .stated_samples_per_second = 1.07,
                .mean_latency_s = 0.936,
                .tokens_per_second = 34.5,
                .run_seconds = 21.04,
                .memory_used_bytes = 15.83e9},
               {.name = "B",
                .asked = 10,
                .done = 5,
                .stated_samples_per_second = 0.98,
                .mean_latency_s = 1.024,
                .tokens_per_second = 32.3,
                .run_seconds = 21.89,
                .memory_used_bytes = 15.83e9}};
  return run;
}

TEST(ServingReport, GoldenFiguresToThePrintedDigits) {
  const auto report = report_serving(golden_report());
  const auto& total = report.total;
  EXPECT_EQ(fmt::format("{} of {} ({:.0f} %), {} lost", total.done, total.asked, *total.success * 100, total.lost),
            "15 of 20 (75 %), 5 lost");
  EXPECT_EQ(fmt::format("{:.3f} {:.3f} {:.3f}", *total.samples_per_second, *report.nodes[0].samples_per_second,
                        *report.nodes[1].samples_per_second),
            "0.677 0.475 0.228");
  EXPECT_EQ(fmt::format("{:.0f} ms", *total.mean_latency_s * 1000), "965 ms");
  EXPECT_EQ(fmt::format("{:.1f} tok/s", *total.tokens_per_second), "21.2 tok/s");
  EXPECT_EQ(fmt::format("{:.0f} ms, {:.1f} %, {:.1f} %", *total.latency_gap_s * 1000, *total.throughput_gap * 100,
                        *total.token_rate_spread * 100),
            "88 ms, 9.2 %, 6.6 %");
  EXPECT_FALSE(total.speedup);
  EXPECT_FALSE(total.efficiency);
  EXPECT_FALSE(report.nodes[0].memory_share);
  EXPECT_FALSE(report.mlperf_valid);
  EXPECT_THAT(report.invalid_reasons,
              ElementsAre("samples: 15 of at least 24,576", "lost samples: 5", "duration: 22.16 s of at least 600 s"));
  EXPECT_THAT(report.notes, ElementsAre("5 of 10 samples were lost on B (50 % of its share).",
                                        HasSubstr("No scaling is given"), HasSubstr("No share of memory")));
}

TEST(ServingReport, AMeasuredBaselineGivesScaling) {
  auto run = golden_report();
  run.one_node_samples_per_second = 0.5;
  const auto report = report_serving(run);
  EXPECT_NEAR(*report.total.speedup, 15 / 22.16 / 0.5, 1e-12);
  EXPECT_NEAR(*report.total.efficiency, 15 / 22.16 / 0.5 / 2, 1e-12);
}

TEST(ServingReport, AFullRunIsValid) {
  ServingRun run;
  run.wall_seconds = 601;
  run.nodes = {
      {.name = "A", .asked = 30'000, .done = 30'000, .memory_used_bytes = 40e9, .memory_capacity_bytes = 80e9}};
  const auto report = report_serving(run);
  EXPECT_TRUE(report.mlperf_valid);
  EXPECT_THAT(report.notes, IsEmpty());
  EXPECT_NEAR(*report.nodes[0].memory_share, 0.5, 1e-12);
  EXPECT_FALSE(report.total.mean_latency_s);
  EXPECT_FALSE(report.total.throughput_gap);
}

TEST(ServingReport, NothingIsAnswered) {
  const auto report = report_serving({});
  EXPECT_FALSE(report.mlperf_valid);
  EXPECT_FALSE(report.total.success);
  EXPECT_FALSE(report.total.samples_per_second);
}

}  // namespace
}  // namespace assay
