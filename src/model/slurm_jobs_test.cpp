#include "model/slurm_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SlurmNodeList, NamesEveryNode) {
  EXPECT_THAT(names_in_node_list("node1", 10), ElementsAre("node1"));
  EXPECT_THAT(names_in_node_list("node[1-3],login", 10), ElementsAre("node1", "node2", "node3", "login"));
  EXPECT_THAT(names_in_node_list("gpu[009-011,20]", 10), ElementsAre("gpu009", "gpu010", "gpu011", "gpu20"));
  EXPECT_THAT(names_in_node_list("rack[1-2]n[1-2]-ib", 10),
              ElementsAre("rack1n1-ib", "rack1n2-ib", "rack2n1-ib", "rack2n2-ib"));
}

TEST(SlurmNodeList, WhatIsNoListGivesWhatCanBeRead) {
  for (const auto* const list : {"", ",", ",,,"}) EXPECT_THAT(names_in_node_list(list, 10), IsEmpty()) << list;
  EXPECT_THAT(names_in_node_list("n[3-1],n[],n[x],n[-],ok", 10), ElementsAre("ok"));
  EXPECT_THAT(names_in_node_list("n[1", 10), ElementsAre("n[1"));
}

TEST(SlurmNodeList, NobodyIsFloodedWithNames) {
  EXPECT_EQ(names_in_node_list("n[1-9999999999999999999]", 100).size(), 100U);
  EXPECT_EQ(names_in_node_list("n[0-999999][0-999999][0-999999]", 100).size(), 100U);
  EXPECT_THAT(names_in_node_list("n[0-9999999999999999999][x]", 100), IsEmpty()) << "and nobody waits for that";
  EXPECT_THAT(names_in_node_list("n[" + std::string(100, '0') + "1]", 100), IsEmpty());
  std::string deep = "n";
  for (int i = 0; i < 10'000; ++i) deep += "[1]";
  EXPECT_THAT(names_in_node_list(deep, 100), IsEmpty());
}

}  // namespace
}  // namespace assay
