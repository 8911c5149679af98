#include "backup/backup_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "backup/manifest.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class BackupScheduleTest : public testing::Test {
 protected:
  BackupSchedule schedule(std::size_t keep = 3) {
    return {{.to = to_, .every = std::chrono::hours(24), .keep = keep},
            [this](const fs::path& folder, const std::stop_token&) -> Result<void> {
              there_when_made_ = names().size();
              if (problem_) return *problem_;
              ASSAY_CHECK(make_folders(folder));
              return write_file_atomically(folder / kManifestName, "");
            },
            clock_};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(to_, missing)) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }
  static bool made(const std::optional<Result<void>>& outcome) { return outcome && outcome->ok(); }

  TemporaryFolder folder_;
  fs::path to_ = folder_.path() / "backups";
  ManualClock clock_{parse_iso8601("2026-11-16T16:45:00.000Z").value()};
  std::optional<Error> problem_;
  std::size_t there_when_made_ = 0;
};

TEST_F(BackupScheduleTest, MakesOneADayAlsoAfterARestart) {
  auto first = schedule();
  EXPECT_TRUE(made(first.tick()));
  EXPECT_THAT(names(), ElementsAre("assay-20261116T164500Z"));
  clock_.advance(std::chrono::hours(23));
  EXPECT_FALSE(first.tick());
  auto second = schedule();
  EXPECT_FALSE(second.tick()) << "the last one is not a day old";
  clock_.advance(std::chrono::hours(1));
  EXPECT_TRUE(made(second.tick()));
  EXPECT_THAT(names(), ElementsAre("assay-20261116T164500Z", "assay-20261117T164500Z"));
}

TEST_F(BackupScheduleTest, ForgetsTheOldestOnlyOnceTheNewOneIsThere) {
  auto daily = schedule(3);
  for (int day = 0; day < 5; ++day) {
    EXPECT_TRUE(made(daily.tick()));
    clock_.advance(std::chrono::hours(24));
  }
  EXPECT_THAT(names(), ElementsAre("assay-20261118T164500Z", "assay-20261119T164500Z", "assay-20261120T164500Z"));
  EXPECT_EQ(there_when_made_, 3U);
  problem_ = Error{.kind = ErrorKind::io, .message = "no space left"};
  const auto failed = daily.tick();
  ASSERT_TRUE(failed);
  EXPECT_FALSE(failed->ok());
  EXPECT_THAT(names(), SizeIs(3)) << "nothing goes for a backup that was not made";
}

TEST_F(BackupScheduleTest, TriesAgainAfterAFailureButNotAllTheTime) {
  auto daily = schedule();
  problem_ = Error{.kind = ErrorKind::io, .message = "no space left"};
  ASSERT_TRUE(daily.tick());
  problem_.reset();
  EXPECT_FALSE(daily.tick());
  clock_.advance(std::chrono::minutes(59));
  EXPECT_FALSE(daily.tick());
  clock_.advance(std::chrono::minutes(1));
  EXPECT_TRUE(made(daily.tick()));
}

TEST_F(BackupScheduleTest, TouchesNothingOfOthers) {
  for (const char* other : {"monday", "assay-old", "assay-20261116T164500Z-of-ours", "assay-20200101T000000Z"}) {
    ASSERT_TRUE(make_folders(to_ / other).ok());
  }
  // The last has a name of ours, and is no whole backup.
  ASSERT_TRUE(make_folders(to_ / "assay-20261101T000000Z.partial").ok());
  auto daily = schedule(1);
  EXPECT_TRUE(made(daily.tick()));
  EXPECT_THAT(names(), ElementsAre("assay-20200101T000000Z", "assay-20261116T164500Z", "assay-20261116T164500Z-of-ours",
                                   "assay-old", "monday"));
}

TEST_F(BackupScheduleTest, AClockThatWasWrongStopsNoBackups) {
  ASSERT_TRUE(make_folders(to_ / "assay-20991231T000000Z").ok());
  ASSERT_TRUE(write_file_atomically(to_ / "assay-20991231T000000Z" / kManifestName, "").ok());
  auto daily = schedule(2);
  EXPECT_TRUE(made(daily.tick()));
  EXPECT_FALSE(daily.tick());
  clock_.advance(std::chrono::hours(24));
  EXPECT_TRUE(made(daily.tick()));
  EXPECT_FALSE(daily.tick());
}

}  // namespace
}  // namespace assay
