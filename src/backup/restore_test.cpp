#include "backup/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "backup/backup_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Restore : public BackupTest {
 protected:
  Restore() {
    write("leader/tls/key.pem", "key");
    write("runs/r1/journal", "frames", 0644);
    write("runs/r1/result.json", "{}", 0640);
    EXPECT_EQ(::chmod(data_.c_str(), 0750), 0);
    EXPECT_EQ(::chmod((data_ / "leader").c_str(), 0700), 0);
    EXPECT_EQ(::chmod((data_ / "runs/r1").c_str(), 0755), 0);
  }
  Result<RestoreSummary> restore() { return restore_data_folder(copy_, again_); }

  fs::path again_ = folder_.path() / "again";
};

TEST_F(Restore, BringsBackEveryFileWithItsModeAndOwner) {
  const bool is_root = ::geteuid() == 0;
  // Any user that is not the one who restores.
  if (is_root) {
    ASSERT_EQ(::chown((data_ / "runs/r1/journal").c_str(), 1, 1), 0);
  }
  ASSERT_TRUE(copy().ok());
  const auto done = restore();
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_EQ(done->files, 3U);
  EXPECT_THAT(done->warnings, IsEmpty());
  EXPECT_EQ(files(again_), files(data_));
  EXPECT_EQ(read_file(again_ / "runs/r1/journal").value(), "frames");
  for (const char* path : {"", "leader", "leader/tls", "leader/tls/key.pem", "runs/r1", "runs/r1/journal"}) {
    EXPECT_EQ(mode_of(again_ / path), mode_of(data_ / path)) << path;
    struct stat before{};
    struct stat after{};
    ASSERT_EQ(::stat((data_ / path).c_str(), &before), 0);
    ASSERT_EQ(::stat((again_ / path).c_str(), &after), 0);
    EXPECT_EQ(after.st_uid, before.st_uid) << path;
    EXPECT_EQ(after.st_gid, before.st_gid) << path;
  }
}

TEST_F(Restore, RefusesADamagedCopyByTheNameOfTheFile) {
  ASSERT_TRUE(copy().ok());
  ASSERT_TRUE(write_file_atomically(copy_ / "runs/r1/journal", "flames").ok());
  fs::remove(copy_ / "runs/r1/result.json");
  const auto done = restore();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::bad_file);
  EXPECT_THAT(done.error().message,
              AllOf(HasSubstr("'runs/r1/journal' has other content"), HasSubstr("'runs/r1/result.json' is missing")));
  EXPECT_FALSE(fs::exists(again_)) << "nothing is written before everything was looked at";
}

TEST_F(Restore, RefusesACopyWhoseManifestIsDamaged) {
  ASSERT_TRUE(copy().ok());
  auto text = read_file(copy_ / kManifestName).value();
  text.replace(text.find("0644"), 4, "0666");
  ASSERT_TRUE(write_file_atomically(copy_ / kManifestName, text).ok());
  const auto done = restore();
  ASSERT_FALSE(done.ok());
  EXPECT_THAT(done.error().text(), HasSubstr("assay-backup.jsonl: it is damaged"));
}

TEST_F(Restore, OverwritesNothingAndTakesNoOtherFolder) {
  const auto none = restore();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().kind, ErrorKind::bad_file);
  ASSERT_TRUE(copy().ok());
  const auto onto = restore_data_folder(copy_, data_);
  ASSERT_FALSE(onto.ok());
  EXPECT_EQ(onto.error().kind, ErrorKind::usage);
}

TEST_F(Restore, TakesTheCopyOfAnEarlierVersionWithAWarning) {
  copy_ = data_;
  write("assay-backup.json", R"({"schema": 1, "assay": "0.1.0"})");
  const auto done = restore();
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_THAT(done->warnings, ElementsAre(HasSubstr("without sums")));
  EXPECT_THAT(files(again_), ElementsAre("leader/tls/key.pem", "runs/r1/journal", "runs/r1/result.json"));
  EXPECT_EQ(mode_of(again_), 0700U);
  EXPECT_EQ(mode_of(again_ / "runs/r1/journal"), 0600U);
}

}  // namespace
}  // namespace assay
