#include "serving/failure_watch.h"

#include <fmt/format.h>

namespace assay {
namespace {

// Rides out a server that is started anew by its supervisor, and is over before a loop has filled memory.
constexpr Nanos kWindow = std::chrono::seconds(5);
constexpr std::uint64_t kLeastEnded = 20;

}  // namespace

void FailureWatch::take(std::uint64_t ok, std::uint64_t failed, Nanos lasted) {
  if (verdict_) return;
  moments_.push_back({ok, failed, lasted});
  sum_ = {sum_.ok + ok, sum_.failed + failed, sum_.lasted + lasted};
  const auto enough = [](const Moment& of) { return of.lasted >= kWindow && of.ok + of.failed >= kLeastEnded; };
  for (;;) {
    const Moment& oldest = moments_.front();
    const Moment rest{sum_.ok - oldest.ok, sum_.failed - oldest.failed, sum_.lasted - oldest.lasted};
    if (!enough(rest)) break;
    sum_ = rest;
    moments_.pop_front();
  }
  if (!enough(sum_)) return;
  const auto ended = static_cast<double>(sum_.ok + sum_.failed);
  if (static_cast<double>(sum_.failed) < most_ * ended) return;
  verdict_ = fmt::format("{} of the {} requests that ended in the last {:.0f} s did not end well", sum_.failed,
                         sum_.ok + sum_.failed, seconds_of(sum_.lasted));
}

}  // namespace assay
