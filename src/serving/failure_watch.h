#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"

namespace assay {

/// Whether a load has become pointless, since its server fails: a closed loop on one that refuses every connection
/// would go round as fast as it can, and be recorded. Looks at the last seconds, and at as many more as it takes to
/// have seen a few requests end. Not thread-safe.
class FailureWatch {
 public:
  /// `most`: the share of failed requests from which on a load is ended, above 0.
  explicit FailureWatch(double most) : most_(most) {}

  /// What ended in a moment of the load.
  void take(std::uint64_t ok, std::uint64_t failed, Nanos lasted);
  /// Why the load has to end; stays. None: it may go on.
  const std::optional<std::string>& verdict() const { return verdict_; }

 private:
  struct Moment {
    std::uint64_t ok;
    std::uint64_t failed;
    Nanos lasted;
  };
  double most_;
  std::deque<Moment> moments_;
  Moment sum_{0, 0, Nanos(0)};
  std::optional<std::string> verdict_;
};

}  // namespace assay
