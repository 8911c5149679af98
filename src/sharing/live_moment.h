#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace assay {

/// Times that were measured in a moment: all of few, else some at even steps of rank.
struct LiveValues {
  static constexpr std::size_t kMost = 256;
  std::uint64_t count = 0;
  std::vector<std::int64_t> ns;  ///< at most `kMost`
  bool operator==(const LiveValues&) const = default;
};
/// Sorts the values.
LiveValues live_values(std::vector<std::int64_t>& values);

/// What one client did in a moment of a load.
struct LiveMoment {
  std::uint64_t sent = 0;
  std::uint64_t ok = 0;
  std::uint64_t failed = 0;
  std::uint64_t tokens = 0;
  std::uint64_t over = 0;       ///< ended beyond a limit, or not well
  std::uint32_t in_flight = 0;  ///< at its end
  LiveValues latency;
  LiveValues first_token;
  LiveValues per_token;
  bool operator==(const LiveMoment&) const = default;
};

json::object to_json(const LiveMoment& moment);
/// Errors: bad_file.
Result<LiveMoment> live_moment_from_json(const json::value& value);

/// The live metrics of the same moment of several clients: rates are sums, percentiles are of all their values.
json::object live_metrics(std::span<const LiveMoment> moments, Nanos lasted);

}  // namespace assay
