#include "launch/hosted/part_relay.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <thread>

#include "base/spawn.h"
#include "launch/hosted/folder_launcher_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;

class Relay : public testing::Test {
 protected:
  /// A job that has run, with what it wrote and left.
  JobFolder ended_job(const std::string& script) {
    fs::create_directories(scratch_.path() / "in");
    EXPECT_TRUE(write_file_atomically(scratch_.path() / "in/spec.json", "{}").ok());
    FolderLauncher launcher(root_.path());
    auto job = launcher.start({.arguments = {"sh", "-c", script}, .scratch = scratch_.path(), .token = "t"});
    EXPECT_TRUE(job.ok()) << job.error().text();
    const auto limit = SystemClock().now() + std::chrono::seconds(90);
    while (!(*job)->wait(limit, -1).ended && SystemClock().now() < limit) {
      std::array<char, 4096> buffer;
      for (const auto stream : kJobStreams) (void)(*job)->read(stream, buffer);
    }
    return folder_for(root_.path(), "t");
  }

  static std::string everything(const JobFolder& folder, const PerStream<std::uint64_t>& from) {
    PartRelay relay(folder, 0, from);
    std::string lines;
    const auto limit = SystemClock().now() + std::chrono::seconds(90);
    for (bool more = true; more && SystemClock().now() < limit;) more = relay.step(lines, 10'000).value();
    return lines;
  }

  TemporaryFolder root_, scratch_, here_;
};

TEST_F(Relay, PutsAPartTogetherAtItsOtherEnd) {
  const auto folder = ended_job(
      "printf one; printf two >&2; cat {scratch}/in/spec.json; mkdir -p \"$A/deep\"; head -c 30000 /dev/urandom "
      ">\"$A/deep/bytes\"; exit 3");
  RelayInbox inbox({}, here_.path());
  ASSERT_TRUE(inbox.take("Welcome!\n" + everything(folder, {})).ok());
  EXPECT_EQ(inbox.bytes(JobStream::error).substr(0, 3), "two");
  EXPECT_THAT(inbox.bytes(JobStream::out), HasSubstr("one"));
  ASSERT_TRUE(inbox.ending());
  EXPECT_EQ((**inbox.ending()).exit_code, 3);
  EXPECT_EQ(inbox.order()->scratch, scratch_.path());
  EXPECT_GT(inbox.host()->pid, 0);
}

TEST_F(Relay, BringsFilesBackAndKeepsThoseThatAreThere) {
  const auto folder = ended_job("true");
  ASSERT_TRUE(write_file_atomically(folder.artifacts() / "mine", "old").ok());
  std::string binary;
  for (int i = 0; i < 30'000; ++i) binary += static_cast<char>(i * 31 % 256);
  fs::create_directories(folder.artifacts() / "deep");
  ASSERT_TRUE(write_file_atomically(folder.artifacts() / "deep/bytes", binary).ok());
  ASSERT_TRUE(write_file_atomically(here_.path() / "mine", "ours").ok());
  RelayInbox inbox({}, here_.path());
  ASSERT_TRUE(inbox.take(everything(folder, {})).ok());
  EXPECT_EQ(read_file(here_.path() / "deep/bytes").value(), binary);
  EXPECT_EQ(read_file(here_.path() / "mine").value(), "ours");
}

TEST_F(Relay, APipeThatBreaksGoesOnAtTheNextByte) {
  const auto folder = ended_job("i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done");
  const auto whole = read_file(folder.stream(0, JobStream::out)).value();
  const auto lines = everything(folder, {});
  RelayInbox inbox({}, here_.path());
  ASSERT_TRUE(inbox.take(std::string_view(lines).substr(0, lines.size() / 2)).ok());
  EXPECT_LT(inbox.position()[JobStream::out], whole.size());
  inbox.begin_again();
  ASSERT_TRUE(inbox.take(everything(folder, {})).ok()) << "what is known already is passed over";
  EXPECT_EQ(inbox.bytes(JobStream::out), whole);
  ASSERT_TRUE(inbox.ending());

  RelayInbox late({}, here_.path());
  PerStream<std::uint64_t> from;
  from[JobStream::out] = 100;
  EXPECT_THAT(late.take(everything(folder, from)).error().message, HasSubstr("lost on the way"));
}

TEST_F(Relay, AHostCanRelayWhileItHosts) {
  const JobFolder folder = folder_for(root_.path(), "t");
  ASSERT_TRUE(folder
                  .create({.arguments = {"sh", "-c", "echo one; sleep 0.3; echo two >&2; exit 5"},
                           .nodes = {"gpu01"},
                           .token = "t",
                           .reading_period = std::chrono::seconds(1)})
                  .ok());
  PartRelay relay(folder, 0, {});
  RelayInbox inbox({}, here_.path());
  const auto send = [&] {
    std::string lines;
    do {
      lines.clear();
      ASSERT_TRUE(relay.step(lines, 1000).ok());
      ASSERT_TRUE(inbox.take(lines).ok());
    } while (!lines.empty());
  };
  const auto local = make_local_launcher();
  const auto watch = [](const WatchedPart& part) { return std::make_unique<CountingWatch>(part); };
  EXPECT_EQ(host_job(folder, {.watch = watch, .on_look = send}, *local, SystemClock())->exit_code, 5);
  ASSERT_TRUE(inbox.ending());
  EXPECT_EQ((**inbox.ending()).exit_code, 5);
  EXPECT_EQ(inbox.bytes(JobStream::out), "one\n");
  EXPECT_EQ(inbox.bytes(JobStream::error), "two\n");
  EXPECT_EQ(inbox.bytes(JobStream::readings), "gpu01 of 1 with 1: 0\ngpu01 of 1 with 1: 1\ngpu01 of 1 with 1: 2\n");
}

TEST_F(Relay, FilesStayInTheirFolder) {
  for (const char* path : {"../out", "/etc/x", "", ".hidden", "a/../../b"}) {
    FileReceiver receiver(here_.path());
    EXPECT_FALSE(receiver.begin(json::serialize(json::object{{"path", path}})).ok()) << path;
  }
}

TEST_F(Relay, AnOwnerAtTheOtherEndGetsEverythingAndIsTheOnlyOne) {
  const auto folder = ended_job("echo said");
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  std::jthread relay([&] {
    (void)relay_to_owner(folder, 0, {}, theirs.get(), theirs.get()).ok();
    theirs.reset();
  });
  RelayInbox inbox({}, here_.path());
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(ours.get(), buffer.data(), buffer.size())) > 0;) {
    ASSERT_TRUE(inbox.take({buffer.data(), static_cast<std::size_t>(got)}).ok());
  }
  EXPECT_EQ(inbox.bytes(JobStream::out), "said\n");
  EXPECT_TRUE(inbox.ending());

  const auto lock = FileLock::claim(folder.owner()).value();
  auto pipe = make_pipe().value();
  EXPECT_EQ(relay_to_owner(folder, 0, {}, -1, pipe.write_end.get()).error().kind, ErrorKind::busy);
  const auto none = relay_to_owner(JobFolder(root_.path() / "none"), 0, {}, -1, pipe.write_end.get());
  EXPECT_EQ(none.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace assay
