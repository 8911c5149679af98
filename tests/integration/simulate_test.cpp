#include <gmock/gmock.h>

#include "support/assay_cli.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Simulate : public testing::Test {
 protected:
  AssayCli cli_;
};

TEST_F(Simulate, ComparesPoliciesOnAFileAndDrawsWhoHadWhat) {
  const std::string file =
      cli_.write("jobs.csv", "submit,duration,user,gpus\n0,100,ann,1\n1,200,ann,1\n2,10,bob,1\n3,20,bob,8\n");
  const std::string picture = (cli_.folder() / "timeline.svg").string();
  const auto text = cli_.run({"simulate", file, "--nodes", "1x2", "--svg", picture});
  EXPECT_EQ(text.exit_code, 0) << text.error;
  EXPECT_THAT(text.out, AllOf(HasSubstr("4 jobs of 2 users on 1 nodes with 2 GPUs"), HasSubstr("fit on no node: 1"),
                              HasSubstr("round robin + FCFS"), HasSubstr("two-tier")));
  EXPECT_THAT(read_file(picture).value_or(""), HasSubstr("<svg"));
  const json::object answer = cli_.json({"simulate", file, "--nodes", "1x2", "--policy", "two-tier"});
  const json::array& policies = answer.at("result").at("policies").as_array();
  ASSERT_EQ(policies.size(), 1U);
  EXPECT_EQ(policies[0].at("jobs").as_int64(), 3);
  EXPECT_EQ(policies[0].at("misfits").as_int64(), 1);
}

TEST_F(Simulate, SaysWhatIsWrong) {
  const std::string file = cli_.write("jobs.csv", "submit,duration\n0,soon\n");
  const auto bad_file = cli_.run({"simulate", file, "--nodes", "4"});
  EXPECT_EQ(bad_file.exit_code, 2);
  EXPECT_THAT(bad_file.error, AllOf(HasSubstr("jobs.csv:2"), HasSubstr("'soon'")));
  const auto no_nodes = cli_.run({"simulate", file});
  EXPECT_EQ(no_nodes.exit_code, 2);
  EXPECT_THAT(no_nodes.error, HasSubstr("--nodes 100x8"));
  const auto policy = cli_.run({"simulate", "synthetic", "--policy", "two-teir"});
  EXPECT_EQ(policy.exit_code, 2);
  EXPECT_THAT(policy.error, HasSubstr("Did you mean 'two-tier'?"));
}

TEST_F(Simulate, GivesTheGridWithIntervals) {
  const json::object answer = cli_.json({"simulate", "grid", "--seeds", "2"});
  const json::array& cases = answer.at("result").at("cases").as_array();
  ASSERT_EQ(cases.size(), 7U);
  for (const json::value& one : cases) {
    EXPECT_GT(one.at("two_tier_unsure").at("ratio").as_double(), 1.0);
    EXPECT_EQ(one.at("two_tier_unsure").at("interval").as_array().size(), 2U);
  }
}

}  // namespace
}  // namespace assay
