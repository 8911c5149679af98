#include "http/series_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>

#include "base/json.h"
#include "leader/live_hub.h"
#include "store/bucket_answer.h"

namespace assay {
namespace {

constexpr std::int64_t kMilli = 1'000'000;
constexpr std::int64_t kMostMilli = INT64_MAX / kMilli;
constexpr std::array<std::string_view, 3> kTiers = {"raw", "minute", "hour"};

void put_buckets(std::string& out, std::span<const SeriesBucket> buckets) {
  bool first = true;
  for (const auto& bucket : buckets) {
    if (!first) out += ',';
    first = false;
    fmt::format_to(std::back_inserter(out), "[{},", bucket.start_ns / kMilli);
    for (const double value : {bucket.min, bucket.max, bucket.mean()}) {
      put_json_number(out, value);
      out += ',';
    }
    fmt::format_to(std::back_inserter(out), "{}]", bucket.count);
  }
}

double number_of(const json::value& value) {
  return value.is_number() ? value.to_number<double>() : std::numeric_limits<double>::quiet_NaN();
}

template <typename Whole>
std::optional<Whole> whole_number_of(const json::value& value) {
  json::error_code code;
  const auto number = value.to_number<Whole>(code);
  return code ? std::nullopt : std::optional(number);
}

bool fits_into_ns(std::int64_t milliseconds) { return milliseconds >= -kMostMilli && milliseconds <= kMostMilli; }

std::optional<SeriesBucket> bucket_from(const json::value& value) {
  if (!value.is_array() || value.as_array().size() != 5) return std::nullopt;
  const json::array& bucket = value.as_array();
  const auto start_ms = whole_number_of<std::int64_t>(bucket[0]);
  const auto count = whole_number_of<std::uint64_t>(bucket[4]);
  if (!start_ms || !fits_into_ns(*start_ms) || !count) return std::nullopt;
  SeriesBucket made{
      .start_ns = *start_ms * kMilli, .min = number_of(bucket[1]), .max = number_of(bucket[2]), .count = *count};
  if (*count > 0) made.sum = number_of(bucket[3]) * static_cast<double>(*count);
  return made;
}

std::int64_t nanoseconds_in(JsonFields& fields, std::string_view key) {
  const std::int64_t milliseconds = fields.integer(key);
  if (fits_into_ns(milliseconds)) return milliseconds * kMilli;
  fields.fail(key, "is no time of this age");
  return 0;
}

Result<SeriesAnswer::Row> row_from(const json::value& value) {
  JsonFields fields(value, "answer: series");
  SeriesAnswer::Row row;
  row.series.key = {.name = fields.text("name"), .labels = fields.text_map_or_empty("labels")};
  row.series.unit = fields.text("unit");
  for (const auto& entry : fields.array_or_empty("buckets")) {
    const auto bucket = bucket_from(entry);
    if (!bucket) {
      fields.fail("buckets", "must have five numbers each: a time, three values and a count");
      break;
    }
    row.buckets.push_back(*bucket);
  }
  ASSAY_CHECK(fields.finish());
  return row;
}

}  // namespace

SeriesAnswerWriter::SeriesAnswerWriter(const SeriesAnswer& answer)
    : text(fmt::format(R"({{"from_ms":{},"to_ms":{},"width_ms":{},"tier":"{}","series":[)",
                       answer.range.from_ns / kMilli, answer.range.to_ns / kMilli, answer.width_ns / kMilli,
                       kTiers[static_cast<std::size_t>(answer.tier)])) {}

void SeriesAnswerWriter::add(const SeriesInfo& series, std::span<const SeriesBucket> buckets) {
  if (open_ == series.key) {
    if (!buckets.empty()) text += ',';
  } else {
    if (open_) text += "]},";
    open_ = series.key;
    const json::value labels = json::value_from(series.key.labels);
    fmt::format_to(std::back_inserter(text), R"({{"name":{},"labels":{},"unit":{},"buckets":[)",
                   json::serialize(json::string(series.key.name)), json::serialize(labels),
                   json::serialize(json::string(series.unit)));
  }
  put_buckets(text, buckets);
}

void SeriesAnswerWriter::finish(const std::vector<std::string>& problems) {
  if (open_) text += "]}";
  text += "],\"problems\":" + json::serialize(json::value_from(problems)) + "}\n";
}

std::string answer_json(const SeriesAnswer& answer) {
  SeriesAnswerWriter writer(answer);
  for (const auto& row : answer.rows) writer.add(row.series, row.buckets);
  writer.finish(answer.problems);
  return std::move(writer.text);
}

Result<SeriesAnswer> parse_answer_json(std::string_view text) {
  ASSAY_TRY(const auto value, parse_json(text));
  JsonFields fields(value, "answer");
  SeriesAnswer answer;
  answer.range = {.from_ns = nanoseconds_in(fields, "from_ms"), .to_ns = nanoseconds_in(fields, "to_ms")};
  answer.width_ns = nanoseconds_in(fields, "width_ms");
  const std::string tier = fields.text("tier");
  const auto known = std::find(kTiers.begin(), kTiers.end(), tier);
  if (known == kTiers.end()) fields.fail("tier", "must be raw, minute or hour");
  answer.problems = fields.texts_or_empty("problems");
  const auto& rows = fields.array_or_empty("series");
  ASSAY_CHECK(fields.finish());
  answer.tier = static_cast<SeriesTier>(known - kTiers.begin());
  for (const auto& entry : rows) {
    ASSAY_TRY(auto row, row_from(entry));
    answer.rows.push_back(std::move(row));
  }
  return answer;
}

}  // namespace assay
