#include "run_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "model/run.h"
#include "store/memory/run_memory.h"
#include "store/run_store.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kUuid = "GPU-b4944e71-d200-f8f0-76f0-b34695a85e00";

SeriesSummary steady_series(const std::string& name, double value, std::map<std::string, std::string> labels) {
  return {
      .name = name, .labels = std::move(labels), .points = 2, .last = value, .min = value, .max = value, .mean = value};
}

std::string described(std::vector<SeriesSummary> series) {
  Run run;
  run.name = "gpt2";
  run.series = std::move(series);
  const ManualClock clock;
  const auto store = open_run_memory(make_run_memory(), clock);
  return describe_run(run, *store, "", TerminalStyle{.width = 120});
}

TEST(RunView, WhatMovedComesBeforeWhatStoodStill) {
  std::vector<SeriesSummary> series;
  for (int i = 0; i < 40; ++i) {
    series.push_back(steady_series("gpu.throttle", 0, {{"gpu", kUuid}, {"reason", "r" + std::to_string(i)}}));
  }
  auto power = steady_series("gpu.power_w", 300, {{"gpu", kUuid}});
  power.max = 700;
  series.push_back(power);

  const std::string text = described(series);
  ASSERT_THAT(text, HasSubstr("gpu.power_w")) << "it is the last of more series than are shown";
  EXPECT_LT(text.find("gpu.power_w"), text.find("gpu.throttle"));
  EXPECT_THAT(text, HasSubstr("and 17 more"));
}

TEST(RunView, OfSeveralNodesAMetricsRowsStayTogether) {
  auto moved = steady_series("host.cpu_util", 0.5, {{"node", "b"}});
  moved.max = 1;
  const std::string text = described({steady_series("host.swap_used_bytes", 0, {{"node", "a"}}),
                                      steady_series("host.cpu_util", 0.1, {{"node", "a"}}), moved});
  EXPECT_LT(text.find("host.cpu_util node=a"), text.find("host.swap_used_bytes"));
}

TEST(RunView, AGpuIsNamedByTheBeginningOfItsUuid) {
  const std::string text = described({steady_series("gpu.power_w", 300, {{"gpu", kUuid}})});
  EXPECT_THAT(text, HasSubstr("gpu=GPU-b4944e71…"));
  EXPECT_THAT(text, Not(HasSubstr("d200")));
}

}  // namespace
}  // namespace assay
