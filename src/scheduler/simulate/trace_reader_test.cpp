#include "scheduler/simulate/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Trace read_well(std::string_view text) {
  auto trace = read_trace(text, "t");
  EXPECT_TRUE(trace) << (trace ? "" : trace.error().text());
  return trace ? *trace : Trace{};
}

std::string problem_of(std::string_view text) {
  const auto trace = read_trace(text, "t");
  return trace ? std::string("none") : trace.error().at + " " + trace.error().message;
}

TEST(CsvTrace, ReadsColumnsByTheirTitles) {
  const Trace trace = read_well(
      "user,submit,duration,gpus,nodes,gpu_model,estimate,colour\n"
      "ann,2026-01-31T12:00:10,90,4,2,H200,60,red\n"
      "bob,2026-01-31 12:00:00,0:01:30,,,,,blue\n");
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_DOUBLE_EQ(trace.jobs[0].submitted, 0);
  EXPECT_DOUBLE_EQ(trace.jobs[0].seconds, 90);
  EXPECT_EQ(trace.users[trace.jobs[0].user], "bob");
  EXPECT_EQ(trace.jobs[0].gpus, 1);
  EXPECT_DOUBLE_EQ(trace.jobs[0].estimate, 0);
  EXPECT_DOUBLE_EQ(trace.jobs[1].submitted, 10);
  EXPECT_EQ(trace.jobs[1].gpus, 4);
  EXPECT_EQ(trace.jobs[1].nodes, 2);
  EXPECT_EQ(trace.models[trace.jobs[1].model], "H200");
  EXPECT_DOUBLE_EQ(trace.jobs[1].estimate, 60);
}

TEST(CsvTrace, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(problem_of(""), "t:1 the file is empty");
  EXPECT_EQ(problem_of("user,duration\nann,3\n"), "t:1 there is no column 'submit'");
  EXPECT_EQ(problem_of("submit,duration\n"), "t:1 there is no job in it");
  EXPECT_EQ(problem_of("submit,duration\n1,2\n3,soon\n"), "t:3 duration 'soon' is not a number from 0 to 3200000000");
  EXPECT_EQ(problem_of("submit,duration,gpus\n1,2,65\n"), "t:2 gpus '65' is not a number from 1 to 64");
  EXPECT_EQ(problem_of("submit,duration\n1,0\n"), "t:2 a job has no duration above 0");
  EXPECT_EQ(problem_of("submit,duration\n,5\n"), "t:2 a job says no time of its submission");
  EXPECT_EQ(problem_of("submit,arrival,duration\n1,1,5\n"), "t:1 column 'arrival' says what another one says already");
}

TEST(SacctTrace, ReadsJobsThatRanOnGpus) {
  const Trace trace = read_well(
      "JobID|JobName|User|Submit|ElapsedRaw|State|NNodes|AllocTRES|TimelimitRaw\n"
      "10|train|ann|2026-01-31T12:00:00|600|COMPLETED|2|billing=16,cpu=64,gres/gpu:h200=8,gres/gpu=8,node=2|60\n"
      "10.batch|batch||2026-01-31T12:00:00|600|COMPLETED|1|cpu=32|\n"
      "11|prep|bob|2026-01-31T12:01:00|60|COMPLETED|1|cpu=4|60\n"
      "12|train|ann|2026-01-31T12:02:00|0|CANCELLED by 1000|1|gres/gpu=1|60\n"
      "13|eval|bob|2026-01-31T12:03:00|30|FAILED|1|gres/gpu=1|UNLIMITED\n"
      "14|eval|bob|2026-01-31T12:04:00|30|RUNNING|1|gres/gpu=1|10\n");
  ASSERT_EQ(trace.jobs.size(), 2U);
  EXPECT_EQ(trace.jobs[0].nodes, 2);
  EXPECT_EQ(trace.jobs[0].gpus, 4);
  EXPECT_EQ(trace.models[trace.jobs[0].model], "h200");
  EXPECT_DOUBLE_EQ(trace.jobs[0].limit, 3600);
  EXPECT_DOUBLE_EQ(trace.jobs[1].submitted, 180);
  EXPECT_DOUBLE_EQ(trace.jobs[1].limit, 0);
  EXPECT_THAT(trace.notes,
              ElementsAre("steps of jobs: 1", "jobs that never ran or have not ended: 2", "jobs without a GPU: 1"));
}

