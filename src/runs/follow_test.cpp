#include "runs/follow.h"

#include <gmock/gmock.h>

#include <csignal>

#include "base/spawn.h"
#include "launch/fake_launcher.h"
#include "runs/judge.h"
#include "runs/recorder.h"
#include "support/collecting_writer.h"
#include "telemetry/metric_source.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// Counts how often it is read.
class CountingSource final : public MetricSource {
 public:
  explicit CountingSource(int& readings) : readings_(readings) {}
  std::string_view name() const override { return "counting"; }
  Result<Reading> read(SteadyTime) override {
    ++readings_;
    return Reading{};
  }

 private:
  int& readings_;
};

class Follow : public testing::Test {
 protected:
  Ending follow_script(const JobScript& script, FollowOptions options = {}) {
    launcher_.script = script;
    const auto job = launcher_.start({.arguments = {"script"}}).value();
    RunRecorder recorder(writer_, TextMetrics::make({}).value(), {}, clock_);
    RunObserver observer;
    std::vector<std::unique_ptr<MetricSource>> sources;
    sources.push_back(std::make_unique<CountingSource>(readings_));
    const SteadyTime begin = clock_.now();
    auto ending = follow(*job, recorder, sources, observer, options, clock_);
    took_ = clock_.now() - begin;
    return ending;
  }
  /// Follows one that takes an hour, with these requests to stop waiting already.
  Ending follow_and_stop(const JobScript& script, std::string_view requests) {
    auto pipe = make_pipe().value();
    EXPECT_TRUE(make_non_blocking(pipe.read_end.get()).ok());
    EXPECT_TRUE(write_all(pipe.write_end.get(), requests).ok());
    return follow_script(script, {.grace = 10h, .stop_fd = pipe.read_end.get()});
  }

  ManualClock clock_;
  FakeLauncher launcher_{clock_};
  CollectingWriter writer_;
  int readings_ = 0;
  Nanos took_{};
};

TEST_F(Follow, ReadsEveryStreamToItsEnd) {
  const auto ending = follow_script(
      {.steps = {JobScript::Say{"loss=0.5\n"}, JobScript::Say{"careful\n", JobStream::error}, JobScript::Wait{3s},
                 JobScript::Say{"{\"assay\":1,\"type\":\"step\",\"step\":1,\"mfu\":0.25}\n", JobStream::events},
                 JobScript::Flood{3'000'000}},
       .exit_code = 7});
  EXPECT_EQ(ending.by, EndedBy::itself);
  EXPECT_EQ(ending.job.exit_code, 7);
  EXPECT_EQ(took_, 3s);
  EXPECT_THAT(writer_.values("loss"), ElementsAre(0.5));
  EXPECT_THAT(writer_.values("mfu"), ElementsAre(0.25));
  EXPECT_EQ(writer_.error, "careful\n");
  EXPECT_EQ(writer_.out.size(), 3'000'009U);
}

TEST_F(Follow, SamplesOnTheGridAndAtTheEnd) {
  follow_script({.steps = {JobScript::Wait{3500ms}}});
  EXPECT_EQ(readings_, 5) << "at 0, 1, 2, 3 and 3.5 s";
}

/// Keeps what it was told about waiting.
class WaitingObserver final : public RunObserver {
 public:
  void on_waiting(std::string_view why, Nanos elapsed) override {
    reason = why;
    longest = elapsed;
  }
  std::string reason;
  Nanos longest{};
};

TEST_F(Follow, AJobInAQueueIsWaitedForAndItsReasonTold) {
  launcher_.script = {.steps = {JobScript::Say{"loss=0.5\n"}}, .queued = 2h};
  const auto job = launcher_.start({.arguments = {"script"}}).value();
  WaitingObserver observer;
  const SteadyTime begin = clock_.now();
  await_turn(*job, observer, -1, clock_);
  EXPECT_EQ(clock_.now() - begin, 2h);
  EXPECT_EQ(observer.reason, "waits for its turn");
  EXPECT_GT(observer.longest, 119min);
  EXPECT_EQ(job->waiting(), "");
}

