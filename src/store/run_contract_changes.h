#pragma once

#include <string>
#include <thread>
#include <vector>

#include "store/run_answers.h"
#include "store/run_contract_fixture.h"

namespace assay {

TEST_P(RunStoreContract, AChangeIsStoredAndListed) {
  const Run run = ended_run(a_run());
  const auto changed = store_->change_run(run.id, [](Run& one) -> Result<void> {
    one.name = "renamed";
    one.tags.emplace_back("best");
    return {};
  });
  ASSERT_OK(changed);
  EXPECT_EQ(changed->name, "renamed");
  EXPECT_EQ(store_->find_run(run.id)->name, "renamed");
  EXPECT_THAT(names({.conditions = {{"tag", Condition::Op::equal, "best"}}}), testing::ElementsAre("renamed"));
}

TEST_P(RunStoreContract, AFailedChangeLeavesTheRunAsItWas) {
  const Run run = ended_run(a_run());
  EXPECT_ERROR(ErrorKind::denied, store_->change_run(run.id, [](Run& one) -> Result<void> {
    one.name = "half";
    return Error{.kind = ErrorKind::denied, .message = "no"};
  }));
  EXPECT_EQ(store_->find_run(run.id)->name, "mnist");
  EXPECT_THAT(names({}), testing::ElementsAre("mnist"));
}

TEST_P(RunStoreContract, ChangesByOthersSurviveTheWriter) {
  Run run = a_run();
  const auto writer = writer_of(run);
  ASSERT_OK(store_->change_run(run.id, [](Run& one) -> Result<void> {
    one.tags.emplace_back("seen");
    return {};
  }));
  run.provenance.torch_version = "2.11";
  ASSERT_OK(writer->update(run));
  EXPECT_THAT(store_->find_run(run.id)->tags, testing::Contains("seen"));
  run.name = "renamed by the writer";
  run.verdict = Verdict::valid;
  ASSERT_OK(writer->finish(run));
  EXPECT_THAT(store_->find_run(run.id)->tags, testing::Contains("seen"));
  EXPECT_EQ(store_->find_run(run.id)->name, "renamed by the writer");
}

TEST_P(RunStoreContract, ConcurrentChangesAllCount) {
  constexpr int kThreads = 4;
  constexpr int kChanges = 10;
  const Run run = ended_run(a_run());
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const auto mine = place_->open();
      for (int n = 0; n < kChanges; ++n) {
        const auto changed = mine->change_run(run.id, [](Run& one) -> Result<void> {
          one.repeat += 1;
          one.study = "s";
          return {};
        });
        EXPECT_TRUE(changed.ok()) << changed.error().text();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(store_->find_run(run.id)->repeat, kThreads * kChanges);
}

TEST_P(RunStoreContract, ManyWritersAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kRuns = 5;
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      // Half of the threads share one store.
      const auto own = i % 2 == 0 ? nullptr : place_->open();
      RunStore& store = own ? *own : *store_;
      for (int n = 0; n < kRuns; ++n) {
        Run run = a_run("run " + std::to_string(i));
        auto writer = begin_run(store, run);
        ASSERT_TRUE(writer.ok()) << writer.error().text();
        const auto handle = (*writer)->open_series({"loss", {}}, "");
        EXPECT_TRUE((*writer)->append_points(handle, std::vector{point(n, i)}).ok());
        run.verdict = Verdict::valid;
        EXPECT_TRUE((*writer)->finish(run).ok());
      }
    });
  }
  threads.clear();
  const auto page = store_->list_runs({.conditions = {{"verdict", Condition::Op::equal, "valid"}}});
  ASSERT_OK(page);
  EXPECT_EQ(page->total, kThreads * kRuns);
  for (const auto& row : page->rows) EXPECT_EQ(recorded(row.id).values({"loss", {}}).size(), 1U);
}

TEST_P(RunStoreContract, TwoOpenedStoresSeeTheSameRuns) {
  const auto other = place_->open();
  Run run = a_run();
  const auto writer = writer_of(run);
  EXPECT_EQ(other->find_run(run.id)->state, RunState::running);
  EXPECT_EQ(other->list_runs({})->total, 1);
  EXPECT_ERROR(ErrorKind::busy, other->remove_run(run.id));
  ASSERT_OK(writer->finish(run));
  ASSERT_OK(other->remove_run(run.id));
  EXPECT_EQ(store_->list_runs({})->total, 0);
}

