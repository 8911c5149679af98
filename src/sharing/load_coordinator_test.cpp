#include "sharing/load_coordinator.h"
#include "net/listener.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <future>

#include "sharing/load_follower.h"

namespace assay {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

/// A machine whose clock was started at another time.
class OtherMachinesClock final : public Clock {
 public:
  explicit OtherMachinesClock(Nanos ahead) : ahead_(ahead) {}
  SteadyTime now() const override { return SystemClock().now() + ahead_; }
  WallTime wall() const override { return SystemClock().wall(); }

 private:
  Nanos ahead_;
};

class SharedLoad : public testing::Test {
 protected:
  SharedLoad() : listener(Listener::open({.host = "127.0.0.1"}).value()) {}

  CoordinatorOptions options(std::uint32_t clients) const {
    return {.clients = clients, .identity = identity, .key = key, .run = "r-7", .join_patience = seconds(60)};
  }
  FollowerOptions follower(std::uint32_t index, std::uint32_t count) const {
    return {.host = "127.0.0.1",
            .port = listener.address().port,
            .hello = {index, count, "host" + std::to_string(index), identity},
            .key = key,
            .join_patience = seconds(60)};
  }
  static std::jthread in_background(std::function<void()> work) { return std::jthread(std::move(work)); }

  LoadIdentity identity{"assay 1", "settings", "files"};
  LoadKey key = make_load_key();
  Listener listener;
  SystemClock clock;
};

/// What a client does that has one request to hand in.
void do_one_load(LoadFollower& follower, const std::function<void(SteadyTime)>& at_start) {
  ASSERT_EQ(follower.next_load({}).value(), (LoadOrder{.number = 3}));
  const auto start = follower.agree_start({});
  ASSERT_TRUE(start.ok()) << start.error().text();
  at_start(*start);
  follower.report({.sent = 1, .over = 1});
  ClientPart part;
  part.records.resize(1);
  part.records[0].state = kEndedState;
  part.records[0].done_ns = 5;
  ASSERT_TRUE(follower.hand_in(part).ok());
  EXPECT_FALSE(follower.next_load({}).value()) << "bye";
}

TEST_F(SharedLoad, StartsEverywhereAtOneMomentWhateverClocksSay) {
  const OtherMachinesClock ahead(std::chrono::hours(1000));
  const OtherMachinesClock behind(-std::chrono::hours(2000));
  std::promise<SteadyTime> started[2];
  std::vector<std::jthread> others;
  for (std::uint32_t i = 0; i < 2; ++i) {
    others.push_back(in_background([&, i] {
      auto joined = LoadFollower::join(follower(i + 1, 3), i == 0 ? ahead : behind, {});
      ASSERT_TRUE(joined.ok()) << joined.error().text();
      EXPECT_EQ((*joined)->run(), "r-7");
      do_one_load(**joined, [&](SteadyTime start) { started[i].set_value(start); });
    }));
  }
  auto coordinator = LoadCoordinator::gather(listener, options(3), clock, {});
  ASSERT_TRUE(coordinator.ok()) << coordinator.error().text();
  (*coordinator)->announce({.number = 3});
  const auto start = (*coordinator)->agree_start({});
  ASSERT_TRUE(start.ok()) << start.error().text();
  const auto parts = (*coordinator)->collect(false);
  ASSERT_EQ(parts.size(), 2u);
  const Nanos offsets[2] = {std::chrono::hours(1000), -std::chrono::hours(2000)};
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(parts[i].lost, "");
    EXPECT_EQ(parts[i].host, "host" + std::to_string(i + 1));
    ASSERT_EQ(parts[i].records.size(), 1u);
    EXPECT_EQ(parts[i].records[0].done_ns, 5);
    const Nanos off = started[i].get_future().get() - offsets[i] - *start;
    EXPECT_LE(std::chrono::abs(off), parts[i].clock.bound) << "the stated bound holds";
    EXPECT_LE(std::chrono::abs(parts[i].clock.offset - offsets[i]), parts[i].clock.bound);
  }
  coordinator->reset();
}

