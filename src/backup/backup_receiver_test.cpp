#include "backup/backup_receiver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backup/backup_fixture.h"
#include "base/version.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using BackupReceiverTest = BackupTest;

TEST_F(BackupReceiverTest, HasEverythingButWhatIsMadeAgainOrBelongsToAProcess) {
  write("runs/r1/journal", "frames", 0644);
  write("runs/r1/owner.lock", "");
  write("studies/s1.json", "{}");
  write("index.db", "derived");
  write("index.db-wal", "derived");
  write("agent/spool", "of a node");
  write("leader/cluster.db", "as a leader that does not run left it");
  write("leader/cluster.db-wal", "with its log");
  write("leader/cluster.db-shm", "and what is made again");
  write("leader/endpoint.json", "of a running leader");
  write("leader/owner.token", "secret");
  write("leader/tokens.jsonl", "hashes");
  write("leader/tls/key.pem", "key");
  ASSERT_EQ(::chmod((data_ / "leader").c_str(), 0700), 0);
  fs::create_symlink("r1", data_ / "runs/newest");
  const auto made = copy();
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_EQ(made->files, 6U);
  EXPECT_THAT(files(copy_),
              ElementsAre("assay-backup.jsonl", "leader/cluster.db", "leader/cluster.db-wal", "leader/tls/key.pem",
                          "leader/tokens.jsonl", "runs/newest", "runs/r1/journal", "studies/s1.json"));
  EXPECT_EQ(mode_of(copy_), 0700U) << "there are keys in it";
  EXPECT_EQ(mode_of(copy_ / "leader"), 0700U);
  EXPECT_EQ(mode_of(copy_ / "runs/r1/journal"), 0644U);
  EXPECT_EQ(fs::read_symlink(copy_ / "runs/newest"), "r1");
  const auto manifest = manifest_of(copy_);
  ASSERT_TRUE(manifest.ok()) << manifest.error().text();
  EXPECT_EQ(manifest->assay, version());
  EXPECT_EQ(manifest->made, clock_.wall());
}

TEST_F(BackupReceiverTest, TakesWhatIsOpenFromItsCopies) {
  write("leader/cluster.db", "open, not to be copied as it is");
  write("leader/cluster.db-wal", "not without it either");
  write("leader/series/series.db", "open, too");
  write("leader/series/head-1.log", "open, too");
  write("leader/tokens.jsonl", "hashes");
  const fs::path real = std::exchange(data_, folder_.path() / "copies");
  write("leader/cluster.db", "a copy");
  write("leader/series/series.db", "another");
  const auto source = backup_source({.data = real,
                                     .open = {"leader/cluster.db", "leader/cluster.db-wal", "leader/series"},
                                     .copies = folder_.path() / "copies"},
                                    clock_.wall());
  const auto made = receive_backup(*source, copy_);
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_THAT(files(copy_),
              ElementsAre("assay-backup.jsonl", "leader/cluster.db", "leader/series/series.db", "leader/tokens.jsonl"));
  EXPECT_EQ(read_file(copy_ / "leader/cluster.db").value(), "a copy");
}

TEST_F(BackupReceiverTest, OverwritesNothing) {
  write("runs/r1/journal", "frames");
  ASSERT_TRUE(copy().ok());
  const auto twice = copy();
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().kind, ErrorKind::usage);
  copy_ = folder_.path() / "other";
  ASSERT_TRUE(make_folders(folder_.path() / "other.partial").ok());
  const auto beside = copy();
  ASSERT_FALSE(beside.ok());
  EXPECT_EQ(beside.error().kind, ErrorKind::usage);
  EXPECT_THAT(beside.error().hint, HasSubstr("remove it"));
  EXPECT_TRUE(fs::exists(folder_.path() / "other.partial"));
}

TEST_F(BackupReceiverTest, TakesAnEmptyFolderWithASlashBehindItsName) {
  write("runs/r1/journal", "frames");
  ASSERT_TRUE(make_folders(copy_).ok());
  copy_ = copy_.string() + "/";
  const auto made = copy();
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_TRUE(fs::exists(copy_ / "runs/r1/journal"));
}

/// The archive as it is, but for one change.
class Changed final : public ByteSource {
 public:
  Changed(std::unique_ptr<ByteSource> source, std::string from, std::string to, std::size_t length)
      : source_(std::move(source)), from_(std::move(from)), to_(std::move(to)), left_(length) {}
  Result<std::optional<std::string>> next() override {
    ASSAY_TRY(auto piece, source_->next());
    if (!piece) return piece;
    if (const auto at = piece->find(from_); at != std::string::npos) piece->replace(at, from_.size(), to_);
    piece->resize(std::min(piece->size(), left_));
    left_ -= piece->size();
    return piece;
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string from_;
  std::string to_;
  std::size_t left_;
};

TEST_F(BackupReceiverTest, WhatChangedOnItsWayIsNoBackup) {
  write("runs/r1/journal", "frames of a run");
  Changed damaged(backup_source({.data = data_}, clock_.wall()), "frames", "flames", SIZE_MAX);
  const auto made = receive_backup(damaged, copy_);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::bad_file);
  EXPECT_THAT(made.error().text(), HasSubstr("'runs/r1/journal' has other content"));
  EXPECT_FALSE(fs::exists(copy_));
  EXPECT_FALSE(fs::exists(copy_.string() + ".partial"));
}

TEST_F(BackupReceiverTest, OneThatWasBrokenOffIsNoBackup) {
  write("runs/r1/journal", "frames");
  for (const std::size_t length : {0, 1000, 2048, 3000}) {
    Changed cut(backup_source({.data = data_}, clock_.wall()), "nothing", "", length);
    const auto made = receive_backup(cut, copy_);
    ASSERT_FALSE(made.ok()) << length;
    EXPECT_EQ(made.error().kind, ErrorKind::bad_file);
    EXPECT_FALSE(fs::exists(copy_));
  }
}

TEST_F(BackupReceiverTest, SaysWhatStoppedTheSource) {
  write("runs/r1/journal", "frames");
  write("runs/r1/bad\x01name", "frames");
  const auto made = copy();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(made.error().message, HasSubstr("is not plain text"));
  EXPECT_FALSE(fs::exists(copy_));
}

}  // namespace
}  // namespace assay
