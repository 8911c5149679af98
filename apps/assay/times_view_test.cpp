#include "times_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const TerminalStyle kBare{.colour = false, .unicode = false, .width = 100};

TEST(ViewTimes, HasARowForEachKindAndAColumnForEachPercentileThatWasRecorded) {
  const TimesView view = view_times({{"latency_p50_seconds", 0.2},
                                     {"latency_p99_seconds", 0.31},
                                     {"latency_max_seconds", 2},
                                     {"mean_latency_seconds", 0.22},
                                     {"ttft_p50_seconds", 0.012},
                                     {"ttft_p99_seconds", 0.05},
                                     {"latency_seconds", 1},
                                     {"samples_done", 9}},
                                    kBare);
  EXPECT_EQ(view.table,
            "  Time       Mean      p50      p99     Max\n"
            "  -------  ------  -------  -------  ------\n"
            "  ttft          -  12.0 ms  50.0 ms       -\n"
            "  latency  220 ms   200 ms   310 ms  2.00 s\n");
  EXPECT_THAT(view.shown, ElementsAre("latency_max_seconds", "latency_p50_seconds", "latency_p99_seconds",
                                      "mean_latency_seconds", "ttft_p50_seconds", "ttft_p99_seconds"))
      << "everything else stays in the table of results";
}

TEST(ViewTimes, IsEmptyForRunsThatAreNoLoads) {
  const TimesView view = view_times({{"loss", 0.5}, {"mean_latency_seconds", 1}}, kBare);
  EXPECT_THAT(view.table, IsEmpty());
  EXPECT_THAT(view.shown, IsEmpty());
}

TEST(ViewTimes, KeepsTheMedianAndTheTailInANarrowTerminal) {
  TerminalStyle narrow = kBare;
  narrow.width = 44;
  const TimesView view = view_times({{"ttft_min_seconds", 0.001},
                                     {"ttft_p50_seconds", 0.012},
                                     {"ttft_p90_seconds", 0.02},
                                     {"ttft_p95_seconds", 0.03},
                                     {"ttft_p99_seconds", 0.05},
                                     {"mean_ttft_seconds", 0.013},
                                     {"ttft_max_seconds", 0.06}},
                                    narrow);
  EXPECT_EQ(view.table.substr(0, view.table.find('\n')), "  Time      p50      p90      p99      Max");
  EXPECT_THAT(view.shown, testing::SizeIs(7)) << "what has no room is not listed below instead";
}

}  // namespace
}  // namespace assay
