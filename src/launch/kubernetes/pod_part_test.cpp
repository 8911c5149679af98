#include "launch/kubernetes/pod_part.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

/// What an owner gets of a stream of which the first hundred bytes are lost.
std::string after_a_gap(JobStream stream) {
  PodFeed feed({}, {}, std::make_shared<EndingOrder>());
  EXPECT_TRUE(feed.take({.kind = static_cast<RelayKind>(stream), .offset = 100, .payload = "{\"node\":0}\n"}).ok());
  PerStream<bool> wanted;
  wanted[stream] = true;
  return feed.take_fresh(wanted).bytes[stream];
}

TEST(PodFeed, EveryByteBehindAGapStandsWhereItStood) {
  for (const auto stream : kJobStreams) EXPECT_EQ(after_a_gap(stream).size(), 111U);
}

TEST(PodFeed, AGapInReadingsIsNothingThatLooksLikeOne) {
  EXPECT_EQ(after_a_gap(JobStream::readings), std::string(100, '\n') + "{\"node\":0}\n");
}

}  // namespace
}  // namespace assay
