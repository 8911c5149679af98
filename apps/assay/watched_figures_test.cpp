#include "watched_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

const TerminalStyle kPlain{.colour = false, .unicode = false};
constexpr std::size_t kWide = 200;

TEST(WatchedFigures, OfATrainingAreTheFirstThree) {
  EXPECT_EQ(watched_figures({{"loss", 0.25}, {"val_accuracy", 0.5}, {"tokens_per_second", 2000}, {"other", 1}}, kPlain,
                            kWide),
            "  loss 0.25  val_accuracy 50%  tokens_per_second 2,000 tok/s");
}

TEST(WatchedFigures, OfALoadAreWhatWasAskedAndWhatCame) {
  std::map<std::string, double> last = {{"requests_sent_per_second", 19.5},
                                        {"requests_asked_per_second", 20},
                                        {"requests_in_flight", 7},
                                        {"requests_failed", 0},
                                        {"ttft_seconds", 0.12},
                                        {"ttft_live_p99_seconds", 0.3},
                                        {"tpot_seconds", 0.02},
                                        {"tpot_live_p99_seconds", 0.031},
                                        {"latency_seconds", 2},
                                        {"latency_live_p99_seconds", 3}};
  EXPECT_TRUE(is_load(last));
  EXPECT_EQ(watched_figures(last, kPlain, kWide),
            "  19.5 of 20 req/s  7 in flight  0 failed  ttft p50 120 ms p99 300 ms  tpot p50 20.0 ms p99 31.0 ms"
            "  latency p50 2.00 s p99 3.00 s");
  EXPECT_EQ(watched_figures(last, kPlain, 80), "  19.5 of 20 req/s  7 in flight  0 failed  ttft p50 120 ms p99 300 ms")
      << "a line that is longer than the terminal would stay there";
  last["requests_failed"] = 3;
  const TerminalStyle coloured{.colour = true};
  EXPECT_THAT(watched_figures(last, coloured, 80), testing::HasSubstr(coloured.paint(Colour::red, "3 failed")));
  EXPECT_THAT(watched_figures(last, coloured, 80), testing::HasSubstr("ttft")) << "colours take no room";
}

TEST(WatchedFigures, OfAClosedLoopHaveNoRateThatWasAskedFor) {
  EXPECT_EQ(watched_figures({{"requests_sent_per_second", 812.4}, {"requests_in_flight", 64}}, kPlain, kWide),
            "  812.4 req/s  64 in flight  0 failed");
}

}  // namespace
}  // namespace assay
