#include "leader/readable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/batch.h"
#include "protocol/hello.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::Pair;

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

TEST(MakeReadable, NoNameLooksLikeAnotherRow) {
  Batch batch;
  batch.series = {{.key = {.name = "x\ngpu.util", .labels = {{"l", "v\r\nnode9  online"}}}, .unit = "u\t"}};
  batch.events = {{.kind = "k\n", .about = "\u202Eevil", .message = "fine\n2026-01-01  gpu02  xid  lost"}};
  make_readable(batch);
  EXPECT_EQ(batch.series[0].key.name, "x gpu.util");
  EXPECT_THAT(batch.series[0].key.labels, ElementsAre(Pair("l", "v node9  online")));
  EXPECT_EQ(batch.events[0].about, "evil") << "nothing turns the direction of writing";
  EXPECT_EQ(batch.events[0].message, "fine 2026-01-01  gpu02  xid  lost");
  const AgentHello hello = readable(
      {.version = "1\n2", .facts = {{"os", "Debian\nkernel  none"}}, .allow = {"run\n"}, .sources = {"\u202E"}});
  EXPECT_EQ(hello.version, "1 2");
  EXPECT_THAT(hello.facts, ElementsAre(Pair("os", "Debian kernel  none")));
  EXPECT_THAT(hello.allow, ElementsAre("run "));
  EXPECT_THAT(hello.sources, ElementsAre(""));
}

}  // namespace
}  // namespace assay
