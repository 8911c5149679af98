#include "importers/into_store/store_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/run.h"
#include "model/study.h"
#include "store/memory/run_memory.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "store/study_list.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Two runs with a point each, as a conversion hands them over.
ImportedStudy two_runs() {
  ImportedStudy imported{.study = {.name = "fleet", .tags = {"imported"}, .spec_hash = "of the files"}};
  for (const char* name : {"gpu01", "gpu02"}) {
    Run run{.name = name, .kind = "train"};
    run.verdict = Verdict::valid;
    imported.runs.push_back(
        {.run = std::move(run),
         .series = {{.key = {.name = "loss"}, .unit = "", .points = {{.time_ns = 1, .value = 2}}}}});
    imported.study.plan.push_back({.variant = name});
  }
  return imported;
}

/// Whether a run of that id and name could be added.
bool add(RunStore& store, const std::string& id) {
  Run run{.id = id, .name = id};
  return store.add_run(run).ok();
}

class StoreImport : public testing::Test {
 protected:
  std::vector<std::string> names() {
    std::vector<std::string> names;
    const auto page = store_->list_runs({.sort = "name", .descending = false});
    for (const auto& row : page->rows) names.push_back(row.name);
    return names;
  }

  ManualClock clock_;
  std::unique_ptr<RunStore> store_ = open_run_memory(make_run_memory(), clock_);
};

TEST_F(StoreImport, RunsAndTheirStudyKnowEachOther) {
  auto imported = two_runs();
  ASSERT_TRUE(store_import(*store_, imported).ok());
  const auto study = store_->find_study(imported.study.id);
  ASSERT_TRUE(study.ok()) << study.error().text();
  ASSERT_EQ(study->plan.size(), 2U);
  const auto run = store_->find_run(study->plan[1].run);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(run->name, "gpu02");
  EXPECT_EQ(run->study, study->id);
  EXPECT_EQ(run->state, RunState::ended);
  EXPECT_EQ(run->verdict, Verdict::valid);
  ASSERT_EQ(run->series.size(), 1U);
  EXPECT_EQ(run->series[0].last, 2);
}

TEST_F(StoreImport, WhatFailsHalfWayLeavesNothingOfItselfAndTheRestAsItWas) {
  ASSERT_TRUE(add(*store_, "mine"));
  auto imported = two_runs();
  imported.runs[1].run.id = "mine";
  const auto stored = store_import(*store_, imported);
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().kind, ErrorKind::busy);
  EXPECT_THAT(stored.error().text(), HasSubstr("gpu02"));
  EXPECT_THAT(names(), ElementsAre("mine"));
  EXPECT_TRUE(store_->list_studies({})->rows.empty());
}

TEST_F(StoreImport, TheSameFilesAreFoundAgain) {
  auto imported = two_runs();
  ASSERT_TRUE(store_import(*store_, imported).ok());
  ASSERT_TRUE(store_->remove_run(imported.runs[0].run.id).ok());
  auto known = find_import(*store_, "of the files");
  ASSERT_TRUE(known.ok() && *known);
  EXPECT_EQ((*known)->study.id, imported.study.id);
  ASSERT_EQ((*known)->runs.size(), 1U) << "the one that is still there";
  EXPECT_EQ((*known)->runs[0].run.name, "gpu02");

  ASSERT_TRUE(store_->remove_run(imported.runs[1].run.id).ok());
  EXPECT_FALSE(find_import(*store_, "of the files")->has_value()) << "none of its runs is left";
  EXPECT_FALSE(find_import(*store_, "of other files")->has_value());
}

TEST_F(StoreImport, AStudyOfOnesOwnIsNoImport) {
  Study own{.name = "own", .spec_hash = "of the files"};
  ASSERT_TRUE(store_->create_study(own).ok());
  EXPECT_FALSE(find_import(*store_, "of the files")->has_value());
}

}  // namespace
}  // namespace assay