TEST_P(RunStoreContract, AChangeLeavesTheStateAlone) {
  const Run run = ended_run(a_run());
  ASSERT_OK(store_->change_run(run.id, [](Run& one) -> Result<void> {
    one.state = RunState::running;
    one.verdict = Verdict::flagged;
    return {};
  }));
  EXPECT_EQ(store_->find_run(run.id)->state, RunState::ended);
  EXPECT_EQ(store_->find_run(run.id)->verdict, Verdict::valid);
}

TEST_P(RunStoreContract, WhoWatchesSeesWhatChanged) {
  const auto runs_after = [&](std::uint64_t since) {
    std::vector<std::string> runs;
    const auto changes = store_->changes(since, 100);
    EXPECT_TRUE(changes.ok());
    for (const auto& change : *changes) runs.push_back(change.run + (change.removed ? " removed" : ""));
    return runs;
  };
  const Run first = ended_run(a_run("first"));
  const auto begin = store_->newest_change();
  ASSERT_OK(begin);
  EXPECT_THAT(runs_after(*begin), testing::IsEmpty());
  Run second = a_run("second");
  ASSERT_OK(store_->add_run(second));
  ASSERT_OK(place_->open()->change_run(first.id, [](Run& run) -> Result<void> {
    run.name = "renamed";
    return {};
  }));
  EXPECT_THAT(runs_after(*begin), testing::ElementsAre(second.id, first.id));
  const auto next = store_->changes(*begin, 1);
  ASSERT_OK(next);
  ASSERT_EQ(next->size(), 1U);
  EXPECT_THAT(runs_after(next->front().sequence), testing::ElementsAre(first.id));
  ASSERT_OK(store_->remove_run(first.id));
  EXPECT_THAT(runs_after(next->front().sequence), testing::ElementsAre(first.id + " removed"));
}

TEST_P(RunStoreContract, StudiesAreKept) {
  Study first{.name = "sweep", .tags = {"t"}, .created = at(1), .source = "kind: null\n"};
  first.plan.push_back({.variant = "baseline", .repeat = 1, .spec = {{"epochs", 1}}});
  ASSERT_OK(store_->create_study(first));
  Study second{.name = "other", .created = at(2)};
  ASSERT_OK(store_->create_study(second));
  EXPECT_FALSE(first.id.empty());
  Study again = first;
  EXPECT_ERROR(ErrorKind::busy, store_->create_study(again));

  const auto found = store_->find_study(first.id);
  ASSERT_OK(found);
  EXPECT_EQ(found->name, "sweep");
  EXPECT_EQ(found->source, "kind: null\n");
  ASSERT_EQ(found->plan.size(), 1U);
  EXPECT_EQ(found->plan[0].spec, first.plan[0].spec);

  ASSERT_OK(store_->note_planned_run(first.id, 0, "r1"));
  EXPECT_EQ(store_->find_study(first.id)->plan[0].run, "r1");
  ASSERT_OK(store_->note_planned_run(first.id, 0, "r2"));
  EXPECT_EQ(store_->find_study(first.id)->plan[0].run, "r2");
  const auto all = store_->list_studies({});
  ASSERT_OK(all);
  ASSERT_EQ(all->rows.size(), 2U);
  EXPECT_EQ(all->rows[0].name, "other");
  EXPECT_EQ(all->rows[1].name, "sweep");
  EXPECT_EQ(all->rows[1].begun, 1);

  ASSERT_OK(store_->remove_study(first.id));
  EXPECT_ERROR(ErrorKind::not_found, store_->find_study(first.id));
  EXPECT_ERROR(ErrorKind::not_found, store_->remove_study(first.id));
  EXPECT_ERROR(ErrorKind::not_found, store_->note_planned_run(first.id, 0, "r3"));
  EXPECT_EQ(store_->list_studies({})->rows.size(), 1U);
}

}  // namespace assay
