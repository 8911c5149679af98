#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "store/series_types.h"

// What every store of series does alike, whatever it keeps them in.

namespace assay {

/// Before these times the tiers are being deleted: nothing is answered from there or accepted.
using SeriesFloors = std::array<std::int64_t, 3>;

/// The earliest time of which raw points are taken: what retention has begun to delete it would delete again, and what
/// it has yet to look at, too. Goes by the clock or the newest sample of all, whichever is earlier: a clock that is
/// ahead must not have everything refused.
std::int64_t oldest_taken(const SeriesLimits& limits, const SeriesFloors& floors, std::int64_t newest_sample_ns,
                          WallTime now);

/// How a query is answered: buckets of this width within these bounds, from this tier.
struct SeriesPlan {
  TimeRange range;
  std::int64_t width_ns = 1;
  SeriesTier tier = SeriesTier::raw;
};
/// `usage` for a query that means nothing.
Result<SeriesPlan> plan_of(const SeriesQuery& query, const SeriesFloors& floors);

/// `usage` if the key has no name, or has too many or too long labels.
Result<void> check_series_key(const SeriesKey& key, std::string_view unit);
Error wrong_unit(const SeriesKey& key, std::string_view known, std::string_view unit);
Error too_many_series(std::size_t series);
/// Whether an owner that has `held` may have one more series; `usage` if not.
Result<void> check_holding(const SeriesLimits& limits, std::string_view owner, const SeriesHolding& held,
                           std::size_t more_key_bytes);
/// What a key counts for in a holding.
std::size_t key_bytes(const SeriesKey& key, std::string_view unit);
/// The value of the owner's label.
std::string_view owner_of(const SeriesKey& key, const std::string& owner_label);
Error no_such_series(SeriesId series);
/// "the answer would have more than 10000 series".
Error answer_too_large(std::string_view what, std::size_t limit);

}  // namespace assay
