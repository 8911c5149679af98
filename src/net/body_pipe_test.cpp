#include "net/body_pipe.h"

#include <gtest/gtest.h>

#include <thread>

#include "net/pace.h"

namespace assay {
namespace {

using std::chrono::seconds;

TEST(BodyPipe, WantsNothingUntilItIsAsked) {
  int woken = 0;
  BodyPipe pipe(10, 5, [&] { ++woken; });
  EXPECT_EQ(pipe.length(), 5U);
  EXPECT_FALSE(pipe.thirsty());
  std::jthread reader([&] {
    EXPECT_EQ(**pipe.next(), "hello");
    EXPECT_FALSE(pipe.next()->has_value());
    EXPECT_FALSE(pipe.next()->has_value());
  });
  while (!pipe.thirsty()) std::this_thread::yield();
  pipe.push("hello");
  pipe.finish();
  reader.join();
  EXPECT_EQ(woken, 1);
  EXPECT_FALSE(pipe.thirsty());
}

TEST(BodyPipe, IsFullAtItsWindowAndSaysWhenItIsNot) {
  int woken = 0;
  BodyPipe pipe(4, std::nullopt, [&] { ++woken; });
  pipe.push("ab");
  EXPECT_EQ(**pipe.next(), "ab");
  EXPECT_EQ(woken, 1);
  EXPECT_TRUE(pipe.thirsty());
  pipe.push("cd");
  EXPECT_TRUE(pipe.thirsty());
  pipe.push("efg");
  EXPECT_FALSE(pipe.thirsty());
  EXPECT_EQ(**pipe.next(), "cd");
  EXPECT_EQ(woken, 2);
  EXPECT_EQ(**pipe.next(), "efg");
  EXPECT_EQ(woken, 2) << "it is known already";
  EXPECT_TRUE(pipe.thirsty());
}

TEST(BodyPipe, AFailureStaysAndDropsWhatWasBefore) {
  BodyPipe pipe(4, std::nullopt, nullptr);
  pipe.push("ab");
  pipe.fail({.kind = ErrorKind::lost_peer, .message = "gone"});
  EXPECT_FALSE(pipe.failure_seen());
  EXPECT_EQ(pipe.next().error().kind, ErrorKind::lost_peer);
  pipe.close();
  EXPECT_EQ(pipe.next().error().kind, ErrorKind::lost_peer) << "the first end counts";
  EXPECT_TRUE(pipe.failure_seen());
  BodyPipe closed(4, std::nullopt, nullptr);
  closed.close();
  EXPECT_EQ(closed.next().error().kind, ErrorKind::interrupted);
}

TEST(Pace, AllowsAStandstillButNoTrickle) {
  Pace pace(seconds(10), 100);
  EXPECT_EQ(pace.left(), seconds(10));
  pace.waited(seconds(9), 50);
  EXPECT_EQ(pace.left(), std::chrono::milliseconds(1500));
  for (int i = 0; i < 100; ++i) pace.waited(seconds(1), 100);
  EXPECT_EQ(pace.left(), std::chrono::milliseconds(1500)) << "at the least rate it stays as it is";
  pace.waited(seconds(2), 10);
  EXPECT_LT(pace.left(), Nanos(0));
  pace.waited(seconds(1), 1'000'000'000);
  EXPECT_EQ(pace.left(), seconds(10)) << "nobody saves up for a trickle";
}

}  // namespace
}  // namespace assay
