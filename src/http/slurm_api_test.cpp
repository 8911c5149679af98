// Jobs of Slurm over the API: who may say what they are, and what is shown.

#include "http/gatekeeper.h"
#include "http/http_fixture.h"
#include "http/leader_router.h"
#include "leader/leader_options.h"
#include "leader/test_agent_fixture.h"
#include "protocol/slurm_report.h"

namespace assay {
namespace {

using testing::HasSubstr;

class SlurmApi : public LeaderServerTest {
 protected:
  ClientResponse report(const std::string& node, const std::string& body) {
    return send("POST", "/agent/v1/slurm", agent(node), body);
  }
  static std::string one_job() {
    return json::serialize(to_json(SlurmReport{
        .jobs = {.jobs = {{.id = "12", .user = "ada", .state = "RUNNING", .nodes = "gpu[01-02]", .node_count = 2}}},
        .problem = {}}));
  }
};

TEST_F(SlurmApi, WithoutAWordFromTheAdministratorNobodyIsBelieved) {
  serve();
  const auto refused = report("gpu01", one_job());
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("slurm_from"));
  EXPECT_EQ(report("gpu01", "no json").status, 403) << "nobody reads it";
  EXPECT_EQ(send("POST", "/agent/v1/slurm", bearer(Role::admin), one_job()).status, 401) << "it is for nodes";
  const auto list = answer("GET", "/api/v1/slurm/jobs", Role::viewer);
  EXPECT_EQ(list.at("told_by").as_string(), "");
  EXPECT_TRUE(list.at("jobs").as_array().empty());
  EXPECT_EQ(send("GET", "/api/v1/slurm/jobs", {}).status, 401);
}

TEST_F(SlurmApi, ShowsWhereJobsAre) {
  LeaderOptions options;
  options.slurm.told_by = "gpu02";
  open(std::move(options));
  gatekeeper_ = make_gatekeeper(*leader_, *book_);
  hello(TestAgent("gpu01"));
  serve();
  EXPECT_EQ(report("gpu02", one_job()).status, 200);
  const auto list = answer("GET", "/api/v1/slurm/jobs", Role::viewer);
  EXPECT_EQ(list.at("told_by").as_string(), "gpu02");
  EXPECT_TRUE(list.contains("as_of"));
  ASSERT_EQ(list.at("jobs").as_array().size(), 1U);
  const auto& job = list.at("jobs").as_array()[0].as_object();
  EXPECT_EQ(job.at("nodes").as_string(), "gpu[01-02]");
  EXPECT_EQ(job.at("on").as_array(), json::array{"gpu01"}) << "the leader does not know the other one";
  EXPECT_EQ(answer("GET", "/api/v1/slurm/jobs?node=gpu02", Role::viewer).at("jobs").as_array().size(), 1U);
  EXPECT_EQ(answer("GET", "/api/v1/slurm/jobs?node=gpu03", Role::viewer).at("jobs").as_array().size(), 0U);
}

}  // namespace
}  // namespace assay
