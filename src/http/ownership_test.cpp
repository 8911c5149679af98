// What users may do to runs and studies, their own and others', besides what the catalog and their quota say.

#include "http/ownership.h"

#include "accounts/accounts.h"
#include "base/hash.h"
#include "http/people_fixture.h"
#include "leader/test_agent_fixture.h"
#include "model/run.h"
#include "model/study.h"
#include "net/http_server.h"
#include "store/run_store.h"

namespace assay {
namespace {

using testing::HasSubstr;

class Ownership : public PeopleServerTest {
 protected:
  /// What changing it to `next` is asked for with.
  std::string rewrite(const std::string& id, const Run& next) {
    const auto before = content_hash(json::serialize(to_json(*runs_->find_run(id))));
    return json::serialize(json::object{{"run", to_json(next)}, {"before", before}});
  }
  std::string new_run(const std::string& study) {
    Run run;
    run.kind = "null";
    run.study = study;
    return json::serialize(json::object{{"run", to_json(run)}});
  }
  std::string study_of(const Headers& who, json::object spec) {
    Study study{.name = "by hand"};
    study.plan.push_back({.variant = "one", .spec = std::move(spec)});
    return std::string(good("POST", "/api/v1/studies", who, json::serialize(to_json(study))).at("id").as_string());
  }
  /// Two GPUs for an hour, an hour ago.
  void use_gpus(const std::string& id) {
    ASSERT_TRUE(runs_
                    ->change_run(id,
                                 [&](Run& run) -> Result<void> {
                                   run.started = clock_.wall() - std::chrono::hours(2);
                                   run.ended = clock_.wall() - std::chrono::hours(1);
                                   run.provenance.gpus = {GpuInfo{.uuid = "GPU-1"}, GpuInfo{.uuid = "GPU-2"}};
                                   return {};
                                 })
                    .ok());
  }
};

TEST_F(Ownership, OwnersChangeWordsOfTheirRunsAndNothingThatWasRecorded) {
  serve();
  const auto ada = browser("ada").headers();
  const auto id = recorded(ada);
  Run next = *runs_->find_run(id);
  next.name = "renamed";
  next.tags = {"best"};
  EXPECT_EQ(status("PUT", "/api/v1/runs/" + id, ada, rewrite(id, next)), 200);
  EXPECT_EQ(runs_->find_run(id)->name, "renamed");
  const Run now = *runs_->find_run(id);
  for (const auto& change : std::vector<std::function<void(Run&)>>{
           [](Run& run) { run.metrics["samples_per_second"] = 1e9; },
           [](Run& run) { run.flags.push_back({.kind = "x", .about = "", .message = "y"}); },
           [&](Run& run) { run.started = clock_.wall(); }, [](Run& run) { run.placement.node = "gpu02"; },
           [](Run& run) { run.study = "another"; }, [](Run& run) { run.spec["kind"] = "train"; }}) {
    next = now;
    change(next);
    EXPECT_EQ(status("PUT", "/api/v1/runs/" + id, ada, rewrite(id, next)), 403) << json::serialize(to_json(next));
    EXPECT_EQ(json::serialize(to_json(*runs_->find_run(id))), json::serialize(to_json(now)));
    EXPECT_EQ(status("PUT", "/api/v1/runs/" + id, bearer(Role::admin), rewrite(id, next)), 200);
    EXPECT_EQ(status("PUT", "/api/v1/runs/" + id, bearer(Role::admin), rewrite(id, now)), 200);
  }
  EXPECT_EQ(status("PUT", "/api/v1/runs/" + id, ada, "{}"), 400);
}

TEST_F(Ownership, NobodyRecordsIntoAStudyOfSomebodyElse) {
  serve();
  const auto ada = browser("ada").headers();
  const auto bob = browser("bob").headers();
  const auto id = study_of(ada, {{"kind", "null"}});
  const auto refused = send("POST", "/api/v1/runs/recorded", bob, new_run(id));
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("belongs to user ada"));
  EXPECT_EQ(status("POST", "/api/v1/runs/recorded", ada, new_run(id)), 200);
  EXPECT_EQ(status("POST", "/api/v1/runs/recorded", bearer(Role::admin), new_run(id)), 200);
  EXPECT_EQ(status("POST", "/api/v1/runs/recorded", bob, new_run("of-another-place")), 200);
  EXPECT_EQ(status("POST", "/api/v1/runs/recorded", bob, "{}"), 400);
}

TEST_F(Ownership, AStudyWrittenByHandIsHeldToTheCatalog) {
  TestAgent node;
  auto said = node.hello();
  said.allow = {"run"};
  ASSERT_TRUE(leader_->hello("gpu01", said).ok());
  serve();
  const auto ada = browser("ada").headers();
  const auto resume = [&](json::object spec) {
    return send("POST", "/api/v1/studies/" + study_of(ada, std::move(spec)) + "/resume", ada, "{}");
  };
  EXPECT_EQ(resume({{"kind", "command"}, {"command", "id"}}).status, 403);
  good("PUT", "/api/v1/catalog", bearer(Role::admin), R"({"name": "gpt", "kind": "train", "models": ["gpt2*"]})");
  EXPECT_EQ(resume({{"kind", "train"}, {"model", json::object{{"name", "llama"}}}}).status, 403);
  // The one that is looked at first is not the one that is trained.
  const auto two = resume({{"kind", "train"}, {"model.name", "gpt2"}, {"model", json::object{{"name", "llama"}}}});
  EXPECT_EQ(two.status, 403);
  EXPECT_THAT(two.body, HasSubstr("model.name"));
  const auto offered = resume({{"kind", "train"}, {"model", json::object{{"name", "gpt2"}}}, {"device", "cpu"}});
  EXPECT_EQ(offered.status, 200) << offered.body;
}

TEST_F(Ownership, WhatAQuotaCountsIsNotDeletedByWhomItLimits) {
  serve();
  const auto ada = browser("ada").headers();
  const auto id = recorded(ada);
  const auto study = study_of(ada, {{"kind", "null"}});
  const auto of_study = recorded(ada);
  ASSERT_TRUE(runs_->note_planned_run(study, 0, of_study).ok());
  for (const auto& one : {id, of_study}) use_gpus(one);
  good("PUT", "/api/v1/quotas", bearer(Role::admin), R"({"gpu_hours_per_day": 3})");
  EXPECT_EQ(good("GET", "/api/v1/quota", ada).at("gpu_hours").to_number<double>(), 4);
  const auto refused = send("DELETE", "/api/v1/runs/" + id, ada);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(refused.body, HasSubstr("2.00 GPU hours"));
  EXPECT_EQ(status("DELETE", "/api/v1/studies/" + study, ada), 403);
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + recorded(ada), ada), 200) << "it used no GPU";
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + of_study, bearer(Role::admin)), 200);
  EXPECT_EQ(status("DELETE", "/api/v1/studies/" + study, ada), 200) << "nothing of it counts any more";
  server_.reset();
  clock_.advance(std::chrono::hours(24));
  serve();
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + id, browser("ada").headers()), 200) << "a day later";
}

TEST_F(Ownership, WithoutAQuotaOfGpuHoursEveryRunOfOnesOwnIsDeleted) {
  serve();
  const auto ada = browser("ada").headers();
  const auto id = recorded(ada);
  use_gpus(id);
  EXPECT_EQ(status("DELETE", "/api/v1/runs/" + id, ada), 200);
}

}  // namespace
}  // namespace assay
