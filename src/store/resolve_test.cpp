#include "store/resolve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "model/run.h"
#include "model/study.h"
#include "store/local/local_store.h"
#include "store/run_store.h"
#include "store/run_writer.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ResolveTest : public testing::Test {
 protected:
  void SetUp() override {
    add("abc111", "mnist", {"old"});
    add("abc222", "mnist", {"old", "best"});
    add("def333", "resnet", {});
    add("ghj444", "def3", {});
  }

  void add(std::string id, std::string name, std::vector<std::string> tags) {
    assay::Run run;
    run.id = std::move(id);
    run.name = std::move(name);
    run.tags = std::move(tags);
    run.kind = "command";
    run.created = WallTime(std::chrono::seconds(1'700'000'000 + count_++));
    auto writer = begin_run(*store_, run);
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->finish(run).ok());
  }

  void add_study(std::string id, std::string name) {
    Study study{.id = std::move(id), .name = std::move(name)};
    study.created = WallTime(std::chrono::seconds(1'700'000'000 + count_++));
    ASSERT_TRUE(store_->create_study(study).ok());
  }

  std::string run(std::string_view reference) {
    const auto id = resolve_run(*store_, reference);
    return id.ok() ? *id : std::string(name_of(id.error().kind)) + ": " + id.error().message;
  }
  std::string study(std::string_view reference) {
    const auto id = resolve_study(*store_, reference);
    return id.ok() ? *id : std::string(name_of(id.error().kind)) + ": " + id.error().message;
  }

  TemporaryFolder folder_;
  std::unique_ptr<RunStore> store_ = open_local_store(folder_.path()).value();
  int count_ = 0;
};

TEST_F(ResolveTest, ByIdPrefixAndName) {
  EXPECT_EQ(run("abc111"), "abc111");
  EXPECT_EQ(run("abc1"), "abc111");
  EXPECT_EQ(run("gh"), "ghj444");
  EXPECT_EQ(run("mnist"), "abc222");  // the newest of that name
  EXPECT_EQ(run("def3"), "ghj444");   // a name goes before a prefix
  EXPECT_EQ(run("def33"), "def333");
}

TEST_F(ResolveTest, ByAge) {
  EXPECT_EQ(run("@last"), "ghj444");
  EXPECT_EQ(run("@last-0"), "ghj444");
  EXPECT_EQ(run("@last-3"), "abc111");
  EXPECT_EQ(run("@last-4"), "not_found: there are only 4 runs, so no '@last-4'");
  for (const auto* wrong : {"@lst", "@", "@last-", "@last-x", "@last1", "@last--1"}) {
    EXPECT_THAT(run(wrong), HasSubstr("usage: ")) << wrong;
  }
}

TEST_F(ResolveTest, OneIsNotSeveral) {
  add_study("s1", "first");
  EXPECT_EQ(study("@last-1"), "not_found: there is only one study, so no '@last-1'");
  add_study("s2", "second");
  EXPECT_EQ(study("@last-2"), "not_found: there are only 2 studies, so no '@last-2'");
}

TEST_F(ResolveTest, ByTag) {
  const auto ids = resolve_runs(*store_, "tag:old");
  ASSERT_TRUE(ids.ok());
  EXPECT_THAT(*ids, ElementsAre("abc111", "abc222"));
  EXPECT_EQ(run("tag:best"), "abc222");
  EXPECT_THAT(run("tag:old"), HasSubstr("usage: 'tag:old' stands for several runs"));
  EXPECT_EQ(run("tag:bets"), "not_found: there is no run with the tag 'bets'. Did you mean 'best'?");
}

TEST_F(ResolveTest, WhatIsNotThere) {
  EXPECT_EQ(run("mnsit"), "not_found: there is no run 'mnsit'. Did you mean 'mnist'?");
  EXPECT_EQ(run("zzzzzzzz"), "not_found: there is no run 'zzzzzzzz'");
  EXPECT_EQ(run("a"), "not_found: there is no run 'a'");  // too short for a prefix
  EXPECT_EQ(run(""), "not_found: there is no run ''");
  EXPECT_EQ(run("../abc111"), "not_found: there is no run '../abc111'");
}

TEST_F(ResolveTest, AnAmbiguousPrefixListsTheCandidates) {
  EXPECT_EQ(run("abc"), "usage: 'abc' is the beginning of several ids: abc222 (mnist), abc111 (mnist)");
}

TEST_F(ResolveTest, AnEmptyStoreSaysSo) {
  TemporaryFolder folder;
  const auto empty = open_local_store(folder.path()).value();
  EXPECT_EQ(resolve_run(*empty, "@last").error().message, "there are no runs yet");
  EXPECT_EQ(resolve_study(*empty, "@last").error().message, "there are no studies yet");
}

TEST_F(ResolveTest, Studies) {
  add_study("st1", "scaling");
  add_study("st2", "scaling");
  add_study("su3", "sweep");
  EXPECT_EQ(study("st1"), "st1");
  EXPECT_EQ(study("scaling"), "st2");
  EXPECT_EQ(study("su"), "su3");
  EXPECT_EQ(study("@last"), "su3");
  EXPECT_EQ(study("@last-2"), "st1");
  EXPECT_THAT(study("st"), HasSubstr("usage: 'st' is the beginning of several ids: st2, st1"));
  EXPECT_EQ(study("swep"), "not_found: there is no study 'swep'. Did you mean 'sweep'?");
}

}  // namespace
}  // namespace assay
