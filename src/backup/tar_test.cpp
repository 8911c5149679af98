#include "backup/tar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/files.h"
#include "base/subprocess.h"

namespace assay {
namespace {

using testing::HasSubstr;

struct Unpacked {
  TarEntry entry;
  std::string content;
  bool ended = false;
};

Result<std::vector<Unpacked>> unpack(std::string_view archive, std::size_t piece) {
  std::vector<Unpacked> found;
  TarReader reader({.on_entry = [&](const TarEntry& entry) -> Result<void> {
                      found.push_back({.entry = entry});
                      return {};
                    },
                    .on_bytes = [&](std::string_view bytes) -> Result<void> {
                      found.back().content += bytes;
                      return {};
                    },
                    .on_end = [&]() -> Result<void> {
                      found.back().ended = true;
                      return {};
                    }});
  for (; !archive.empty(); archive.remove_prefix(std::min(piece, archive.size()))) {
    ASSAY_CHECK(reader.take(archive.substr(0, piece)));
  }
  ASSAY_CHECK(reader.finish());
  return found;
}

std::string packed(TarEntry entry, std::string_view content = "") {
  entry.bytes = content.size();
  return tar_head(entry) + std::string(content) + tar_padding(content.size());
}

std::string long_path() {
  std::string path = "runs";
  while (path.size() < 400) path += "/a-folder-with-a-long-name";
  return path + "/journal";
}

std::vector<TarEntry> many_entries() {
  return {
      {.path = ".", .kind = TarEntry::Kind::folder, .mode = 0700, .user = "assay", .group = "assay"},
      {.path = "leader/tls/assay-tls.pem", .bytes = 700, .mode = 0600, .user = "assay", .modified_s = 1'790'000'000},
      {.path = long_path(), .bytes = 512, .mode = 0644},
      {.path = "empty"},
      {.path = "latest", .kind = TarEntry::Kind::link, .mode = 0777, .target = std::string(150, 'x')}};
}

std::string archive_of(const std::vector<TarEntry>& entries) {
  std::string archive;
  for (const auto& entry : entries) archive += packed(entry, std::string(entry.bytes, 'b'));
  return archive + tar_end();
}

TEST(Tar, GivesBackWhatWasPutInWhereverItIsCut) {
  const auto entries = many_entries();
  const auto archive = archive_of(entries);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{511}, std::size_t{513}, archive.size()}) {
    const auto found = unpack(archive, piece);
    ASSERT_TRUE(found.ok()) << found.error().text();
    ASSERT_EQ(found->size(), entries.size());
    for (std::size_t at = 0; at < entries.size(); ++at) {
      EXPECT_EQ((*found)[at].entry, entries[at]) << entries[at].path;
      EXPECT_EQ((*found)[at].content, std::string(entries[at].bytes, 'b'));
      EXPECT_EQ((*found)[at].ended, entries[at].kind == TarEntry::Kind::file);
    }
  }
}

TEST(Tar, HoldsFilesOfMoreThanEightGibibytes) {
  const TarEntry large{.path = "leader/series/series.db", .bytes = std::uint64_t{1} << 40};
  std::uint64_t bytes = 0;
  TarReader reader({.on_entry = [&](const TarEntry& entry) -> Result<void> {
                      bytes = entry.bytes;
                      return {};
                    },
                    .on_bytes = [](std::string_view) { return Result<void>(); },
                    .on_end = [] { return Result<void>(); }});
  ASSERT_TRUE(reader.take(tar_head(large)).ok());
  EXPECT_EQ(bytes, large.bytes);
}

TEST(Tar, RefusesPathsThatLeadOutAndWhatItDoesNotKnow) {
  for (const char* path : {"/etc/passwd", "../up", "a/../b", "a//b", "a/", "", "./a"}) {
    EXPECT_FALSE(is_inner_path(path)) << path;
    EXPECT_FALSE(unpack(packed({.path = path}) + tar_end(), 100).ok()) << path;
  }
  std::string device = packed({.path = "device"});
  device[156] = '3';
  EXPECT_FALSE(unpack(device + tar_end(), 100).ok()) << "the sum of the head does not fit any more";
}

TEST(Tar, NoticesWhatIsDamagedOrBrokenOff) {
  const auto archive = archive_of(many_entries());
  for (const std::size_t length : {std::size_t{0}, std::size_t{100}, std::size_t{600}, archive.size() - 1024}) {
    const auto cut = unpack(archive.substr(0, length), 64);
    ASSERT_FALSE(cut.ok()) << length;
    EXPECT_EQ(cut.error().kind, ErrorKind::bad_file);
  }
  auto damaged = archive;
  damaged[3] = 'X';
  EXPECT_FALSE(unpack(damaged, 64).ok());
}

TEST(Tar, IsWhatTheProgramOfThatNameReads) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "copy.tar";
  ASSERT_TRUE(write_file_atomically(file, archive_of(many_entries())).ok());
  const auto listed = run_command({"tar", "-tf", file.string()});
  if (!listed) GTEST_SKIP() << "there is no tar here";
  EXPECT_EQ(listed->exit_code, 0) << listed->error;
  EXPECT_THAT(listed->out, HasSubstr(long_path()));
}

}  // namespace
}  // namespace assay
