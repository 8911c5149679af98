#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/series_types.h"

namespace assay {

struct SeriesAnswer;
struct SeriesBucket;

/// {"from_ms", "to_ms", "width_ms", "tier", "series": [{"name", "labels", "unit", "buckets": [[start_ms, minimum,
/// maximum, mean, count], …]}], "problems"}
std::string answer_json(const SeriesAnswer& answer);

/// Writes the same piece by piece, for answers that are not held whole. What is written stays in `text` until it is
/// taken.
class SeriesAnswerWriter {
 public:
  /// `answer` without its rows and problems.
  explicit SeriesAnswerWriter(const SeriesAnswer& answer);
  /// The next buckets of a series: behind those before, where they were of the same one.
  void add(const SeriesInfo& series, std::span<const SeriesBucket> buckets);
  void finish(const std::vector<std::string>& problems);

  std::string text;

 private:
  std::optional<SeriesKey> open_;  ///< the series whose buckets are being written
};

/// Reads what `answer_json` writes; `bad_file` for all else.
Result<SeriesAnswer> parse_answer_json(std::string_view text);

}  // namespace assay
