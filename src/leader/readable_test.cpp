#include "leader/readable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/batch.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(Shortened, CutsBetweenCharacters) {
  EXPECT_EQ(shortened("abc", 5), "abc");
  EXPECT_EQ(shortened("abc", 2), "ab");
  EXPECT_EQ(shortened("aé", 2), "a");
  EXPECT_EQ(shortened("aé", 3), "aé");
  EXPECT_EQ(shortened("€uro", 2), "");
  EXPECT_EQ(shortened("a\xF0\x9F\x98\x80", 4), "a");
  EXPECT_EQ(shortened("", 0), "");
}

TEST(MakeReadable, EveryTextOfABatch) {
  Batch batch;
  batch.series = {{.key = {.name = "x\xff", .labels = {{"l\xff", "v\x1b[2J"}}}, .unit = "u\xff"}};
  batch.events = {{.kind = "k\xff", .about = "a\xff", .message = "m\xff", .values = {{"n\xff", 1}}}};
  batch.devices = {{.id = "d\xff", .facts = {{"f\xff", "v\xff"}}}};
  batch.processes = {{.gpu = "g\xff", .pid = 1}};
  make_readable(batch);
  EXPECT_EQ(batch.series[0].key.name, "x\uFFFD");
  EXPECT_THAT(batch.series[0].key.labels, ElementsAre(Pair("l\uFFFD", "v")));
  EXPECT_EQ(batch.series[0].unit, "u\uFFFD");
  EXPECT_EQ(batch.events[0].kind, "k\uFFFD");
  EXPECT_EQ(batch.events[0].about, "a\uFFFD");
  EXPECT_EQ(batch.events[0].message, "m\uFFFD");
  EXPECT_THAT(batch.events[0].values, ElementsAre(Pair("n\uFFFD", 1)));
  EXPECT_EQ((*batch.devices)[0].id, "d\uFFFD");
  EXPECT_THAT((*batch.devices)[0].facts, ElementsAre(Pair("f\uFFFD", "v\uFFFD")));
  EXPECT_EQ((*batch.processes)[0].gpu, "g\uFFFD");
}

}  // namespace
}  // namespace assay
