#include "protocol/job_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;

TEST(JobList, IsReadFromWhatLeadersSend) {
  const auto jobs = parse_job_list(R"({"jobs": [{"run": "r1", "stop": true}, {"run": "r2", "new": 1}], "other": 1})");
  ASSERT_TRUE(jobs.ok()) << jobs.error().text();
  EXPECT_THAT(*jobs, ElementsAre(ListedJob{"r1", true}, ListedJob{"r2", false}));
  EXPECT_TRUE(parse_job_list(R"({"jobs": []})")->empty());
  EXPECT_EQ(parse_job_list(json::serialize(to_json(*jobs))).value(), *jobs);
}

TEST(JobList, WhatMakesNoSenseIsAnError) {
  // No list at all must not be taken for an empty one: it would end everything.
  for (const char* text :
       {"", "[]", "{}", R"({"jobs": {}})", R"({"jobs": [1]})", R"({"jobs": [{}]})", R"({"jobs": [{"run": "../x"}]})",
        R"({"jobs": [{"run": ""}]})", R"({"jobs": [{"run": "r", "stop": "yes"}]})"}) {
    EXPECT_FALSE(parse_job_list(text).ok()) << text;
  }
}

TEST(JobList, ATakenJobHasLeaseRunAndPlan) {
  assay::Run run;
  run.id = "r1";
  run.kind = "command";
  run.placement.gpus = std::vector<std::string>{"GPU-1"};
  const Lease lease{.run = "r1", .journal = std::string(kOwnersJournal), .owner = "gpu03", .epoch = 3};
  const PlannedRun planned{.variant = "baseline", .spec = {{"kind", "command"}}};
  json::object answer = to_json(TakenJob{.lease = lease, .run = run, .planned = planned});
  const auto job = taken_job_from_json(answer);
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(job->lease.epoch, 3U);
  EXPECT_EQ(job->run.placement, run.placement);
  EXPECT_EQ(job->planned.spec, planned.spec);
  for (const char* part : {"lease", "run", "planned"}) {
    auto without = answer;
    without.erase(part);
    EXPECT_FALSE(taken_job_from_json(without).ok()) << part;
  }
}

}  // namespace
}  // namespace assay