TEST_F(Follow, WhoeverWantsToStopDoesNotWaitForTheQueue) {
  auto pipe = make_pipe().value();
  ASSERT_TRUE(write_all(pipe.write_end.get(), "i").ok());
  launcher_.script = {.queued = 2h};
  const auto job = launcher_.start({.arguments = {"script"}}).value();
  WaitingObserver observer;
  const SteadyTime begin = clock_.now();
  await_turn(*job, observer, pipe.read_end.get(), clock_);
  EXPECT_EQ(clock_.now(), begin);
  char byte = 0;
  EXPECT_EQ(::read(pipe.read_end.get(), &byte, 1), 1) << "the request is for whoever follows the job";
}

TEST_F(Follow, ATimeLimitStopsIt) {
  const auto ending = follow_script({.forever = true}, {.time_limit = 2h});
  EXPECT_EQ(ending.by, EndedBy::time_limit);
  EXPECT_EQ(ending.job.signal, SIGTERM);
  EXPECT_EQ(took_, 2h);
}

TEST_F(Follow, ATimeLimitHasItsGrace) {
  const auto ending =
      follow_script({.forever = true, .on_terminate = {.ignores = true}}, {.time_limit = 1min, .grace = 7s});
  EXPECT_EQ(ending.by, EndedBy::time_limit);
  EXPECT_EQ(ending.job.signal, SIGKILL);
  EXPECT_EQ(took_, 67s);
}

TEST_F(Follow, TheFirstRequestIsTheUsersSignalAndTheSecondKills) {
  const auto interrupted = follow_and_stop({.forever = true}, "i");
  EXPECT_EQ(interrupted.by, EndedBy::user);
  EXPECT_EQ(interrupted.job.signal, SIGINT);
  EXPECT_EQ(follow_and_stop({.forever = true}, "s").job.signal, SIGTERM);
  const JobScript deaf{.forever = true, .on_interrupt = {.ignores = true}, .on_terminate = {.ignores = true}};
  EXPECT_EQ(follow_and_stop(deaf, "ii").job.signal, SIGKILL);
  EXPECT_EQ(took_, 0s);
}

TEST_F(Follow, OneThatLostAPeerIsStoppedAndNotByTheUser) {
  const auto ending = follow_and_stop({.forever = true}, "p");
  EXPECT_EQ(ending.by, EndedBy::lost_peer);
  EXPECT_EQ(ending.job.signal, SIGTERM);
  EXPECT_EQ(follow_and_stop({.forever = true}, "tp").by, EndedBy::user) << "who wanted that first";
}

TEST_F(Follow, WhenNobodyIsLeftToAskItGoesOn) {
  auto pipe = make_pipe().value();
  pipe.write_end.reset();
  const auto ending = follow_script({.steps = {JobScript::Wait{1h}}}, {.stop_fd = pipe.read_end.get()});
  EXPECT_EQ(ending.by, EndedBy::itself);
  EXPECT_EQ(took_, 1h);
}

TEST_F(Follow, StreamsThatAStrangerHoldsAreWaitedForNoMoreThanAMoment) {
  const auto ending = follow_script(
      {.steps = {JobScript::Say{"loss=0.5\n"}, JobScript::Wait{1s}}, .exit_code = 3, .holds_streams = true});
  EXPECT_EQ(ending.job.exit_code, 3);
  EXPECT_THAT(writer_.values("loss"), ElementsAre(0.5));
  EXPECT_GE(took_, 3s);
  EXPECT_LT(took_, 4s);
}

TEST_F(Follow, AJobThatNobodyKnowsTheEndOfIsLost) {
  const auto ending = follow_script({.lost = Error{.kind = ErrorKind::crash, .message = "the node is gone"}});
  ASSERT_TRUE(ending.lost);
  EXPECT_EQ(ending.lost->message, "the node is gone");
}

}  // namespace
}  // namespace assay
