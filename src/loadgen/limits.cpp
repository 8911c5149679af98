#include "loadgen/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "loadgen/early_stopping.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 3> kMeasureNames = {"ttft", "tpot", "e2e"};

}  // namespace

std::string_view name_of(LatencyMeasure measure) { return kMeasureNames[static_cast<std::size_t>(measure)]; }

Result<LatencyLimit> latency_limit(std::string_view name, Nanos at_most) {
  const std::size_t split = name.find("_p");
  const auto* const measure = std::find(kMeasureNames.begin(), kMeasureNames.end(), name.substr(0, split));
  double percent = 0;
  if (split != std::string_view::npos && measure != kMeasureNames.end()) {
    const std::string_view digits = name.substr(split + 2);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
    if (read.ec == std::errc() && read.ptr == digits.data() + digits.size() && percent > 0 && percent < 100) {
      return LatencyLimit{static_cast<LatencyMeasure>(measure - kMeasureNames.begin()), percent / 100, at_most};
    }
  }
  return Error{.kind = ErrorKind::bad_spec,
               .message = fmt::format("'{}' is no latency that can be limited", name),
               .hint = "Write for example ttft_p99, tpot_p99 or e2e_p90."};
}

std::string name_of(const LatencyLimit& limit) {
  return fmt::format("{}_p{:.6g}", name_of(limit.measure), limit.percentile * 100);
}

std::optional<std::int64_t> measured(const QueryRecord& record, LatencyMeasure measure) {
  if (!record.ok()) return std::nullopt;
  switch (measure) {
    case LatencyMeasure::end_to_end: return record.latency_ns();
    case LatencyMeasure::first_token:
      if (record.first_token_ns == 0) return std::nullopt;
      return record.first_token_ns - record.scheduled_ns;
    case LatencyMeasure::per_output_token:
      if (record.first_token_ns == 0 || record.output_tokens < 2) return std::nullopt;
      return (record.done_ns - record.first_token_ns) / (std::int64_t{record.output_tokens} - 1);
  }
  return std::nullopt;
}

LimitCheck check_limit(const LatencyLimit& limit, std::span<const std::int64_t> values, std::uint64_t failed) {
  LimitCheck check{.limit = limit, .counted = values.size() + failed};
  const auto beyond = std::upper_bound(values.begin(), values.end(), limit.at_most.count());
  check.over = static_cast<std::uint64_t>(values.end() - beyond) + failed;
  const auto index = static_cast<std::uint64_t>(static_cast<double>(check.counted) * limit.percentile);
  if (check.counted > 0 && index < values.size()) check.value_ns = values[index];
  check.met = check.value_ns && *check.value_ns <= limit.at_most.count();
  check.shown = check.met && early_stopping_met(check.counted, check.over, limit.percentile);
  return check;
}

}  // namespace assay
