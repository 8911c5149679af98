#pragma once

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/run_contract_fixture.h"

namespace assay {

TEST_P(RunStoreContract, AListShowsAbandonedRunsAsInterrupted) {
  Run abandoned = a_run("abandoned");
  Run going_on = a_run("going on");
  auto first = writer_of(abandoned);
  const auto second = writer_of(going_on);
  first.reset();
  const auto page = store_->list_runs({.sort = "name", .descending = false});
  ASSERT_OK(page);
  ASSERT_EQ(page->rows.size(), 2U);
  EXPECT_EQ(page->rows[0].verdict, Verdict::interrupted);
  EXPECT_EQ(page->rows[0].state, RunState::ended);
  EXPECT_EQ(page->rows[1].state, RunState::running);
}

TEST_P(RunStoreContract, AListRowShowsWhatTheRunHas) {
  Run run = a_run();
  run.study = "s1";
  run.variant = "batch_size=64";
  run.repeat = 2;
  run.ranks = 4;
  run.nodes = 2;
  run.duration = std::chrono::milliseconds(1500);
  run.metrics = {{"loss", 0.5}, {"broken", NAN}};
  run.placement = {.node = "node-1", .further = {{.node = "node-2"}}};
  run = ended_run(run, Verdict::flagged);
  const auto page = store_->list_runs({});
  ASSERT_OK(page);
  ASSERT_EQ(page->rows.size(), 1U);
  EXPECT_EQ(page->total, 1);
  const auto& row = page->rows[0];
  EXPECT_EQ(row.id, run.id);
  EXPECT_EQ(row.kind, "train");
  EXPECT_EQ(row.state, RunState::ended);
  EXPECT_EQ(row.verdict, Verdict::flagged);
  EXPECT_EQ(row.tags, run.tags);
  EXPECT_EQ(row.study, "s1");
  EXPECT_EQ(row.variant, "batch_size=64");
  EXPECT_EQ(row.repeat, 2);
  EXPECT_EQ(row.ranks, 4);
  EXPECT_EQ(row.nodes, 2);
  EXPECT_EQ(row.host, "gpu01");
  EXPECT_EQ(row.on, (std::vector<std::string>{"node-1", "node-2"}));
  EXPECT_EQ(row.created, at(0));
  EXPECT_EQ(row.started, at(1));
  EXPECT_EQ(row.duration, std::chrono::milliseconds(1500));
  EXPECT_EQ(row.metrics.at("loss"), 0.5);
  EXPECT_TRUE(std::isnan(row.metrics.at("broken")));
}

TEST_P(RunStoreContract, AListMayBeOfWhatChangedAfterwardsAlone) {
  const Run first = ended_run(a_run("first"));
  ended_run(a_run("second"));
  const auto before = store_->newest_change();
  ASSERT_OK(before);
  EXPECT_THAT(names({.changed_after = *before}), testing::IsEmpty());
  ASSERT_OK(store_->change_run(first.id, [](Run& one) -> Result<void> {
    one.tags.emplace_back("seen");
    return {};
  }));
  ended_run(a_run("third"));
  EXPECT_THAT(names({.changed_after = *before}), testing::UnorderedElementsAre("first", "third"));
  const auto page =
      store_->list_runs({.conditions = {{"tag", Condition::Op::equal, "seen"}}, .limit = 1, .changed_after = *before});
  ASSERT_OK(page);
  EXPECT_EQ(page->total, 1) << "of those that changed";
  EXPECT_THAT(names({.changed_after = UINT64_MAX}), testing::IsEmpty());
}

class ListedRunStoreContract : public RunStoreContract {
 protected:
  void SetUp() override {
    const auto add = [&](std::string name, int created, std::vector<std::string> tags, std::optional<double> loss,
                         Verdict verdict) {
      Run run = a_run(std::move(name));
      run.created = at(created);
      run.tags = std::move(tags);
      run.duration = std::chrono::seconds(created);
      // Called otherwise by the cluster than the machines call themselves.
      if (created >= 20) run.placement = {.node = "node-1", .further = {{.node = "node-" + std::to_string(created)}}};
      if (loss) run.metrics["loss"] = *loss;
      ended_run(run, verdict);
    };
    add("alpha", 10, {"a", "x=1"}, 0.5, Verdict::valid);
    add("beta", 30, {"b"}, std::nullopt, Verdict::failed);
    add("gamma", 20, {"a"}, 0.1, Verdict::valid);
    add("Alphabet", 40, {}, 0.9, Verdict::flagged);
  }

