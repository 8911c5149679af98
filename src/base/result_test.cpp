#include "base/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<int> half(int number) {
  if (number % 2 != 0) return Error{.kind = ErrorKind::usage, .message = "is odd", .hint = "Add one."};
  return number / 2;
}

Result<void> need_even(int number) {
  ASSAY_TRY([[maybe_unused]] const int ignored, half(number));
  return {};
}

Result<int> quarter(int number) {
  ASSAY_TRY(const int once, half(number).within("halving once"));
  ASSAY_TRY(const int twice, half(once).within("halving again"));
  return twice;
}

Result<std::string> checked(int number) {
  ASSAY_CHECK(need_even(number).within("checking"));
  return std::string("even");
}

Result<std::unique_ptr<int>> boxed(int number) {
  ASSAY_TRY(const int value, half(number));
  return std::make_unique<int>(value);
}

Result<int> unboxed(int number) {
  ASSAY_TRY(const auto box, boxed(number).within("unboxing"));
  return *box;
}

TEST(Result, HoldsAValueOrAnError) {
  const auto good = half(4);
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(static_cast<bool>(good));
  EXPECT_EQ(good.value(), 2);
  EXPECT_EQ(*good, 2);
  const auto bad = half(3);
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().kind, ErrorKind::usage);
  EXPECT_EQ(bad.error().message, "is odd");
  EXPECT_EQ(half(3).value_or(-1), -1);
  EXPECT_EQ(half(4).value_or(-1), 2);
}

TEST(Result, TryReturnsTheErrorOrBindsTheValue) {
  EXPECT_EQ(*quarter(12), 3);
  EXPECT_EQ(quarter(5).error().text(), "halving once: is odd");
  EXPECT_EQ(quarter(6).error().text(), "halving again: is odd");
  EXPECT_EQ(quarter(6).error().hint, "Add one.");
}

TEST(Result, CheckReturnsTheErrorOfAVoidResult) {
  EXPECT_EQ(*checked(2), "even");
  EXPECT_EQ(checked(1).error().text(), "checking: is odd");
}

TEST(Result, CarriesMoveOnlyValues) {
  EXPECT_EQ(*unboxed(8), 4);
  EXPECT_EQ(unboxed(7).error().text(), "unboxing: is odd");
}

TEST(Result, WithinLeavesASuccessAlone) {
  EXPECT_EQ(*half(4).within("halving"), 2);
  EXPECT_TRUE(need_even(4).within("checking").ok());
}

TEST(Error, ContextIsOutermostFirst) {
  Error error{.message = "driver/library version mismatch"};
  std::move(error).within("NVML").within("node gpu03").within("starting run r-81");
  EXPECT_THAT(error.context, ElementsAre("starting run r-81", "node gpu03", "NVML"));
  EXPECT_EQ(error.text(), "starting run r-81: node gpu03: NVML: driver/library version mismatch");
}

TEST(Error, EveryKindHasANameThatReadsBack) {
  for (int i = 0; i <= static_cast<int>(ErrorKind::internal); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    EXPECT_EQ(error_kind_from(name_of(kind)), kind) << name_of(kind);
  }
  EXPECT_EQ(name_of(ErrorKind::lost_peer), "lost_peer");
  EXPECT_EQ(error_kind_from("no_such_kind"), std::nullopt);
}

TEST(SystemError, ChoosesTheKindByTheNumber) {
  EXPECT_EQ(system_error(ENOENT, "cannot open 'x'").kind, ErrorKind::missing_file);
  EXPECT_EQ(system_error(EACCES, "x").kind, ErrorKind::denied);
  EXPECT_EQ(system_error(EROFS, "x").kind, ErrorKind::denied);
  EXPECT_EQ(system_error(EIO, "x").kind, ErrorKind::io);
  EXPECT_EQ(system_error(ENOENT, "cannot open 'x'").message, "cannot open 'x': No such file or directory");
  const auto full = system_error(ENOSPC, "cannot write");
  EXPECT_EQ(full.kind, ErrorKind::io);
  EXPECT_THAT(full.hint, HasSubstr("--data DIR"));
}

TEST(ResultDeathTest, TheValueOfAFailureIsABug) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(std::ignore = half(3).value(), "a bug: 'ok\\(\\)' does not hold");
  EXPECT_DEATH(std::ignore = half(4).error(), "a bug: '!ok\\(\\)' does not hold");
}

}  // namespace
}  // namespace assay
