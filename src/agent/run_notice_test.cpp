#include "agent/run_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process_tree.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void put_file(const fs::path& path, std::string_view text) { ASSERT_TRUE(write_file_atomically(path, text).ok()); }

TEST(RunNotice, IsSeenWhileItLives) {
  const TemporaryFolder root;
  const std::vector folders = {root.path() / "runs"};
  {
    const auto notice = RunNotice::announce("k3ab", folders);
    EXPECT_THAT(runs_on_this_machine(folders), ElementsAre(NoticedRun{.pid = ::getpid(), .run = "k3ab"}));
  }
  EXPECT_THAT(runs_on_this_machine(folders), IsEmpty());
}

TEST(RunNotice, TheFolderIsForEverybodyAndKeepsForeignHandsOff) {
  const TemporaryFolder root;
  const std::vector folders = {root.path() / "runs"};
  const auto notice = RunNotice::announce("k3ab", folders);
  struct stat found{};
  ASSERT_EQ(::stat(folders.front().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 01777U);
}

TEST(RunNotice, TakesTheFirstFolderThatCanBeWritten) {
  const TemporaryFolder root;
  put_file(root.path() / "file", "");
  const std::vector folders = {root.path() / "missing" / "runs", root.path() / "file", root.path() / "second"};
  const auto notice = RunNotice::announce("k3ab", folders);
  EXPECT_EQ(notice.file().parent_path(), root.path() / "second");
  EXPECT_EQ(runs_on_this_machine(folders).size(), 1U);
}

TEST(RunNotice, NowhereToWriteIsNoFailure) {
  const auto notice = RunNotice::announce("k3ab", {"/nonexistent/a/b"});
  EXPECT_TRUE(notice.file().empty());
}

TEST(RunNotice, ALinkInPlaceOfTheFolderIsNotFollowed) {
  const TemporaryFolder root;
  ASSERT_TRUE(make_folders(root.path() / "target").ok());
  fs::create_symlink(root.path() / "target", root.path() / "runs");
  EXPECT_TRUE(RunNotice::announce("k3ab", {root.path() / "runs"}).file().empty());
}

TEST(RunNotice, ADeadProcessOrAnotherOneOfItsNumberIsIgnored) {
  const TemporaryFolder root;
  const auto self = read_process_stat(::getpid());
  ASSERT_TRUE(self);
  put_file(root.path() / fmt::format("{}-{}", self->pid, self->start_ticks + 1), "reused");
  put_file(root.path() / "999999999-5", "dead");
  EXPECT_THAT(runs_on_this_machine({root.path()}), IsEmpty());
}

TEST(RunNotice, WhatIsNoNoticeIsPassedOver) {
  const TemporaryFolder root;
  const auto self = read_process_stat(::getpid());
  ASSERT_TRUE(self);
  const std::string name = fmt::format("{}-{}", self->pid, self->start_ticks);
  put_file(root.path() / "elsewhere", "k3ab");
  fs::create_symlink(root.path() / "elsewhere", root.path() / name);
  for (const char* other : {"-", "12-", "-12", "x-1", "1-x", "-1-1", "99999999999999999999-1"}) {
    put_file(root.path() / other, "k3ab");
  }
  EXPECT_THAT(runs_on_this_machine({root.path()}), IsEmpty());
  fs::remove(root.path() / name);
  ASSERT_EQ(::mkfifo((root.path() / name).c_str(), 0600), 0);
  EXPECT_THAT(runs_on_this_machine({root.path()}), IsEmpty());
}

TEST(RunNotice, NobodySpeaksForTheProcessOfAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to own a file as somebody else";
  const TemporaryFolder root;
  const auto notice = RunNotice::announce("k3ab", {root.path()});
  ASSERT_EQ(::chown(notice.file().c_str(), 65534, 65534), 0);
  EXPECT_THAT(runs_on_this_machine({root.path()}), IsEmpty());
}

TEST(RunNotice, AnIdIsCutAndMadePrintable) {
  const TemporaryFolder root;
  const auto notice = RunNotice::announce("a\x1b[31mb" + std::string(500, 'x'), {root.path()});
  const auto runs = runs_on_this_machine({root.path()});
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_LE(runs.front().run.size(), 128U);
  EXPECT_EQ(runs.front().run.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace assay
