#include "backup/backup_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backup/backup_fixture.h"

namespace assay {
namespace {

using testing::ElementsAre;

class BackupDeskTest : public BackupTest {
 protected:
  BackupDeskTest() {
    write("leader/cluster.db", "open");
    write("leader/tokens.jsonl", "hashes");
  }
  BackupDesk::Options options() {
    return {.data = data_, .open = {"leader/cluster.db"}, .copy_open = [this](const fs::path& folder) -> Result<void> {
              if (problem_) return *problem_;
              ASSAY_CHECK(make_folders(folder / "leader"));
              return write_file_atomically(folder / "leader/cluster.db", "a copy");
            }};
  }
  fs::path copies() const { return data_ / "leader/backup"; }

  std::optional<Error> problem_;
};

TEST_F(BackupDeskTest, MakesOneAtATimeAndLeavesNothingBehind) {
  BackupDesk desk(options(), clock_);
  auto first = desk.begin();
  ASSERT_TRUE(first.ok()) << first.error().text();
  EXPECT_TRUE(fs::exists(copies()));
  const auto second = desk.begin();
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::busy);
  first = Error{.kind = ErrorKind::interrupted, .message = "the client left"};
  EXPECT_FALSE(fs::exists(copies()));

  const auto made = desk.make(copy_);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_THAT(files(copy_), ElementsAre("assay-backup.jsonl", "leader/cluster.db", "leader/tokens.jsonl"));
  EXPECT_EQ(read_file(copy_ / "leader/cluster.db").value(), "a copy");
  EXPECT_FALSE(fs::exists(copies()));
}

TEST_F(BackupDeskTest, TheNextCanBeginWithTheLastPieceOfTheOneBefore) {
  BackupDesk desk(options(), clock_);
  const auto first = desk.begin();
  ASSERT_TRUE(first.ok()) << first.error().text();
  const auto whole = (*first)->next();
  ASSERT_TRUE(whole.ok() && *whole);
  EXPECT_FALSE(fs::exists(copies()));
  EXPECT_TRUE(desk.begin().ok()) << "the source of the first is still there";
}

TEST_F(BackupDeskTest, AFailureLeavesNothingBehindAndIsNotTheLast) {
  BackupDesk desk(options(), clock_);
  problem_ = Error{.kind = ErrorKind::io, .message = "no space left"};
  EXPECT_FALSE(desk.make(copy_).ok());
  EXPECT_FALSE(fs::exists(copies()));
  EXPECT_FALSE(fs::exists(copy_));
  problem_.reset();
  EXPECT_TRUE(desk.make(copy_).ok());
}

TEST_F(BackupDeskTest, GivesUpWhenItIsTimeToStop) {
  BackupDesk desk(options(), clock_);
  std::stop_source stopping;
  stopping.request_stop();
  const auto made = desk.make(copy_, stopping.get_token());
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::interrupted);
  EXPECT_FALSE(fs::exists(copy_));
  EXPECT_FALSE(fs::exists(copies()));
}

TEST_F(BackupDeskTest, ClearsAwayWhatAKilledLeaderHasLeft) {
  write("leader/backup/leader/cluster.db", "half a copy");
  const BackupDesk desk(options(), clock_);
  EXPECT_FALSE(fs::exists(copies()));
}

}  // namespace
}  // namespace assay