TEST(SacctTrace, ReadsOlderColumns) {
  const Trace trace = read_well(
      "JobID|User|Submit|Elapsed|State|ReqGRES|Timelimit\n7|ann|2026-01-31T12:00:00|1-02:00:03|COMPLETED|gpu:a100:4(S:"
      "0-1)|2-00:00:00\n");
  ASSERT_EQ(trace.jobs.size(), 1U);
  EXPECT_DOUBLE_EQ(trace.jobs[0].seconds, 26 * 3600 + 3);
  EXPECT_EQ(trace.jobs[0].gpus, 4);
  EXPECT_EQ(trace.models[trace.jobs[0].model], "a100");
  EXPECT_DOUBLE_EQ(trace.jobs[0].limit, 2 * 86'400);
}

TEST(SacctTrace, SaysWhereAndWhatIsWrong) {
  const std::string titles = "JobID|Submit|ElapsedRaw|State|AllocTRES\n";
  EXPECT_EQ(problem_of("JobID|State\n1|COMPLETED\n"), "t:1 there is no column 'submit'");
  EXPECT_EQ(problem_of(titles + "1|Unknown|5|COMPLETED|gres/gpu=1\n"),
            "t:2 submit 'Unknown' is not a time like 2026-01-31T12:00:00");
  EXPECT_EQ(problem_of(titles + "1|2026-01-31T12:00:00|x|COMPLETED|gres/gpu=1\n"), "t:2 elapsed 'x' is not a duration");
  EXPECT_THAT(problem_of(titles + "1|2026\n"), HasSubstr("has 2 fields, and the first line has 5"));
  EXPECT_THAT(problem_of(titles + "1|2026-01-31T12:00:00|5|COMPLETED|cpu=3\n"),
              HasSubstr("left out: jobs without a GPU: 1"));
  EXPECT_THAT(problem_of(titles + "1|2026-01-31T12:00:00|5|COMPLETED|gres/gpu=65\n"), HasSubstr("more than 64"));
  EXPECT_THAT(problem_of(titles + "1|2026-01-31T12:00:00|5|COMPLETED|gpu(a:4\n"), HasSubstr("no job with a GPU"));
}

TEST(TraceTimes, AreReadAsSlurmWritesThem) {
  EXPECT_EQ(seconds_of_date("1970-01-02T00:00:01"), 86'401);
  EXPECT_EQ(seconds_of_date("1970-01-01 00:00:00.5Z"), 0.5);
  EXPECT_EQ(seconds_of_date("2026-02-30T00:00:00"), std::nullopt);
  EXPECT_EQ(seconds_of_date("Unknown"), std::nullopt);
  EXPECT_EQ(seconds_of_elapsed("1-00:00:01"), 86'401);
  EXPECT_EQ(seconds_of_elapsed("02:03"), 123);
  EXPECT_EQ(seconds_of_elapsed("7"), std::nullopt);
}

TEST(SimulatedNodes, AreReadAsPeopleWriteThem) {
  const auto nodes = parse_simulated_nodes("2x8:H200,1x4:V100@0.5");
  ASSERT_TRUE(nodes);
  ASSERT_EQ(nodes->size(), 3U);
  EXPECT_EQ((*nodes)[0].gpus.size(), 8U);
  EXPECT_EQ((*nodes)[2].gpus[0].model, "V100");
  EXPECT_EQ((*nodes)[2].speed, 0.5);
  for (const char* wrong : {"", "0", "4x", "4x65", "x8", "4x8:", "4@0", "4,", "100001", "4x8x2"}) {
    const auto refused = parse_simulated_nodes(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_THAT(refused.error().hint, HasSubstr("--nodes 100x8"));
  }
}

}  // namespace
}  // namespace assay
