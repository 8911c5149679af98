#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace assay {

/// What one user may have.
struct UserRule {
  double weight = 1;             ///< twice the weight, twice the share; > 0
  std::optional<int> most_gpus;  ///< in use at once
  std::optional<int> most_jobs;  ///< running at once
};

struct FairShareRule {
  double strength = 1;                           ///< 0: users do not matter
  Nanos half_life = std::chrono::hours(24);      ///< after which use counts half
  Nanos longest_delay = std::chrono::hours(12);  ///< heavy use sets a job back by this at most: nobody starves
};

/// Who has used how much of late. The delay of a user's jobs is the time for which they have had the whole cluster, by
/// their weight. A function of the calls in their order. Users are known by the number that `user` gives them.
class FairShare {
 public:
  explicit FairShare(FairShareRule rule) : rule_(rule) {}

  std::size_t user(const std::string& name);
  /// None where nobody has told of that user yet.
  std::optional<std::size_t> find(const std::string& name) const;
  const std::string& name_of(std::size_t user) const { return accounts_[user].name; }
  std::size_t users() const { return accounts_.size(); }
  void set_rule(std::size_t user, const UserRule& rule) { accounts_[user].rule = rule; }
  const UserRule& rule_of(std::size_t user) const { return accounts_[user].rule; }

  /// GPU seconds that a job is expected to use, when it starts; the difference to what it did use, when it ends.
  void charge(std::size_t user, double gpu_seconds);
  void set_gpus(double gpus) { gpus_ = gpus; }

  /// Seconds by which the user's jobs stand back, as of the last `forget`.
  double delay(std::size_t user) const;
  /// Lets use fade. Time is cut into slices of 1/64 half-life: true where a new one has begun and delays have changed.
  bool forget(WallTime now);

 private:
  struct Account {
    std::string name;
    UserRule rule;
    double used = 0;  ///< GPU seconds, faded up to the beginning of the slice
  };

  FairShareRule rule_;
  double gpus_ = 0;
  std::optional<std::int64_t> slice_;
  std::vector<Account> accounts_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace assay
