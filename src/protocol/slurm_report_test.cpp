#include "protocol/slurm_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::HasSubstr;

SlurmReport full_report() {
  return {.jobs = {.jobs = {{.id = "12",
                             .user = "ada",
                             .name = "train",
                             .state = "RUNNING",
                             .partition = "gpu",
                             .nodes = "node[1-2]",
                             .node_count = 2,
                             .gpus = 8,
                             .since = WallTime(std::chrono::seconds(1'795'033'349)),
                             .reason = {},
                             .of_assay = true},
                            {.id = "13_[4-9]", .state = "PENDING", .reason = "Resources"}},
                   .left_out = 3,
                   .keeps_private = true},
          .problem = {}};
}

std::string refusal(const json::object& body) {
  const auto report = parse_slurm_report(json::serialize(body));
  if (report.ok()) return "none";
  EXPECT_EQ(report.error().kind, ErrorKind::usage);
  return report.error().text();
}

TEST(SlurmReport, ComesBackAsItWas) {
  const auto text = json::serialize(to_json(full_report()));
  const auto report = parse_slurm_report(text);
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_EQ(*report, full_report());
  const SlurmReport trouble{.jobs = {}, .problem = "Slurm does not answer"};
  EXPECT_EQ(parse_slurm_report(json::serialize(to_json(trouble))).value(), trouble);
}

TEST(SlurmReport, HasLimits) {
  auto body = to_json(full_report());
  auto job = body.at("jobs").as_array()[1].as_object();
  body["jobs"] = json::array(kMostSlurmJobs + 1, job);
  EXPECT_THAT(refusal(body), HasSubstr("at most 5000"));
  job["name"] = std::string(513, 'x');
  body["jobs"] = json::array{job};
  EXPECT_THAT(refusal(body), HasSubstr("beyond 512 bytes"));
  job["name"] = "";
  job["id"] = "";
  body["jobs"] = json::array{job};
  EXPECT_THAT(refusal(body), HasSubstr("no id"));
  body["jobs"] = 7;
  EXPECT_THAT(refusal(body), HasSubstr("jobs"));
  EXPECT_THAT(refusal({{"schema", 2}}), HasSubstr("report of Slurm's jobs"));
}

}  // namespace
}  // namespace assay
