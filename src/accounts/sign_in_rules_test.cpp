#include "accounts/sign_in_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/account_tables.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::string problem(std::string_view user, std::string_view password) {
  const auto checked = check_password(user, password);
  return checked ? "" : checked.error().message;
}

TEST(PasswordPolicy, WantsLengthAndNoneThatAreTriedFirst) {
  EXPECT_EQ(problem("ada", "correct horse battery"), "");
  EXPECT_EQ(problem("ada", "x7!kQ2#pLm"), "");
  EXPECT_THAT(problem("ada", "short"), HasSubstr("at least 10"));
  EXPECT_THAT(problem("ada", ""), HasSubstr("too short"));
  EXPECT_THAT(problem("ada", std::string(1025, 'x') + "abc"), HasSubstr("too long"));
  EXPECT_THAT(problem("ada", "aaaaaaaaaaab"), HasSubstr("different"));
  EXPECT_THAT(problem("ada", "Password123"), HasSubstr("tried first"));
  EXPECT_THAT(problem("ada.lovelace", "ada.lovelace1"), HasSubstr("name"));
  EXPECT_EQ(problem("ada", "ada likes long sentences"), "") << "there is enough besides the name";
}

TEST(SessionRulesTest, EndsWithoutUseAndInAnyCase) {
  const SessionRules rules{.idle = std::chrono::hours(1), .length = std::chrono::hours(3)};
  const WallTime start(std::chrono::hours(1000));
  SessionRecord session{.created = start, .last_seen = start};
  EXPECT_FALSE(is_over(rules, session, start + std::chrono::minutes(59)));
  EXPECT_TRUE(is_over(rules, session, start + std::chrono::hours(1)));
  session.last_seen = start + std::chrono::minutes(170);
  EXPECT_EQ(session_end(rules, session), start + std::chrono::hours(3)) << "use does not make it longer than that";
}

class LoginThrottleTest : public testing::Test {
 protected:
  /// How many of so many attempts are let through without a wait.
  int passed(int attempts, const std::string& user, const std::string& address) {
    int count = 0;
    for (int i = 0; i < attempts; ++i) count += throttle_.begin(user, address) ? 0 : 1;
    return count;
  }

  ManualClock clock_;
  LoginThrottle throttle_{clock_};
};

TEST_F(LoginThrottleTest, OneAccountFromOneAddressIsSlowedDown) {
  EXPECT_EQ(passed(20, "ada", "10.0.0.7"), 5);
  const auto wait = throttle_.begin("ada", "10.0.0.7");
  ASSERT_TRUE(wait);
  EXPECT_EQ(*wait, std::chrono::seconds(1));
  clock_.advance(std::chrono::seconds(1));
  EXPECT_EQ(passed(3, "ada", "10.0.0.7"), 1);
  EXPECT_EQ(*throttle_.begin("ada", "10.0.0.7"), std::chrono::seconds(2)) << "each failure doubles it";
  EXPECT_EQ(passed(1, "ada", "10.0.0.8"), 1) << "she gets in from elsewhere";
  EXPECT_EQ(passed(1, "bob", "10.0.0.7"), 1) << "so do others from there";
}

TEST_F(LoginThrottleTest, WaitsHaveAnEnd) {
  for (int day = 0; day < 100; ++day) {
    passed(1, "ada", "10.0.0.7");
    clock_.advance(std::chrono::minutes(15));
  }
  EXPECT_EQ(passed(1, "ada", "10.0.0.7"), 1);
  EXPECT_LE(*throttle_.begin("ada", "10.0.0.7"), std::chrono::minutes(15));
  clock_.advance(std::chrono::hours(2));
  EXPECT_EQ(passed(20, "ada", "10.0.0.7"), 5) << "and are forgotten";
}

TEST_F(LoginThrottleTest, ManyNamesFromOneAddressAreSlowedDown) {
  int count = 0;
  for (int i = 0; i < 100; ++i) count += passed(1, "user" + std::to_string(i), "10.0.0.7");
  EXPECT_EQ(count, 30);
}

TEST_F(LoginThrottleTest, OneNameFromManyAddressesIsSlowedDownButNotLockedOut) {
  int count = 0;
  for (int i = 0; i < 200; ++i) count += passed(1, "ada", "10.0.0." + std::to_string(i));
  EXPECT_EQ(count, 50);
  clock_.advance(std::chrono::seconds(30));
  EXPECT_EQ(passed(1, "ada", "192.168.0.1"), 1);
}

TEST_F(LoginThrottleTest, WhoGetsInStartsAnew) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(throttle_.begin("ada", "10.0.0.7")) << i;
    throttle_.succeeded("ada", "10.0.0.7");
  }
}

TEST_F(LoginThrottleTest, RemembersABoundedNumberOfNames) {
  // From ever other addresses, so that nobody is made to wait.
  for (int i = 0; i < 150'000; ++i) throttle_.begin(std::to_string(i), std::to_string(i));
  EXPECT_EQ(passed(20, "ada", "10.0.0.7"), 5) << "it still counts";
}

}  // namespace
}  // namespace assay
