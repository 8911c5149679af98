#include "store/series_rules.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr std::array<std::int64_t, 3> kTierWidth = {1, kMinuteNs, kHourNs};

constexpr std::size_t kMaxLabels = 32;
constexpr std::size_t kMaxText = 1024;

/// The next width that people would choose, so that buckets begin where clocks tick and readings are taken.
std::int64_t round_width(std::int64_t width_ns) {
  constexpr std::int64_t kMilli = 1'000'000;
  constexpr std::array<std::int64_t, 19> kWidths = {
      100 * kMilli,   200 * kMilli,   500 * kMilli,   kSecondNs,      2 * kSecondNs, 5 * kSecondNs, 10 * kSecondNs,
      15 * kSecondNs, 20 * kSecondNs, 30 * kSecondNs, kMinuteNs,      2 * kMinuteNs, 3 * kMinuteNs, 5 * kMinuteNs,
      10 * kMinuteNs, 15 * kMinuteNs, 20 * kMinuteNs, 30 * kMinuteNs, kHourNs};
  const auto found = std::lower_bound(kWidths.begin(), kWidths.end(), width_ns);
  // Less than the fastest sampling is asked for by those who know why; beyond an hour every hour will do.
  return width_ns < kWidths.front() || found == kWidths.end() ? width_ns : *found;
}

/// Buckets of at least that width from one tier, whole ones around the range, about `most` of them (0: any number).
SeriesPlan plan_at(unsigned tier, TimeRange range, std::int64_t width_ns, std::int64_t most) {
  SeriesPlan plan{.width_ns = ceil_to(width_ns, kTierWidth[tier]), .tier = static_cast<SeriesTier>(tier)};
  for (;;) {
    plan.range = {floor_to(range.from_ns, plan.width_ns), ceil_to(range.to_ns, plan.width_ns)};
    // Bounds on multiples of the width may take one bucket more than was asked for.
    if (most == 0 || (plan.range.to_ns - plan.range.from_ns) / plan.width_ns <= std::max<std::int64_t>(most, 2)) break;
    plan.width_ns = ceil_to(round_width(plan.width_ns + plan.width_ns / most + 1), kTierWidth[tier]);
  }
  return plan;
}

Error unusable_series(std::string_view what) {
  return Error{.kind = ErrorKind::usage, .message = fmt::format("a series cannot have {}", what)};
}

}  // namespace

std::int64_t oldest_taken(const SeriesLimits& limits, const SeriesFloors& floors, std::int64_t newest_sample_ns,
                          WallTime now) {
  const auto known = std::min<std::int64_t>(newest_sample_ns, now.time_since_epoch().count());
  return std::max(floors[0], known - limits.keep[0].count());
}

Result<SeriesPlan> plan_of(const SeriesQuery& query, const SeriesFloors& floors) {
  const auto from = std::max<std::int64_t>(query.range.from_ns, 0);
  const auto to = std::min(query.range.to_ns, kEndOfTime - kHourNs);
  if (from >= to || query.width_ns < 0 || query.width_ns > kEndOfTime / 2) {
    return Error{.kind = ErrorKind::usage, .message = "the range of time is empty, or the width is no duration"};
  }
  if (query.width_ns == 0 && query.max_points == 0) {
    return Error{.kind = ErrorKind::usage, .message = "the query has neither a width nor a number of points"};
  }
  auto width = std::max<std::int64_t>(query.width_ns, 1);
  const auto most = static_cast<std::int64_t>(std::min<std::size_t>(query.max_points, 1'000'000));
  if (most > 0) width = std::max(width, round_width((to - from + most - 1) / most));
  auto tier = width >= kHourNs ? 2U : width >= kMinuteNs ? 1U : 0U;
  SeriesPlan plan = plan_at(tier, {from, to}, width, most);
  // A first bucket of which a part is deleted would pass for a whole one: rather wider buckets of the next tier.
  while (tier < 2 && plan.range.from_ns < floors[tier]) plan = plan_at(++tier, {from, to}, width, most);
  plan.range.from_ns = std::clamp(floors[tier], plan.range.from_ns, plan.range.to_ns);
  return plan;
}

Result<void> check_series_key(const SeriesKey& key, std::string_view unit) {
  if (key.name.empty()) return unusable_series("an empty name");
  if (key.labels.size() > kMaxLabels) return unusable_series(fmt::format("more than {} labels", kMaxLabels));
  const auto too_long = [](std::string_view text) { return text.size() > kMaxText; };
  bool any = too_long(key.name) || too_long(unit);
  for (const auto& [label, value] : key.labels) any = any || too_long(label) || too_long(value);
  if (any) return unusable_series(fmt::format("a name, unit or label of more than {} bytes", kMaxText));
  return {};
}

Error wrong_unit(const SeriesKey& key, std::string_view known, std::string_view unit) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("the series '{}' has the unit '{}', not '{}'", key.name, known, unit)};
}

Error too_many_series(std::size_t series) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("there are {} series, which is the limit", series),
          .hint = "Delete series that are no longer needed, or raise the limit."};
}

Result<void> check_holding(const SeriesLimits& limits, std::string_view owner, const SeriesHolding& held,
                           std::size_t more_key_bytes) {
  const auto& most = limits.max_per_owner;
  const auto refuse = [&](std::string what) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("{} '{}' has {}, which is the limit for one", limits.owner_label, owner, what),
                 .hint = "Delete series that are no longer needed, or raise the limit."};
  };
  if (held.series >= most.series) return refuse(fmt::format("{} series", held.series));
  if (held.key_bytes + more_key_bytes > most.key_bytes) {
    return refuse(fmt::format("series with {} bytes of names and labels", held.key_bytes));
  }
  return {};
}

std::size_t key_bytes(const SeriesKey& key, std::string_view unit) {
  auto bytes = key.name.size() + unit.size();
  for (const auto& [label, value] : key.labels) bytes += label.size() + value.size();
  return bytes;
}

std::string_view owner_of(const SeriesKey& key, const std::string& owner_label) {
  const auto label = key.labels.find(owner_label);
  return label == key.labels.end() ? std::string_view() : std::string_view(label->second);
}

Error no_such_series(SeriesId series) {
  return {.kind = ErrorKind::not_found,
          .message = fmt::format("there is no series {} (any more)", series),
          .hint = "Ask for its id again."};
}

Error answer_too_large(std::string_view what, std::size_t limit) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("the answer would have more than {} {}", limit, what),
          .hint = "Select fewer series, a shorter time or wider buckets."};
}

}  // namespace assay
