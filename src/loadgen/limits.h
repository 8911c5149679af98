#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "loadgen/query_recorder.h"

namespace assay {

/// What a latency limit is about.
enum class LatencyMeasure {
  first_token,       ///< "ttft": from the scheduled time to the first token
  per_output_token,  ///< "tpot": (end to end − first token) / (tokens − 1)
  end_to_end,        ///< "e2e": from the scheduled time to the end
};
std::string_view name_of(LatencyMeasure measure);

/// "The 99th percentile of the time to first token is at most 2 s."
struct LatencyLimit {
  LatencyMeasure measure = LatencyMeasure::end_to_end;
  double percentile = 0.99;
  Nanos at_most{0};
  bool operator==(const LatencyLimit&) const = default;
};
/// `ttft_p99`, `tpot_p90`, `e2e_p99.9` → a limit; the names of the setting `find_peak`. Errors: bad_spec.
Result<LatencyLimit> latency_limit(std::string_view name, Nanos at_most);
std::string name_of(const LatencyLimit& limit);  ///< "ttft_p99"

/// A request's value of a measure; absent: it failed, or it has none (no token times, a single token).
std::optional<std::int64_t> measured(const QueryRecord& record, LatencyMeasure measure);

/// Whether requests keep a limit. One that did not end well counts as beyond it: a server must not gain by failing.
struct LimitCheck {
  LatencyLimit limit;
  std::uint64_t counted = 0;
  std::uint64_t over = 0;
  std::optional<std::int64_t> value_ns;  ///< at the percentile; absent: so many failed that there is none
  bool met = false;                      ///< at this percentile of these requests
  bool shown = false;                    ///< with 99 % confidence for all requests (early stopping)
};
/// `values` of the requests that have one, sorted; `failed` more have none.
LimitCheck check_limit(const LatencyLimit& limit, std::span<const std::int64_t> values, std::uint64_t failed);

}  // namespace assay
