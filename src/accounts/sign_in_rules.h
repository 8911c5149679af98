#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

struct SessionRecord;

inline constexpr std::size_t kShortestPassword = 10;
inline constexpr std::size_t kLongestPassword = 1024;

/// `usage`, with the rule: at least ten characters, not of two or three different ones, not around the user's name and
/// none of those that are tried first.
Result<void> check_password(std::string_view user, std::string_view password);

/// How long somebody stays signed in.
struct SessionRules {
  Nanos idle = std::chrono::hours(12);        ///< without a request
  Nanos length = std::chrono::hours(24 * 7);  ///< in all
};
WallTime session_end(const SessionRules& rules, const SessionRecord& session);
bool is_over(const SessionRules& rules, const SessionRecord& session, WallTime now);

/// Slows down whoever guesses passwords: by user and address, by address, and, more gently, by user, since otherwise
/// anybody could lock anybody else out. Names that do not exist count like others. Any thread.
class LoginThrottle {
 public:
  explicit LoginThrottle(const Clock& clock) : clock_(clock) {}

  /// Counts an attempt, as if it failed. How long it has to wait instead, if it must: then it counts for nothing.
  std::optional<Nanos> begin(std::string_view user, std::string_view address);
  /// The attempt was good after all: it, and what failed of this user from this address before, is forgotten.
  void succeeded(std::string_view user, std::string_view address);

 private:
  struct Failures {
    int count = 0;
    SteadyTime last;
  };
  struct Measure {
    int free = 0;     ///< so many at once
    Nanos longest{};  ///< a wait
  };
  static Nanos wait_of(const Measure& measure, const Failures& failures, SteadyTime now);
  void forget_old(SteadyTime now);

  static constexpr Measure kPair{5, std::chrono::minutes(15)};
  static constexpr Measure kAddress{30, std::chrono::minutes(15)};
  static constexpr Measure kUser{50, std::chrono::seconds(30)};
  static constexpr Nanos kMemory = std::chrono::hours(1);
  static constexpr std::size_t kMostKeys = 50'000;

  const Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Failures, std::less<>> failures_;
};

}  // namespace assay
