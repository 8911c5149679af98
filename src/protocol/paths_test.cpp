#include "protocol/paths.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(AgentPaths, TakeAnId) {
  EXPECT_EQ(path_of(kTakePath, "r1"), "/agent/v1/jobs/r1/take");
  EXPECT_EQ(path_of(kReportPath, "c/1"), "/agent/v1/commands/c%2F1");
  for (const auto path : {kJoinPath, kHelloPath, kBatchPath, kCommandsPath, kReportPath, kJobsPath, kTakePath}) {
    EXPECT_TRUE(path.starts_with(kAgentPaths)) << path;
  }
}

}  // namespace
}  // namespace assay
