#include "base/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <thread>

namespace assay {
namespace {

using testing::HasSubstr;

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

/// Every name in a folder, to show that nothing was left there.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

TEST(FileDescriptor, ClosesItselfOnceAndMoves) {
  int raw = -1;
  {
    FileDescriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    raw = first.get();
    ASSERT_TRUE(first);
    FileDescriptor second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is the point
    EXPECT_EQ(second.get(), raw);
    FileDescriptor third;
    third = std::move(second);
    EXPECT_EQ(third.get(), raw);
    EXPECT_TRUE(is_open(raw));
  }
  EXPECT_FALSE(is_open(raw));
}

TEST(FileDescriptor, AssigningClosesWhatWasThere) {
  FileDescriptor target(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int old = target.get();
  FileDescriptor source(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int fresh = source.get();
  target = std::move(source);
  EXPECT_EQ(target.get(), fresh);
  EXPECT_FALSE(is_open(old));
  const int released = target.release();
  EXPECT_FALSE(target);
  EXPECT_TRUE(is_open(released));
  ::close(released);
}

TEST(OpenFile, IsNotInheritedByChildren) {
  const auto file = open_file("/dev/null", O_RDONLY);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(::fcntl(file->get(), F_GETFD) & FD_CLOEXEC);
}

TEST(OpenFile, NamesWhatItCouldNotOpen) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "absent";
  const auto file = open_file(path, O_RDONLY);
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().kind, ErrorKind::missing_file);
  EXPECT_EQ(file.error().message, "cannot open '" + path.string() + "': No such file or directory");
}

TEST(ReadFile, GivesEveryByteUpToTheLimit) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "data";
  std::string content(200'000, 'x');
  content[100'000] = '\0';
  ASSERT_TRUE(write_file_atomically(path, content).ok());
  EXPECT_EQ(*read_file(path), content);
  EXPECT_EQ(*read_file(path, content.size()), content);
  const auto too_large = read_file(path, content.size() - 1);
  ASSERT_FALSE(too_large.ok());
  EXPECT_EQ(too_large.error().kind, ErrorKind::bad_file);
  EXPECT_EQ(too_large.error().message, "'" + path.string() + "' is larger than 199999 bytes");
}

TEST(ReadFile, FailsClearlyOnAFolderAndOnNothing) {
  const TemporaryFolder folder;
  EXPECT_THAT(read_file(folder.path()).error().message, HasSubstr("Is a directory"));
  EXPECT_EQ(read_file(folder.path() / "absent").error().kind, ErrorKind::missing_file);
  ASSERT_TRUE(write_file_atomically(folder.path() / "empty", "").ok());
  EXPECT_EQ(*read_file(folder.path() / "empty"), "");
}

TEST(WriteAll, RidesOutShortWrites) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const std::string content(1'000'000, 'y');  // more than a pipe holds
  std::size_t received = 0;
  std::jthread reader([&] {
    std::array<char, 4096> buffer;
    for (ssize_t got = 0; (got = ::read(read_end.get(), buffer.data(), buffer.size())) > 0;) {
      received += static_cast<std::size_t>(got);
    }
  });
  EXPECT_TRUE(write_all(write_end.get(), content).ok());
  write_end.reset();
  reader.join();
  EXPECT_EQ(received, content.size());
}

TEST(WriteAll, ReportsAFullDisk) {
  const auto full = open_file("/dev/full", O_WRONLY);
  ASSERT_TRUE(full.ok());
  const auto result = write_all(full->get(), "x");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().kind, ErrorKind::io);
  EXPECT_THAT(result.error().hint, HasSubstr("Free some space"));
  EXPECT_TRUE(write_all(full->get(), "").ok());
}

TEST(WriteFileAtomically, ReplacesAndLeavesNothingElse) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "run.json";
  ASSERT_TRUE(write_file_atomically(path, "old").ok());
  ASSERT_TRUE(write_file_atomically(path, "new").ok());
  EXPECT_EQ(*read_file(path), "new");
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("run.json"));
}

TEST(WriteFileAtomically, AFailureKeepsTheOldAndSaysWhatWasBeingDone) {
  const TemporaryFolder folder;
  const auto blocked = folder.path() / "folder";
  ASSERT_TRUE(make_folders(blocked / "inside").ok());
  const auto result = write_file_atomically(blocked, "x");  // a file cannot replace a folder
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().text(), HasSubstr("writing '" + blocked.string() + "': cannot rename"));
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("folder"));
  EXPECT_EQ(write_file_atomically(folder.path() / "absent/file", "x").error().kind, ErrorKind::missing_file);
}

TEST(WriteFileAtomically, TwoThreadsNeverMixTheirContents) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "shared";
  ASSERT_TRUE(write_file_atomically(path, std::string(50'000, 'a')).ok());
  std::atomic<int> failures{0};
  const auto writer = [&](char letter) {
    for (int i = 0; i < 30; ++i) {
      if (!write_file_atomically(path, std::string(50'000, letter))) ++failures;
    }
  };
  {
    std::jthread first(writer, 'a');
    std::jthread second(writer, 'b');
    for (int i = 0; i < 60; ++i) {
      const auto content = read_file(path);
      ASSERT_TRUE(content.ok()) << content.error().text();
      ASSERT_EQ(content->size(), 50'000u);
      ASSERT_EQ(content->find_first_not_of(content->front()), std::string::npos);
    }
  }
  EXPECT_EQ(failures, 0);
  EXPECT_THAT(names_in(folder.path()), testing::ElementsAre("shared"));
}

TEST(MakeFolders, MakesAllOfThemAndAcceptsWhatIsThere) {
  const TemporaryFolder folder;
  const auto deep = folder.path() / "a/b/c";
  EXPECT_TRUE(make_folders(deep).ok());
  EXPECT_TRUE(make_folders(deep).ok());
  EXPECT_TRUE(fs::is_directory(deep));
  ASSERT_TRUE(write_file_atomically(folder.path() / "file", "x").ok());
  const auto blocked = make_folders(folder.path() / "file/sub");
  ASSERT_FALSE(blocked.ok());
  EXPECT_THAT(blocked.error().message, HasSubstr("cannot create the folder"));
}

TEST(FileSystemOf, KnowsTheUsualOnes) {
  const auto proc = file_system_of("/proc");
  ASSERT_TRUE(proc.ok());
  EXPECT_EQ(proc->name, "0x9fa0");  // not in the table: shown by its number
  EXPECT_FALSE(proc->network);
  const TemporaryFolder folder;
  const auto here = file_system_of(folder.path());
  const auto below = file_system_of(folder.path() / "not/there/yet");
  ASSERT_TRUE(here.ok());
  ASSERT_TRUE(below.ok());
  EXPECT_EQ(below->name, here->name);
  EXPECT_EQ(below->network, here->network);
  EXPECT_TRUE(file_system_of("relative/and/absent").ok());
  EXPECT_TRUE(file_system_of("").ok());
}

TEST(TemporaryFolder, RemovesItselfWithEverythingInIt) {
  fs::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    ASSERT_TRUE(make_folders(path / "deep/inside").ok());
    ASSERT_TRUE(write_file_atomically(path / "deep/file", "x").ok());
  }
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace assay
