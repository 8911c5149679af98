#include "backup/data_folder_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace assay {
namespace {

using testing::ElementsAre;

class DataFolderCopy : public testing::Test {
 protected:
  void write(const fs::path& file, std::string_view text) {
    ASSERT_TRUE(make_folders((data_ / file).parent_path()).ok());
    ASSERT_TRUE(write_file_atomically(data_ / file, text).ok());
  }
  /// Every file below a folder, by its path from there.
  static std::vector<std::string> files(const fs::path& folder) {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (!entry.is_directory()) found.push_back(entry.path().lexically_relative(folder).string());
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  Result<void> copy() { return copy_data_folder(data_, leader_, copy_); }

  TemporaryFolder folder_;
  fs::path data_ = folder_.path() / "data";
  fs::path copy_ = folder_.path() / "copy";
  LeaderParts leader_ = {.files = {"leader/tokens.jsonl", "leader/tls"}, .copy_open = [](const fs::path& copy) {
                           return write_file_atomically(copy / "leader/cluster.db", "from the open store");
                         }};
};

TEST_F(DataFolderCopy, HasEverythingButWhatIsMadeAgainOrBelongsToAProcess) {
  write("runs/r1/journal", "frames");
  write("runs/r1/owner.lock", "");
  write("studies/s1.json", "{}");
  write("index.db", "derived");
  write("index.db-wal", "derived");
  write("agent/spool", "of a node");
  write("leader/cluster.db", "open, not to be copied as it is");
  write("leader/endpoint.json", "of a running leader");
  write("leader/tokens.jsonl", "hashes");
  write("leader/tls/key.pem", "key");
  ASSERT_TRUE(copy().ok());
  EXPECT_THAT(files(copy_), ElementsAre("assay-backup.json", "leader/cluster.db", "leader/tls/key.pem",
                                        "leader/tokens.jsonl", "runs/r1/journal", "studies/s1.json"));
  EXPECT_EQ(read_file(copy_ / "leader/cluster.db").value(), "from the open store");
  EXPECT_EQ(fs::status(copy_).permissions(), fs::perms::owner_all) << "there are keys in it";

  const fs::path again = folder_.path() / "again";
  ASSERT_TRUE(restore_data_folder(copy_, again).ok());
  EXPECT_THAT(files(again), ElementsAre("leader/cluster.db", "leader/tls/key.pem", "leader/tokens.jsonl",
                                        "runs/r1/journal", "studies/s1.json"));
}

TEST_F(DataFolderCopy, OverwritesNothing) {
  write("runs/r1/journal", "frames");
  ASSERT_TRUE(copy().ok());
  const auto twice = copy();
  ASSERT_FALSE(twice.ok());
  EXPECT_EQ(twice.error().kind, ErrorKind::usage);
  const auto onto = restore_data_folder(copy_, data_);
  ASSERT_FALSE(onto.ok());
  EXPECT_EQ(onto.error().kind, ErrorKind::usage);
}

TEST_F(DataFolderCopy, DoesNotCopyIntoItself) {
  write("runs/r1/journal", "frames");
  copy_ = data_ / "inside";
  const auto made = copy();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::usage);
}

TEST_F(DataFolderCopy, OneThatWasBrokenOffIsNoBackup) {
  write("runs/r1/journal", "frames");
  leader_.copy_open = [](const fs::path&) { return Error{.kind = ErrorKind::io, .message = "no space left"}; };
  ASSERT_FALSE(copy().ok());
  const auto restored = restore_data_folder(copy_, folder_.path() / "again");
  ASSERT_FALSE(restored.ok());
  EXPECT_EQ(restored.error().kind, ErrorKind::bad_file);
}

}  // namespace
}  // namespace assay
