#include "store/memory/cluster_memory.h"

#include "store/account_contract.h"

namespace assay {
namespace {

const auto kInMemory = testing::Values(ClusterStoreFactory{"memory", [] { return std::make_unique<ClusterMemory>(); }});
INSTANTIATE_TEST_SUITE_P(Memory, ClusterContract, kInMemory);
INSTANTIATE_TEST_SUITE_P(Memory, AccountContract, kInMemory);

TEST(ClusterMemoryTest, FailsAsItIsTold) {
  ClusterMemory memory;
  memory.fail_writes(Error{.kind = ErrorKind::io, .message = "no space left"});
  EXPECT_EQ(memory.nodes().put({.row = {.name = "gpu01"}}).error().kind, ErrorKind::io);
  EXPECT_TRUE(memory.nodes().list("", 10).ok());
  memory.fail_writes(std::nullopt);
  EXPECT_TRUE(memory.nodes().put({.row = {.name = "gpu01"}}).ok());
}

}  // namespace
}  // namespace assay