  std::vector<std::string> matching(std::vector<Condition> conditions) {
    return names({.conditions = std::move(conditions), .sort = "created", .descending = false});
  }
};

TEST_P(ListedRunStoreContract, Sorts) {
  using testing::ElementsAre;
  EXPECT_THAT(names({}), ElementsAre("Alphabet", "beta", "gamma", "alpha"));
  EXPECT_THAT(names({.sort = "created", .descending = false}), ElementsAre("alpha", "gamma", "beta", "Alphabet"));
  EXPECT_THAT(names({.sort = "duration"}), ElementsAre("Alphabet", "beta", "gamma", "alpha"));
  EXPECT_THAT(names({.sort = "metrics.loss", .descending = false}), ElementsAre("gamma", "alpha", "Alphabet", "beta"));
  EXPECT_THAT(names({.sort = "metrics.loss"}), ElementsAre("Alphabet", "alpha", "gamma", "beta"));
  EXPECT_ERROR(ErrorKind::usage, store_->list_runs({.sort = "nonsense"}));
}

TEST_P(ListedRunStoreContract, Filters) {
  using testing::ElementsAre;
  using Op = Condition::Op;
  EXPECT_THAT(matching({{"verdict", Op::equal, "valid"}}), ElementsAre("alpha", "gamma"));
  EXPECT_THAT(matching({{"verdict", Op::not_equal, "valid"}}), ElementsAre("beta", "Alphabet"));
  EXPECT_THAT(matching({{"name", Op::contains, "ALPHA"}}), ElementsAre("alpha", "Alphabet"));
  EXPECT_THAT(matching({{"name", Op::starts_with, "alp"}}), ElementsAre("alpha"));
  EXPECT_THAT(matching({{"name", Op::contains, "%"}}), ElementsAre());
  EXPECT_THAT(matching({{"tag", Op::equal, "a"}}), ElementsAre("alpha", "gamma"));
  EXPECT_THAT(matching({{"tag", Op::not_equal, "a"}}), ElementsAre("beta", "Alphabet"));
  EXPECT_THAT(matching({{"tag", Op::starts_with, "x="}}), ElementsAre("alpha"));
  EXPECT_THAT(matching({{"node", Op::equal, "node-1"}}), ElementsAre("gamma", "beta", "Alphabet"));
  EXPECT_THAT(matching({{"node", Op::equal, "node-30"}}), ElementsAre("beta"));
  EXPECT_THAT(matching({{"node", Op::not_equal, "node-30"}}), ElementsAre("alpha", "gamma", "Alphabet"));
  EXPECT_THAT(matching({{"metrics.loss", Op::less_equal, "", 0.5}}), ElementsAre("alpha", "gamma"));
  EXPECT_THAT(matching({{"metrics.loss", Op::not_equal, "", 0.5}}), ElementsAre("gamma", "Alphabet"));
  EXPECT_THAT(matching({{"duration", Op::greater, "", 20}}), ElementsAre("beta", "Alphabet"));
  EXPECT_THAT(matching({{"created", Op::greater_equal, "", unix_seconds(at(30))}}), ElementsAre("beta", "Alphabet"));
  EXPECT_THAT(matching({{"host", Op::equal, "gpu01"}, {"tag", Op::equal, "a"}, {"metrics.loss", Op::less, "", 0.3}}),
              ElementsAre("gamma"));
  EXPECT_THAT(matching({{"name", Op::equal, "x' OR 1=1 --"}}), ElementsAre());
  EXPECT_ERROR(ErrorKind::usage, store_->list_runs({.conditions = {{"no such", Op::equal, ""}}}));
}

TEST_P(ListedRunStoreContract, Pages) {
  for (const bool descending : {false, true}) {
    for (const char* sort : {"created", "name", "duration", "verdict", "metrics.loss", "metrics.none"}) {
      const RunQuery whole{.sort = sort, .descending = descending};
      for (const std::int64_t limit : {1, 2, 3, 4, 5}) {
        RunQuery query{.sort = sort, .descending = descending, .limit = limit};
        std::vector<std::string> seen;
        do {
          const auto page = store_->list_runs(query);
          ASSERT_OK(page);
          EXPECT_EQ(page->total, 4);
          ASSERT_LE(std::ssize(page->rows), limit);
          ASSERT_FALSE(page->rows.empty());
          for (const auto& row : page->rows) seen.push_back(row.name);
          query.after = page->next;
        } while (!query.after.empty());
        EXPECT_EQ(seen, names(whole)) << sort << " " << descending << " " << limit;
      }
    }
  }
}

TEST_P(ListedRunStoreContract, APageGoesOnWhereTheOneBeforeEndedWhateverHappenedMeanwhile) {
  using testing::ElementsAre;
  const auto first = store_->list_runs({.limit = 2});
  ASSERT_OK(first);
  ASSERT_OK(store_->remove_run(first->rows[1].id));
  Run newer = a_run("newer");
  newer.created = at(50);
  ended_run(newer);
  Run between = a_run("between");
  between.created = at(15);
  ended_run(between);
  EXPECT_THAT(names({.after = first->next}), ElementsAre("gamma", "between", "alpha"));
}

TEST_P(ListedRunStoreContract, AFilterHoldsOnEveryPage) {
  using testing::ElementsAre;
  const std::vector<Condition> valid = {{"verdict", Condition::Op::equal, "valid"}};
  const auto first = store_->list_runs({.conditions = valid, .limit = 1});
  ASSERT_OK(first);
  EXPECT_EQ(first->total, 2);
  EXPECT_THAT(names({.conditions = valid, .limit = 1, .after = first->next}), ElementsAre("alpha"));
}

TEST_P(ListedRunStoreContract, APlaceIsOneOfAListInItsOwnOrder) {
  const auto first = store_->list_runs({.limit = 2});
  ASSERT_OK(first);
  EXPECT_ERROR(ErrorKind::usage, store_->list_runs({.sort = "name", .after = first->next}));
  EXPECT_ERROR(ErrorKind::usage, store_->list_runs({.after = "nonsense"}));
}

TEST_P(RunStoreContract, StudiesAreListedInPages) {
  using testing::ElementsAre;
  for (int i = 0; i < 5; ++i) {
    Study study{.name = fmt::format("s{}", i), .created = at(i / 2)};
    study.plan.resize(2);
    study.plan[1].variant = "other";
    ASSERT_OK(store_->create_study(study));
  }
  const auto first = store_->list_studies({.limit = 2});
  ASSERT_OK(first);
  ASSERT_EQ(first->rows.size(), 2U);
  EXPECT_EQ(first->rows[0].name, "s4");
  EXPECT_EQ(first->rows[0].planned, 2);
  EXPECT_EQ(first->rows[0].configurations, 2);
  EXPECT_EQ(first->rows[0].begun, 0);
  ASSERT_OK(store_->remove_study(first->rows[1].id));
  Study newer{.name = "newer", .created = at(9)};
  ASSERT_OK(store_->create_study(newer));
  std::set<std::string> rest;
  StudyQuery query{.limit = 1, .after = first->next};
  for (; !query.after.empty();) {
    const auto page = store_->list_studies(query);
    ASSERT_OK(page);
    ASSERT_EQ(page->rows.size(), 1U);
    EXPECT_TRUE(rest.insert(page->rows[0].name).second) << "twice";
    query.after = page->next;
  }
  rest.insert(first->rows[1].name);
  EXPECT_THAT(rest, ElementsAre("s0", "s1", "s2", "s3"));
  EXPECT_ERROR(ErrorKind::usage, store_->list_studies({.after = "yesterday"}));
}

TEST_P(ListedRunStoreContract, ReindexingChangesNothing) {
  const auto before = names({});
  const auto report = store_->reindex();
  ASSERT_OK(report);
  EXPECT_EQ(report->runs, 4);
  EXPECT_EQ(report->interrupted, 0);
  EXPECT_THAT(report->problems, testing::IsEmpty());
  EXPECT_EQ(names({}), before);
}

}  // namespace assay
