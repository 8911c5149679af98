#include "launch/slurm/slurm_rest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Pair;

json::value json_of(std::string_view text) { return parse_json(text).value(); }

TEST(SlurmRest, SaysToSlurmWhatAJobNeeds) {
  const SlurmRequest request{.name = "mnist",
                             .comment = "assay:k",
                             .partition = "gpu",
                             .constraint = "h100",
                             .nodelist = "node[1-2]",
                             .exclude = "node3",
                             .gres = "gpu:h100:2",
                             .cpus = "8",
                             .memory = "64G",
                             .nodes = 2,
                             .exclusive = true,
                             .minutes = 90,
                             .environment = {"PATH", "HOME"}};
  const auto body = rest_submission(request, "#!/bin/sh\n", {{"PATH", "/opt/bin"}, {"TOKEN", "secret"}}).value();
  EXPECT_EQ(body.at("script").as_string(), "#!/bin/sh\n");
  const auto& job = body.at("job").as_object();
  EXPECT_EQ(json::serialize(job.at("environment")), R"({"PATH":"/opt/bin"})") << "no more than is named";
  EXPECT_EQ(json::serialize(job.at("nodes")), "[2,2]");
  EXPECT_EQ(job.at("memory_per_node").as_int64(), 65'536);
  EXPECT_EQ(job.at("cpus_per_task").as_int64(), 8);
  EXPECT_EQ(job.at("time_limit").as_int64(), 90);
  EXPECT_EQ(job.at("requeue").as_bool(), false);
  EXPECT_EQ(job.at("exclude_nodes").as_string(), "node3");
  EXPECT_EQ(job.at("exclusive").as_string(), "exclusive");
  EXPECT_FALSE(job.contains("account")) << "what is empty is Slurm's to decide";
}

TEST(SlurmRest, MemoryIsWrittenAsForSbatch) {
  const auto megabytes = [](std::string memory) {
    const auto body = rest_submission({.memory = std::move(memory)}, "", {});
    return body ? body->at("job").at("memory_per_node").as_int64() : -1;
  };
  EXPECT_EQ(megabytes("100"), 100);
  EXPECT_EQ(megabytes("100M"), 100);
  EXPECT_EQ(megabytes("2g"), 2048);
  EXPECT_EQ(megabytes("1T"), 1'048'576);
  for (const auto* const wrong : {"G", "1.5G", "-1", "9223372036854775807T", "8K"}) EXPECT_EQ(megabytes(wrong), -1);
  EXPECT_THAT(rest_submission({.cpus = "many"}, "", {}).error().message, HasSubstr("'cpus=many'"));
}

TEST(SlurmRest, ReadsJobs) {
  const auto answer = json_of(R"({"errors": [], "jobs": [
      {"job_id": 7, "job_state": "RUNNING", "state_reason": "None", "nodes": "node2", "comment": "assay:k", "user_id": 5},
      {"job_id": 8, "job_state": "PENDING", "state_reason": "Resources", "nodes": "", "comment": "c|\n", "user_id": 6},
      {"job_id": 0, "job_state": "RUNNING"}, {"job_id": 9}, 3]})");
  EXPECT_THAT(parse_rest_jobs(answer, 5),
              ElementsAre(Pair(7, SlurmRecord{.state = "RUNNING", .reason = "", .nodes = "node2", .key = "k"})));
  EXPECT_THAT(parse_rest_jobs(answer, std::nullopt), ElementsAre(Key(7), Key(8)));
  for (const auto* const other : {"{}", "[]", "null", R"({"jobs": 7})"}) {
    EXPECT_THAT(parse_rest_jobs(json_of(other), std::nullopt), testing::IsEmpty()) << other;
  }
}

TEST(SlurmRest, ReadsWhatBecameOfAnOrder) {
  EXPECT_EQ(parse_rest_submitted(json_of(R"({"errors": [], "job_id": 12})")).value(), 12);
  const auto refused = parse_rest_submitted(
      json_of(R"({"errors": [{"error_code": 2000, "error": "Invalid partition name specified"}]})"));
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_THAT(refused.error().message, HasSubstr("Invalid partition name"));
  EXPECT_EQ(parse_rest_submitted(json_of("{}")).error().kind, ErrorKind::bad_file);
  const auto gone = json_of(
      R"({"errors": [{"description": "Unable to find JobId=9", "error_number": 2017, "error": "Invalid job id"}]})");
  EXPECT_TRUE(says_no_such_job(gone));
  EXPECT_EQ(rest_error_in(gone), "Unable to find JobId=9");
  EXPECT_FALSE(says_no_such_job(json_of(R"({"errors": []})")));
}

TEST(SlurmRest, WithoutADaemonThereIsAClearError) {
  const SlurmRest nobody("unix:/no/such/socket");
  EXPECT_EQ(nobody.list({1}).error().kind, ErrorKind::unreachable);
  EXPECT_THAT(nobody.cancel(1).error().text(), HasSubstr("slurmrestd"));
}

}  // namespace
}  // namespace assay
