#include "accounts/sign_in_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "store/account_tables.h"

namespace assay {
namespace {

/// What lists of stolen passwords begin with, of those that are long enough.
constexpr std::array<std::string_view, 16> kTriedFirst = {
    "1234567890",    "12345678910", "0123456789",  "0987654321",  "1q2w3e4r5t",   "1qaz2wsx3edc",
    "qwertyuiop",    "qwerty12345", "password12",  "password123", "password1234", "passw0rd123",
    "administrator", "letmein1234", "changeme123", "iloveyou12"};

Error bad_password(std::string rule) {
  return {.kind = ErrorKind::usage,
          .message = "this password " + std::move(rule),
          .hint = "Take a sentence, or let a password manager make one."};
}

/// What attempts are counted by: a pair cannot be mistaken for a user or an address.
struct Keys {
  std::string pair, address, user;
};
Keys keys_of(std::string_view user, std::string_view address) {
  return {.pair = fmt::format("pair {} {}", address, user),
          .address = fmt::format("address {}", address),
          .user = fmt::format("user {}", user)};
}

}  // namespace

Result<void> check_password(std::string_view user, std::string_view password) {
  if (password.size() < kShortestPassword) {
    return bad_password(fmt::format("is too short: at least {} characters", kShortestPassword));
  }
  if (password.size() > kLongestPassword) {
    return bad_password(fmt::format("is too long: at most {} bytes", kLongestPassword));
  }
  if (std::set<char>(password.begin(), password.end()).size() < 4)
    return bad_password("has too few different characters");
  const std::string plain = lower_case(password);
  const std::string name = lower_case(user);
  if (name.size() >= 3 && plain.find(name) != std::string::npos && plain.size() < name.size() + kShortestPassword) {
    return bad_password("is little more than the user's name");
  }
  if (std::find(kTriedFirst.begin(), kTriedFirst.end(), plain) != kTriedFirst.end()) {
    return bad_password("is one of those that are tried first");
  }
  return {};
}

WallTime session_end(const SessionRules& rules, const SessionRecord& session) {
  return std::min(session.last_seen + rules.idle, session.created + rules.length);
}

bool is_over(const SessionRules& rules, const SessionRecord& session, WallTime now) {
  return now >= session_end(rules, session);
}

Nanos LoginThrottle::wait_of(const Measure& measure, const Failures& failures, SteadyTime now) {
  if (failures.count < measure.free) return Nanos(0);
  const int doublings = std::min(failures.count - measure.free, 20);
  const Nanos pause = std::min<Nanos>(std::chrono::seconds(1LL << doublings), measure.longest);
  return std::max(Nanos(0), failures.last + pause - now);
}

void LoginThrottle::forget_old(SteadyTime now) {
  std::erase_if(failures_, [&](const auto& entry) { return now - entry.second.last > kMemory; });
  // Whoever tries ever other names from ever other addresses pushes out those that were tried least. Each time a good
  // part goes, so that this is not done again with the next attempt.
  for (int least = 2; failures_.size() > kMostKeys / 4 * 3; least *= 2) {
    std::erase_if(failures_, [&](const auto& entry) { return entry.second.count < least; });
  }
}

std::optional<Nanos> LoginThrottle::begin(std::string_view user, std::string_view address) {
  const SteadyTime now = clock_.now();
  const Keys keys = keys_of(user, address);
  const std::lock_guard lock(mutex_);
  if (failures_.size() > kMostKeys) forget_old(now);
  Nanos wait{};
  const auto look = [&](const std::string& key, const Measure& measure) {
    const auto found = failures_.find(key);
    if (found == failures_.end()) return;
    if (now - found->second.last > kMemory) {
      failures_.erase(found);
    } else {
      wait = std::max(wait, wait_of(measure, found->second, now));
    }
  };
  look(keys.pair, kPair);
  look(keys.address, kAddress);
  look(keys.user, kUser);
  if (wait > Nanos(0)) return wait;
  for (const std::string& key : {keys.pair, keys.address, keys.user}) {
    auto& failures = failures_[key];
    ++failures.count;
    failures.last = now;
  }
  return std::nullopt;
}

void LoginThrottle::succeeded(std::string_view user, std::string_view address) {
  const Keys keys = keys_of(user, address);
  const std::lock_guard lock(mutex_);
  failures_.erase(keys.pair);
  for (const std::string& key : {keys.address, keys.user}) {
    const auto found = failures_.find(key);
    if (found != failures_.end() && --found->second.count <= 0) failures_.erase(found);
  }
}

}  // namespace assay
