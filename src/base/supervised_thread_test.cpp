#include "base/supervised_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <future>
#include <stdexcept>
#include <vector>

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(SupervisedThreadTest, HasItsNameAndEndsWithItsBody) {
  std::promise<std::string> name;
  {
    const SupervisedThread thread("a-name-that-is-too-long",
                                  [&](const std::stop_token&) {
                                    std::array<char, 64> text{};
                                    ::pthread_getname_np(::pthread_self(), text.data(), text.size());
                                    name.set_value(text.data());
                                  },
                                  {});
  }
  EXPECT_EQ(name.get_future().get(), "a-name-that-is-");
}

TEST(SupervisedThreadTest, AStopEndsAWaitAtOnce) {
  std::promise<void> waiting;
  std::promise<bool> slept;
  SupervisedThread thread("sleeper",
                          [&](const std::stop_token& stop) {
                            waiting.set_value();
                            slept.set_value(sleep_for(stop, 1h));
                          },
                          {});
  waiting.get_future().wait();
  thread.stop();
  EXPECT_FALSE(slept.get_future().get());
  thread.stop();
}

TEST(SupervisedThreadTest, AWaitThatNobodyEndsTakesItsTime) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(sleep_for({}, 5ms));
  EXPECT_GE(std::chrono::steady_clock::now() - start, 5ms);
}

TEST(SupervisedThreadTest, AfterAnExceptionItIsLoggedReportedAndBegunAgain) {
  std::vector<std::string> problems;
  std::promise<void> third;
  int begun = 0;
  testing::internal::CaptureStderr();
  SupervisedThread thread(
      "stumbler",
      [&](const std::stop_token& stop) {
        if (++begun == 1) throw std::runtime_error("the first stone");
        if (begun == 2) throw 7;
        third.set_value();
        sleep_for(stop, 1h);
      },
      {.restart_after = 1ms, .report = [&](const std::string& problem) { problems.push_back(problem); }});
  third.get_future().wait();
  thread.stop();
  EXPECT_THAT(problems, testing::ElementsAre("the first stone", "an exception without words"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("thread 'stumbler' begins again after an unexpected problem: the first stone"));
  EXPECT_EQ(begun, 3);
}

TEST(SupervisedThreadTest, AStopEndsThePauseAfterAnException) {
  std::promise<void> failed;
  testing::internal::CaptureStderr();
  SupervisedThread thread("stumbler", [](const std::stop_token&) { throw std::runtime_error("a stone"); },
                          {.restart_after = 1h, .report = [&](const std::string&) { failed.set_value(); }});
  failed.get_future().wait();
  thread.stop();
  testing::internal::GetCapturedStderr();
}

TEST(SupervisedThreadTest, OneThatIsNotBegunAgainTellsItsOwnerAndEnds) {
  std::promise<std::string> told;
  std::atomic<int> begun = 0;
  testing::internal::CaptureStderr();
  {
    SupervisedThread thread("once",
                            [&](const std::stop_token&) {
                              ++begun;
                              throw std::runtime_error("a wall");
                            },
                            {.report = [&](const std::string& problem) { told.set_value(problem); }});
    EXPECT_EQ(told.get_future().get(), "a wall");
  }
  EXPECT_EQ(begun, 1);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("thread 'once' ends"));
}

}  // namespace
}  // namespace assay
