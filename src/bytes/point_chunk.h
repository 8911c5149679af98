#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/series.h"

namespace assay {

/// Most points that one chunk holds.
constexpr std::size_t kChunkPoints = 512;

/// Appends the compressed form of 1 … kChunkPoints points to `out`. Every bit comes back: NaN payloads, −0.0 and
/// extreme times included. The same points give the same bytes with the same zstd version.
void encode_chunk(std::span<const SeriesPoint> points, std::string& out);

/// Reads what `encode_chunk` wrote. The bytes may come from anywhere: damage is an error of kind bad_file, never more
/// than kChunkPoints points or 16 KiB of scratch memory.
Result<std::vector<SeriesPoint>> decode_chunk(std::string_view bytes);

}  // namespace assay