TEST_F(SharedLoad, StrangersAreTurnedAwayAndHoldNobodyUp) {
  std::vector<FileDescriptor> strangers;
  const auto call = [&] {
    strangers.push_back(connect_to_coordinator("127.0.0.1", listener.address().port, seconds(60), {}).value());
    return strangers.back().get();
  };
  call();  // one that says nothing
  const std::string_view request = "GET / HTTP/1.1\r\n\r\n";
  ASSERT_EQ(::send(call(), request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  FollowerOptions thief = follower(1, 2);
  thief.key = make_load_key();
  auto joining = in_background([&] {
    EXPECT_EQ(LoadFollower::join(thief, clock, {}).error().kind, ErrorKind::denied);
    auto joined = LoadFollower::join(follower(1, 2), clock, {});
    ASSERT_TRUE(joined.ok()) << joined.error().text();
    EXPECT_FALSE((*joined)->next_load({}).value());
  });
  const auto coordinator = LoadCoordinator::gather(listener, options(2), clock, {});
  EXPECT_TRUE(coordinator.ok()) << coordinator.error().text();
}

TEST_F(SharedLoad, AnAddressWhereAStrangerListensIsNoCoordinator) {
  auto joining =
      in_background([&] { EXPECT_EQ(LoadFollower::join(follower(1, 2), clock, {}).error().kind, ErrorKind::denied); });
  CoordinatorOptions impostor = options(2);
  impostor.key = make_load_key();
  impostor.join_patience = seconds(2);
  const auto gathered = LoadCoordinator::gather(listener, impostor, clock, {});
  ASSERT_FALSE(gathered.ok());
  EXPECT_EQ(gathered.error().kind, ErrorKind::lost_peer);
  EXPECT_THAT(gathered.error().message, HasSubstr("1 of 2 clients did not join"));
  EXPECT_THAT(gathered.error().message, HasSubstr("without the key"));
}

TEST_F(SharedLoad, ClientsThatDisagreeAreNamed) {
  struct Case {
    std::function<void(ClientHello&)> change;
    ErrorKind kind;
    std::string words;
  };
  const std::vector<Case> cases = {
      {[](ClientHello& hello) { hello.identity.version = "assay 2"; }, ErrorKind::unsupported, "is assay 2, and this"},
      {[](ClientHello& hello) { hello.identity.settings = "x"; }, ErrorKind::bad_spec, "has other settings"},
      {[](ClientHello& hello) { hello.identity.files = "x"; }, ErrorKind::bad_spec, "has other contents in a file"},
      {[](ClientHello& hello) { hello.count = 5; }, ErrorKind::bad_spec, "takes itself for one of 5"}};
  for (const auto& one : cases) {
    FollowerOptions other = follower(1, 2);
    one.change(other.hello);
    auto joining = in_background([&] {
      const auto joined = LoadFollower::join(other, clock, {});
      ASSERT_FALSE(joined.ok());
      EXPECT_THAT(joined.error().text(), HasSubstr(one.words));
    });
    const auto gathered = LoadCoordinator::gather(listener, options(2), clock, {});
    ASSERT_FALSE(gathered.ok());
    EXPECT_EQ(gathered.error().kind, one.kind);
    EXPECT_THAT(gathered.error().message, HasSubstr("client 1 on host1"));
    EXPECT_THAT(gathered.error().message, HasSubstr(one.words));
  }
}

TEST_F(SharedLoad, WhatKeepsAClientFromGettingReadyEndsTheRunWithItsName) {
  auto other = in_background([&] {
    auto joined = LoadFollower::join(follower(1, 2), clock, {}).value();
    ASSERT_TRUE(joined->next_load({}).value());
    ASSERT_TRUE(joined->give_up({.kind = ErrorKind::unreachable, .message = "Connection refused"}).ok());
    EXPECT_FALSE(joined->next_load({}).value());
  });
  auto coordinator = LoadCoordinator::gather(listener, options(2), clock, {}).value();
  coordinator->announce({});
  const auto start = coordinator->agree_start({});
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.error().kind, ErrorKind::unreachable);
  EXPECT_EQ(start.error().text(), "client 1 on host1: Connection refused");
}

TEST_F(SharedLoad, AClientThatIsGoneIsLostAndTheOthersAreNot) {
  auto dying = in_background([&] {
    auto joined = LoadFollower::join(follower(1, 3), clock, {}).value();
    ASSERT_TRUE(joined->next_load({}).value());
    ASSERT_TRUE(joined->agree_start({}).ok());
    joined->report({.sent = 12});
  });
  auto living = in_background([&] {
    auto joined = LoadFollower::join(follower(2, 3), clock, {}).value();
    do_one_load(*joined, [](SteadyTime) {});
  });
  auto coordinator = LoadCoordinator::gather(listener, options(3), clock, {}).value();
  coordinator->announce({.number = 3});
  ASSERT_TRUE(coordinator->agree_start({}).ok());
  const auto parts = coordinator->collect(false);
  EXPECT_EQ(parts[0].lost, "the connection was closed");
  EXPECT_EQ(parts[0].sent, 12u);
  EXPECT_EQ(parts[1].lost, "");
  coordinator.reset();
}

TEST_F(SharedLoad, AClientThatIsSilentIsLost) {
  std::promise<void> over;
  auto silent = in_background([&] {
    auto joined = LoadFollower::join(follower(1, 2), clock, {}).value();
    ASSERT_TRUE(joined->next_load({}).value());
    ASSERT_TRUE(joined->agree_start({}).ok());
    over.get_future().wait();
  });
  CoordinatorOptions impatient = options(2);
  impatient.silence = seconds(1);
  auto coordinator = LoadCoordinator::gather(listener, impatient, clock, {}).value();
  coordinator->announce({});
  ASSERT_TRUE(coordinator->agree_start({}).ok());
  EXPECT_THAT(coordinator->collect(false)[0].lost, HasSubstr("not heard of"));
  over.set_value();
}

TEST_F(SharedLoad, AClientThatNeverGetsReadyIsNotWaitedForForever) {
  std::promise<void> over;
  auto stuck = in_background([&] {
    auto joined = LoadFollower::join(follower(1, 2), clock, {}).value();
    ASSERT_TRUE(joined->next_load({}).value());
    over.get_future().wait();
  });
  CoordinatorOptions impatient = options(2);
  impatient.ready_patience = seconds(1);
  auto coordinator = LoadCoordinator::gather(listener, impatient, clock, {}).value();
  coordinator->announce({});
  const auto start = coordinator->agree_start({});
  over.set_value();
  ASSERT_FALSE(start.ok());
  EXPECT_EQ(start.error().kind, ErrorKind::lost_peer);
  EXPECT_EQ(start.error().message, "client 1 on host1 did not get ready within 1 s");
}

TEST_F(SharedLoad, AClientIsToldToStopAndNoticesWhenTheFirstIsGone) {
  std::promise<void> told;
  auto other = in_background([&] {
    auto joined = LoadFollower::join(follower(1, 2), clock, {}).value();
    ASSERT_TRUE(joined->next_load({}).value());
    ASSERT_TRUE(joined->agree_start({}).ok());
    while (!joined->told_to_stop()) std::this_thread::sleep_for(milliseconds(5));
    told.set_value();
    ASSERT_TRUE(joined->hand_in({}).ok());
    ASSERT_FALSE(joined->next_load({}).value());
    while (!joined->told_to_stop()) std::this_thread::sleep_for(milliseconds(5));
  });
  auto coordinator = LoadCoordinator::gather(listener, options(2), clock, {}).value();
  coordinator->announce({});
  ASSERT_TRUE(coordinator->agree_start({}).ok());
  EXPECT_EQ(coordinator->collect(true)[0].lost, "");
  told.get_future().wait();
  coordinator.reset();
}

TEST_F(SharedLoad, WaitingForClientsEndsWhenSomebodyStopsItOrTheyWillNotCome) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(LoadCoordinator::gather(listener, options(2), clock, stop.get_token()).error().kind,
            ErrorKind::interrupted);
  CoordinatorOptions hopeless = options(2);
  hopeless.still_expected = []() -> Result<void> { return Error{.kind = ErrorKind::crash, .message = "died"}; };
  EXPECT_EQ(LoadCoordinator::gather(listener, hopeless, clock, {}).error().kind, ErrorKind::crash);
}

TEST(ClockQuestions, TheQuickestAnswerBoundsTheOffset) {
  ClockQuestions questions;
  const auto at = [](std::int64_t ns) { return SteadyTime(Nanos(ns)); };
  questions.take(at(0), at(10'000 + 900), at(1000));  // slow on the way there
  questions.take(at(2000), at(12'000 + 60), at(2100));
  questions.take(at(3000), at(13'000 + 100), at(5000));
  const ClockAlignment best = questions.best().value();
  EXPECT_EQ(best.bound, Nanos(50));
  EXPECT_LE(std::chrono::abs(best.offset - Nanos(10'000)), best.bound);
  // 400 ns apart in the end: the clocks drifted.
  EXPECT_EQ(with_drift(best, {best.offset + Nanos(400), Nanos(30)}), (ClockAlignment{best.offset, Nanos(430)}));
}

}  // namespace
}  // namespace assay
