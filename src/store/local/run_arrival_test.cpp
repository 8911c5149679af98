#include "store/local/run_arrival.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "store/local/local_store.h"
#include "store/run_store.h"

namespace assay {
namespace {

using testing::ElementsAre;

constexpr const char* kRun = "k3q8m2x7ab";

std::string run_json(std::int64_t created_s, RunState state) {
  return json::serialize(to_json(assay::Run{.id = kRun,
                                            .name = "from-afar",
                                            .kind = "null",
                                            .state = state,
                                            .verdict = state == RunState::ended ? Verdict::valid : Verdict::none,
                                            .created = WallTime(std::chrono::seconds(created_s)),
                                            .spec_hash = "abc"}));
}

class RunArrival : public testing::Test {
 protected:
  fs::path copy_of(std::int64_t created_s, RunState state = RunState::ended) {
    const fs::path copy = folder_.path() / "incoming/gpu01" / kRun;
    EXPECT_TRUE(make_folders(copy).ok());
    EXPECT_TRUE(write_file_atomically(copy / "run.json", run_json(created_s, state)).ok());
    return copy;
  }
  fs::path data() const { return folder_.path() / "data"; }
  std::vector<std::string> listed() {
    std::vector<std::string> names;
    const auto store = open_local_store(data());
    EXPECT_TRUE(store.ok());
    const auto page = (*store)->list_runs({});
    EXPECT_TRUE(page.ok());
    for (const auto& row : page->rows) names.push_back(row.name);
    return names;
  }

  TemporaryFolder folder_;
};

TEST_F(RunArrival, ARunIsMovedAndListed) {
  const auto copy = copy_of(1'000'000);
  ASSERT_TRUE(take_over_run(data(), kRun, copy).ok());
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_THAT(listed(), ElementsAre("from-afar"));
}

TEST_F(RunArrival, OneThatWasMovedButNotListedIsListedTheNextTime) {
  ASSERT_TRUE(open_local_store(data()).ok());  // the list exists, without it
  ASSERT_TRUE(make_folders(data() / "runs").ok());
  fs::rename(copy_of(1'000'000), data() / "runs" / kRun);
  ASSERT_THAT(listed(), testing::IsEmpty());
  ASSERT_TRUE(take_over_run(data(), kRun, copy_of(1'000'000)).ok());
  EXPECT_THAT(listed(), ElementsAre("from-afar"));
}

TEST_F(RunArrival, TheSameRunOnceMoreIsFineAlsoIfItWasClosedMeanwhile) {
  for (int time = 0; time < 2; ++time) {
    const auto taken = take_over_run(data(), kRun, copy_of(1'000'000, RunState::running));
    ASSERT_TRUE(taken.ok()) << taken.error().text();
  }
  EXPECT_EQ((*open_local_store(data()))->find_run(kRun)->verdict, Verdict::interrupted);
}

TEST_F(RunArrival, AnotherRunIsNotReplaced) {
  ASSERT_TRUE(take_over_run(data(), kRun, copy_of(1'000'000)).ok());
  const auto refused = take_over_run(data(), kRun, copy_of(2'000'000));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::usage);
  EXPECT_EQ((*open_local_store(data()))->find_run(kRun)->created, WallTime(std::chrono::seconds(1'000'000)));
}

}  // namespace
}  // namespace assay
