#include "api/telemetry_types.h"

namespace assay {
namespace {

using SeriesLabels = std::map<std::string, std::string>;
/// Start in milliseconds since 1970, minimum, maximum, mean, count.
using BucketRow = std::tuple<std::int64_t, double, double, double, std::uint64_t>;

}  // namespace

template <>
const ApiEnum<SeriesTier>& api_enum() {
  static const ApiEnum<SeriesTier> words(
      "SeriesTier", "What an answer was made from.",
      {{SeriesTier::raw, "raw"}, {SeriesTier::minute, "minute"}, {SeriesTier::hour, "hour"}});
  return words;
}

template <>
const ApiType<SeriesEntry>& api_type() {
  static const auto type = ApiType<SeriesEntry>("SeriesEntry", "A series that the leader keeps.")
                               .field("name", &SeriesEntry::name, "The metric")
                               .field("labels", &SeriesEntry::labels, "node, gpu, …")
                               .field("unit", &SeriesEntry::unit, "Of its values");
  return type;
}

template <>
const ApiType<SeriesList>& api_type() {
  static const auto type = ApiType<SeriesList>("SeriesList", "Which series there are.")
                               .field("series", &SeriesList::series, "That fit")
                               .added("next", &SeriesList::next, "For `after`: there may be more; empty: that is all");
  return type;
}

template <>
const ApiType<ErasedSeries>& api_type() {
  static const auto type = ApiType<ErasedSeries>("ErasedSeries", "What was erased.")
                               .field("series", &ErasedSeries::series, "Of so many series");
  return type;
}

// Answers to queries are written as text by http/series_answer, since they may be large, and read there.
template <>
const ApiType<SeriesAnswer::Row>& api_type() {
  static const auto type =
      ApiType<SeriesAnswer::Row>("SeriesBuckets", "A series over a time.")
          .row<std::string>("name", "The metric")
          .row<SeriesLabels>("labels", "node, gpu, …")
          .row<std::string>("unit", "Of its values")
          .row<std::vector<BucketRow>>("buckets", "Start in milliseconds since 1970, minimum, maximum, mean, count");
  return type;
}

template <>
const ApiType<SeriesAnswer>& api_type() {
  static const auto type = ApiType<SeriesAnswer>("SeriesAnswer", "Telemetry over a time.")
                               .row<std::int64_t>("from_ms", "Where the buckets begin, in milliseconds since 1970")
                               .row<std::int64_t>("to_ms", "Where they end")
                               .row<std::int64_t>("width_ms", "How wide each is")
                               .row<SeriesTier>("tier", "What it was made from")
                               .row<std::vector<SeriesAnswer::Row>>("series", "Those that fit")
                               .row<std::vector<std::string>>("problems", "What could not be read; the rest is right");
  return type;
}

}  // namespace assay
