#include "target/null/null_target.h"

#include "target/target_contract.h"

namespace assay {
namespace {

class NullPlace final : public TargetPlace {
 public:
  explicit NullPlace(NullTargetOptions options) : target_(options) {}
  Target& target() override { return target_; }

 private:
  NullTarget target_;
};

TargetFactory factory(std::string name, NullTargetOptions options) {
  return {.name = std::move(name),
          .answering = [options] { return std::make_unique<NullPlace>(options); },
          .silent = [] { return std::make_unique<NullPlace>(NullTargetOptions{.silent = true}); }};
}

INSTANTIATE_TEST_SUITE_P(Null, TargetContract,
                         testing::Values(factory("AtOnce", {}),
                                         factory("Delayed", {.service_time = std::chrono::milliseconds(2),
                                                             .first_token = std::chrono::milliseconds(1),
                                                             .output_tokens = 8}),
                                         factory("Queueing",
                                                 {.service_time = std::chrono::milliseconds(1), .slots = 2})),
                         target_factory_name);

constexpr Nanos kService = std::chrono::milliseconds(1);

std::vector<Request> due_together(std::size_t count, SteadyTime when) {
  std::vector<Request> requests(count);
  for (std::size_t i = 0; i < count; ++i) requests[i] = {.id = i, .scheduled = when};
  return requests;
}

SteadyTime steady() { return std::chrono::time_point_cast<Nanos>(std::chrono::steady_clock::now()); }

TEST(NullTarget, AnswersOneAfterTheOtherInItsSlots) {
  CollectingSink sink;
  NullTarget target({.service_time = kService, .slots = 2});
  ASSERT_TRUE(target.start(sink, {}).ok());
  target.issue(due_together(6, steady()));
  ASSERT_TRUE(sink.wait_for(6));
  target.stop(steady());
  const auto kept = sink.kept();
  const auto took = [&](std::uint64_t id) { return kept.at(id).completion.done - kept.at(id).completion.sent; };
  EXPECT_EQ(took(0), kService);
  EXPECT_EQ(took(1), kService);
  EXPECT_EQ(took(2), 2 * kService);
  EXPECT_EQ(took(5), 3 * kService);
}

TEST(NullTarget, FailsAsOftenAsItIsTold) {
  CollectingSink sink;
  NullTarget target({.fail_every = 3});
  ASSERT_TRUE(target.start(sink, {}).ok());
  target.issue(due_together(300, steady()));
  int failed = 0;
  for (const auto& [id, kept] : sink.kept()) failed += kept.completion.error == RequestError::server ? 1 : 0;
  EXPECT_EQ(failed, 100);
}

TEST(NullTarget, WhatHasNoRoomEndsAsOverloaded) {
  CollectingSink sink;
  NullTarget target({.room = 4, .silent = true});
  ASSERT_TRUE(target.start(sink, {}).ok());
  target.issue(due_together(6, steady()));
  target.stop(steady());
  int overloaded = 0;
  for (const auto& [id, kept] : sink.kept()) overloaded += kept.completion.error == RequestError::overloaded ? 1 : 0;
  EXPECT_EQ(overloaded, 2);
}

TEST(NullTarget, OutcomesAndErrorsHaveNames) {
  for (std::size_t i = 0; i < kRequestOutcomes; ++i) EXPECT_FALSE(name_of(static_cast<RequestOutcome>(i)).empty());
  for (std::size_t i = 0; i < kRequestErrors; ++i) EXPECT_FALSE(name_of(static_cast<RequestError>(i)).empty());
}

}  // namespace
}  // namespace assay
