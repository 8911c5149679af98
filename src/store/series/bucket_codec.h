#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/series_bucket.h"

namespace assay {

/// Most buckets that one row of a roll-up holds: four hours of minutes, ten days of hours.
constexpr std::size_t kRowBuckets = 256;

/// Appends the compressed form of 1 … kRowBuckets buckets to `out`; every bit comes back.
void encode_buckets(std::span<const SeriesBucket> buckets, std::string& out);

/// Any bytes: damage is an error of kind bad_file, never more than kRowBuckets buckets.
Result<std::vector<SeriesBucket>> decode_buckets(std::string_view bytes);

}  // namespace assay
