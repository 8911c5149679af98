#include "serving/serve_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using std::chrono::milliseconds;

TEST(ServeProfile, TellsEndpointsAndAnswersApart) {
  QueryRecorder recorder({});
  recorder.start_at(SteadyTime());
  std::vector<Request> requests(5);
  // The first is due in the warm-up.
  for (std::uint64_t id = 0; id < 5; ++id)
    requests[id] = {.id = id, .scheduled = SteadyTime(id == 0 ? milliseconds(0) : milliseconds(10))};
  ASSERT_TRUE(recorder.take_down(requests, SteadyTime(milliseconds(10))));
  const auto end = [&](std::uint64_t id, std::uint16_t endpoint, int ms, std::uint32_t tokens,
                       RequestError error = RequestError::none) {
    recorder.complete(Completion{.id = id,
                                 .first_token = SteadyTime(milliseconds(12)),
                                 .done = SteadyTime(milliseconds(ms)),
                                 .output_tokens = tokens,
                                 .endpoint = endpoint,
                                 .outcome = error == RequestError::none ? RequestOutcome::ok : RequestOutcome::error,
                                 .error = error});
  };
  end(0, 0, 500, 99);
  end(1, 0, 20, 4);
  end(2, 1, 30, 8);
  end(3, 1, 40, 6);
  end(4, 1, 50, 0, RequestError::empty);
  recorder.close();
  const json::object facts{{"finish_reasons", {{"stop", 3}, {"odd", "x"}}}};
  const auto profile =
      profile_of({.warmup = milliseconds(5)}, LoadResult{}, recorder, {{"http://a", "http://b"}, facts});
  ASSERT_EQ(profile.endpoints.size(), 2u);
  EXPECT_EQ(profile.endpoints[0].address, "http://a");
  EXPECT_EQ(profile.endpoints[0].requests, 1u);
  EXPECT_EQ(profile.endpoints[1].requests, 3u);
  EXPECT_EQ(profile.endpoints[1].ok, 2u);
  EXPECT_EQ(profile.endpoints[1].output_tokens, 14u);
  EXPECT_NEAR(*profile.endpoints[1].mean_latency_s, 0.025, 1e-12);
  EXPECT_NEAR(*profile.endpoints[1].ttft_p99_s, 0.002, 1e-12);
  EXPECT_EQ(profile.answers.answers, 3u);
  EXPECT_EQ(profile.answers.without_tokens, 1u);
  EXPECT_EQ(profile.answers.fewest_tokens, 4u);
  EXPECT_EQ(profile.answers.most_tokens, 8u);
  EXPECT_EQ(profile.answers.mean_tokens, 6);
  EXPECT_THAT(profile.answers.finish_reasons, testing::ElementsAre(testing::Pair("stop", 3u)));
}

}  // namespace
}  // namespace assay
