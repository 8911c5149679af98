#include "scheduler/fair_share.h"

#include <algorithm>

#include "base/portable_math.h"

namespace assay {
namespace {

constexpr std::int64_t kSlicesOfHalfLife = 64;
constexpr double kLn2 = 0.6931471805599453;

}  // namespace

std::size_t FairShare::user(const std::string& name) {
  const auto [place, is_new] = numbers_.try_emplace(name, accounts_.size());
  if (is_new) accounts_.push_back({.name = name});
  return place->second;
}

std::optional<std::size_t> FairShare::find(const std::string& name) const {
  const auto place = numbers_.find(name);
  return place == numbers_.end() ? std::nullopt : std::optional(place->second);
}

void FairShare::charge(std::size_t user, double gpu_seconds) {
  double& used = accounts_[user].used;
  used = std::max(0.0, used + gpu_seconds);
}

double FairShare::delay(std::size_t user) const {
  const Account& account = accounts_[user];
  if (rule_.strength <= 0 || gpus_ <= 0) return 0;
  const double seconds = rule_.strength * account.used / (account.rule.weight * gpus_);
  return std::min(seconds, seconds_of(rule_.longest_delay));
}

bool FairShare::forget(WallTime now) {
  const std::int64_t length = std::max<std::int64_t>(1, rule_.half_life.count() / kSlicesOfHalfLife);
  const std::int64_t slice = now.time_since_epoch().count() / length;
  if (slice_ && slice <= *slice_) return false;
  if (slice_) {
    const double slices = static_cast<double>(slice - *slice_);
    const double left = portable_exp(-kLn2 * slices / static_cast<double>(kSlicesOfHalfLife));
    for (Account& account : accounts_) account.used *= left;
  }
  slice_ = slice;
  return true;
}

}  // namespace assay
