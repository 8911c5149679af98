#include "net/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "net/raw_connection_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(Listener, TellsThePortItWasGiven) {
  const auto listener = Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(listener.ok()) << listener.error().text();
  EXPECT_NE(listener->address().port, 0);
  EXPECT_EQ(listener->accept().error, EAGAIN);
  const RawConnection client(listener->address().port);
  ASSERT_TRUE(client.connected());
  const auto accepted = listener->accept();
  EXPECT_EQ(accepted.error, 0);
  EXPECT_EQ(accepted.connection.peer.host, "127.0.0.1");
  EXPECT_TRUE(accepted.connection.peer.loopback);
}

TEST(Listener, EveryAddressMeansIpv4Too) {
  const auto listener = Listener::open({});
  ASSERT_TRUE(listener.ok()) << listener.error().text();
  const RawConnection client(listener->address().port);
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(listener->accept().connection.peer.host, "127.0.0.1");
}

TEST(Listener, FindsHostNames) { EXPECT_TRUE(Listener::open({.host = "localhost"}).ok()); }

TEST(Listener, SaysThatAnAddressIsInUse) {
  const auto first = Listener::open({.host = "127.0.0.1"});
  ASSERT_TRUE(first.ok());
  const auto second = Listener::open(first->address());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().kind, ErrorKind::busy);
  EXPECT_THAT(second.error().message, HasSubstr(first->address().text()));
  EXPECT_FALSE(second.error().hint.empty());
}

TEST(Listener, SaysThatAnAddressIsNotOurs) {
  const auto listener = Listener::open({.host = "192.0.2.1"});  // reserved for documentation
  ASSERT_FALSE(listener.ok());
  EXPECT_EQ(listener.error().kind, ErrorKind::usage);
  EXPECT_EQ(Listener::open({.host = "no.such.host.invalid"}).error().kind, ErrorKind::usage);
}

TEST(Listener, KeepsItsSocketFilePrivateAndTidiesUp) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.sock";
  {
    const auto listener = Listener::open({.socket_path = path});
    ASSERT_TRUE(listener.ok()) << listener.error().text();
    struct stat info{};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    EXPECT_EQ(Listener::open({.socket_path = path}).error().kind, ErrorKind::busy);
    EXPECT_TRUE(fs::exists(path)) << "the second one must not remove the first one's file";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(Listener, ReplacesTheSocketOfADeadServer) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "a.sock";
  {
    // A copy of the file outlives its listener, as after kill -9.
    const auto listener = Listener::open({.socket_path = path});
    ASSERT_TRUE(listener.ok());
    fs::create_hard_link(path, folder.path() / "dead.sock");
  }
  EXPECT_TRUE(Listener::open({.socket_path = folder.path() / "dead.sock"}).ok());
}

TEST(Listener, LeavesOtherFilesAlone) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "precious";
  ASSERT_TRUE(write_file_atomically(path, "data").ok());
  EXPECT_EQ(Listener::open({.socket_path = path}).error().kind, ErrorKind::busy);
  EXPECT_EQ(*read_file(path), "data");
}

TEST(Listener, SaysThatAPathIsTooLongOrMissing) {
  const TemporaryFolder folder;
  EXPECT_THAT(Listener::open({.socket_path = folder.path() / std::string(200, 'a')}).error().message,
              HasSubstr("too long"));
  EXPECT_EQ(Listener::open({.socket_path = folder.path() / "none" / "a.sock"}).error().kind, ErrorKind::missing_file);
}

TEST(FileLimit, IsRaisedToWhatIsAllowed) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = std::min<rlim_t>(64, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  const auto raised = raise_file_limit();
  ASSERT_TRUE(raised.ok());
  EXPECT_EQ(*raised, before.rlim_max);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(FileLimit, LeavesRoomForWhatIsNoConnection) {
  EXPECT_EQ(connections_within(std::size_t{1} << 20, 16'384), 16'384U);
  EXPECT_EQ(connections_within(1024, 16'384), 768U);
  EXPECT_EQ(connections_within(1024, 100), 100U);
  EXPECT_EQ(connections_within(200, 16'384), 64U);
  EXPECT_EQ(connections_within(0, 16'384), 64U);
}

}  // namespace
}  // namespace assay
