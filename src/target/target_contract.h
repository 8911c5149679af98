#pragma once

// What every Target must do, the contract test. A test program of an implementation includes this once and says
//
//   INSTANTIATE_TEST_SUITE_P(Null, TargetContract, testing::Values(TargetFactory{…}), target_factory_name);

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "target/target.h"

namespace assay {

/// A target together with whatever answers it, alive as long as this.
class TargetPlace {
 public:
  virtual ~TargetPlace() = default;
  virtual Target& target() = 0;
  virtual std::uint32_t samples() const { return 16; }
};

struct TargetFactory {
  std::string name;
  std::function<std::unique_ptr<TargetPlace>()> answering;  ///< answers every request, with at least one token
  std::function<std::unique_ptr<TargetPlace>()> silent;     ///< never answers; empty: this target cannot be so
  bool streams = true;                                      ///< knows when tokens arrive
};

inline std::string target_factory_name(const testing::TestParamInfo<TargetFactory>& info) { return info.param.name; }
inline void PrintTo(const TargetFactory& factory, std::ostream* out) { *out << factory.name; }

/// Keeps every report, with copies of what is only lent.
class CollectingSink final : public CompletionSink {
 public:
  using CompletionSink::complete;
  void complete(std::span<const Completion> completions) noexcept override {
    const std::lock_guard lock(mutex_);
    for (const auto& completion : completions) {
      ++reports_[completion.id];
      auto& kept = last_[completion.id];
      kept.completion = completion;
      kept.token_times.assign(completion.token_times.begin(), completion.token_times.end());
      kept.text = completion.text;
      kept.completion.token_times = {};
      kept.completion.text = {};
    }
  }

  struct Kept {
    Completion completion;
    std::vector<TokenArrival> token_times;
    std::string text;
  };
  std::map<std::uint64_t, int> reports() const {
    const std::lock_guard lock(mutex_);
    return reports_;
  }
  std::map<std::uint64_t, Kept> kept() const {
    const std::lock_guard lock(mutex_);
    return last_;
  }
  /// Waits for that many different ids, generously: a failing test is slow, a passing one is not.
  bool wait_for(std::size_t count) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
      if (reports().size() >= count) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, int> reports_;
  std::map<std::uint64_t, Kept> last_;
};

class TargetContract : public testing::TestWithParam<TargetFactory> {
 protected:
  static SteadyTime now() { return std::chrono::time_point_cast<Nanos>(std::chrono::steady_clock::now()); }
  static SteadyTime soon() { return now() + std::chrono::seconds(20); }

  std::vector<Request> requests(std::uint64_t first, std::size_t count) const {
    std::vector<Request> made(count);
    for (std::size_t i = 0; i < count; ++i) {
      made[i] = {
          .id = first + i, .sample = static_cast<std::uint32_t>((first + i) % place->samples()), .scheduled = now()};
    }
    return made;
  }
  void each_reported_once(std::size_t count) const {
    const auto reports = sink.reports();
    EXPECT_EQ(reports.size(), count);
    for (const auto& [id, times] : reports) EXPECT_EQ(times, 1) << "request " << id;
  }

  CollectingSink sink;  // outlives the target
  std::unique_ptr<TargetPlace> place;
};

TEST_P(TargetContract, HasANameAndAnEndpoint) {
  place = GetParam().answering();
  EXPECT_FALSE(place->target().name().empty());
  EXPECT_THAT(place->target().endpoints(), testing::Not(testing::IsEmpty()));
}

TEST_P(TargetContract, ReportsEveryRequestOnceWithTimesInOrder) {
  place = GetParam().answering();
  Target& target = place->target();
  ASSERT_TRUE(target.start(sink, {}).ok());
  const auto first = requests(0, 1);
  const auto before = now();
  target.issue(first);
  target.issue(requests(1, 40));
  ASSERT_TRUE(sink.wait_for(41));
  target.stop(soon());
  each_reported_once(41);
  const auto after = now();
  for (const auto& [id, kept] : sink.kept()) {
    const Completion& report = kept.completion;
    EXPECT_EQ(report.outcome, RequestOutcome::ok) << id << ": " << name_of(report.error);
    EXPECT_EQ(report.error, RequestError::none);
    EXPECT_GE(report.output_tokens, 1u);
    EXPECT_LT(report.endpoint, target.endpoints().size());
    if (report.sent != SteadyTime()) {
      EXPECT_GE(report.sent, before);
      EXPECT_LE(report.sent, report.done);
    }
    EXPECT_LE(report.done, after);
    if (GetParam().streams) {
      EXPECT_GE(report.first_token, before);
      EXPECT_LE(report.first_token, report.done);
    }
  }
}

TEST_P(TargetContract, EveryTokenHasItsTimeWhereItIsWanted) {
  if (!GetParam().streams) GTEST_SKIP() << "does not stream";
  place = GetParam().answering();
  Target& target = place->target();
  ASSERT_TRUE(target.start(sink, {.token_times = true}).ok());
  target.issue(requests(0, 5));
  ASSERT_TRUE(sink.wait_for(5));
  target.stop(soon());
  for (const auto& [id, kept] : sink.kept()) {
    ASSERT_FALSE(kept.token_times.empty()) << id;
    EXPECT_EQ(kept.token_times.front().at, kept.completion.first_token);
    SteadyTime last = kept.token_times.front().at;
    std::uint32_t tokens = 0;
    for (const auto& arrival : kept.token_times) {
      EXPECT_GE(arrival.at, last);
      last = arrival.at;
      tokens += arrival.tokens;
    }
    EXPECT_EQ(tokens, kept.completion.output_tokens);
    EXPECT_LE(last, kept.completion.done);
  }
}

TEST_P(TargetContract, StopCancelsWhatIsInFlightAndNothingComesAfterwards) {
  if (!GetParam().silent) GTEST_SKIP() << "always answers";
  place = GetParam().silent();
  Target& target = place->target();
  ASSERT_TRUE(target.start(sink, {}).ok());
  target.issue(requests(0, 7));
  const auto deadline = soon();
  target.stop(deadline);
  EXPECT_LT(now(), deadline);
  each_reported_once(7);
  for (const auto& [id, kept] : sink.kept()) EXPECT_EQ(kept.completion.outcome, RequestOutcome::cancelled) << id;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  each_reported_once(7);
}

TEST_P(TargetContract, ARequestThatTakesTooLongIsATimeout) {
  if (!GetParam().silent) GTEST_SKIP() << "always answers";
  place = GetParam().silent();
  Target& target = place->target();
  ASSERT_TRUE(target.start(sink, {.request_timeout = std::chrono::milliseconds(30)}).ok());
  target.issue(requests(0, 3));
  ASSERT_TRUE(sink.wait_for(3));
  target.stop(soon());
  each_reported_once(3);
  for (const auto& [id, kept] : sink.kept()) EXPECT_EQ(kept.completion.outcome, RequestOutcome::timeout) << id;
}

TEST_P(TargetContract, StopsWhereNothingWasIssued) {
  place = GetParam().answering();
  ASSERT_TRUE(place->target().start(sink, {}).ok());
  place->target().stop(soon());
  EXPECT_THAT(sink.reports(), testing::IsEmpty());
}

TEST_P(TargetContract, EndsByItselfWhereNobodyStoppedIt) {
  place = (GetParam().silent ? GetParam().silent : GetParam().answering)();
  ASSERT_TRUE(place->target().start(sink, {}).ok());
  place->target().issue(requests(0, 3));
  place.reset();
}

}  // namespace assay
