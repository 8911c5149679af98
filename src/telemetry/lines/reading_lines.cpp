#include "telemetry/lines/reading_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace assay {
namespace {

constexpr int kLineSchema = 1;
// So that a line stays far below what those who put lines together hold (64 KiB), whatever the numbers.
constexpr std::size_t kMostValuesInLine = 1000;
constexpr std::size_t kMostNamesInLine = 100;
constexpr std::size_t kLongestName = 200;
constexpr std::size_t kMostLineLabels = 8;
constexpr std::size_t kLongestReason = 500;

std::int64_t nanos_of(WallTime time) { return time.time_since_epoch().count(); }

bool fits(const SeriesKey& key) {
  return !key.name.empty() && key.name.size() <= kLongestName && key.labels.size() <= kMostLineLabels &&
         std::all_of(key.labels.begin(), key.labels.end(), [](const auto& label) {
           return label.first.size() <= kLongestName && label.second.size() <= kLongestName;
         });
}

std::string json_text(std::string_view text) { return json::serialize(json::string(text)); }

/// `["gpu.util","ratio",{"gpu":"GPU-1a"}]`
std::optional<Sample> series_from(const json::value& value) {
  const auto* parts = value.if_array();
  if (!parts || parts->size() < 2 || parts->size() > 3) return std::nullopt;
  const auto* name = (*parts)[0].if_string();
  const auto* unit = (*parts)[1].if_string();
  if (!name || !unit || unit->size() > kLongestName) return std::nullopt;
  Sample sample{.key = {.name = std::string(*name), .labels = {}}, .unit = std::string(*unit), .value = 0};
  const auto* labels = parts->size() == 3 ? (*parts)[2].if_object() : nullptr;
  if (parts->size() == 3 && !labels) return std::nullopt;
  if (labels) {
    for (const auto& [label, text] : *labels) {
      if (!text.is_string()) return std::nullopt;
      sample.key.labels[std::string(label)] = std::string(text.get_string());
    }
  }
  return fits(sample.key) ? std::optional(std::move(sample)) : std::nullopt;
}

/// Where the entries of a line stand among the series of its node.
std::optional<std::size_t> first_of(JsonFields& fields, std::size_t count) {
  const auto first = fields.integer("first");
  if (first < 0 || first > static_cast<std::int64_t>(kMostLineSeries)) return std::nullopt;
  const auto place = static_cast<std::size_t>(first);
  return place + count <= kMostLineSeries ? std::optional(place) : std::nullopt;
}

}  // namespace

void ReadingLineWriter::introduce(std::string& lines) const {
  fmt::format_to(std::back_inserter(lines), R"({{"node":{},"of":{},"schema":{},"host":{},"began":{}}})", node_.number,
                 node_.of, kLineSchema, json_text(node_.host), nanos_of(node_.began));
  lines += '\n';
  name_series(lines, 0);
}

void ReadingLineWriter::name_series(std::string& lines, std::size_t first) const {
  for (; first < named_.size(); first += kMostNamesInLine) {
    json::array series;
    for (std::size_t i = first; i < std::min(named_.size(), first + kMostNamesInLine); ++i) {
      json::array entry{named_[i].key->name, named_[i].unit};
      if (!named_[i].key->labels.empty()) entry.emplace_back(json::value_from(named_[i].key->labels));
      series.emplace_back(std::move(entry));
    }
    lines += json::serialize(json::object{{"node", node_.number}, {"first", first}, {"series", std::move(series)}});
    lines += '\n';
  }
}

void ReadingLineWriter::add(std::string& lines, WallTime time, const std::vector<Sample>& samples) {
  std::fill(values_.begin(), values_.end(), std::nullopt);
  const std::size_t known = named_.size();
  for (const auto& sample : samples) {
    auto found = places_.find(sample.key);
    if (found == places_.end()) {
      if (named_.size() >= kMostLineSeries || !fits(sample.key)) continue;
      found = places_.emplace(sample.key, named_.size()).first;
      named_.push_back({&found->first, sample.unit.substr(0, kLongestName)});
      values_.emplace_back();
    }
    if (std::isfinite(sample.value)) values_[found->second] = sample.value;
  }
  name_series(lines, known);
  for (std::size_t first = 0; first < values_.size(); first += kMostValuesInLine) {
    const auto end = std::min(values_.size(), first + kMostValuesInLine);
    fmt::format_to(std::back_inserter(lines), R"({{"node":{},"at":{},"first":{},"values":[)", node_.number,
                   nanos_of(time), first);
    for (std::size_t i = first; i < end; ++i) {
      if (i > first) lines += ',';
      values_[i] ? fmt::format_to(std::back_inserter(lines), "{}", *values_[i])
                 : fmt::format_to(std::back_inserter(lines), "null");
    }
    lines += "]}\n";
  }
}

void ReadingLineWriter::tell_silence(std::string& lines, std::string_view source, std::string_view why) const {
  fmt::format_to(std::back_inserter(lines), R"({{"node":{},"source":{},"silent":{}}})", node_.number,
                 json_text(source.substr(0, kLongestName)), json_text(why.substr(0, kLongestReason)));
  lines += '\n';
}

std::optional<LineNews> ReadingLineReader::take(std::string_view line) {
  const auto value = parse_json(line);
  if (!value || !value->is_object()) return std::nullopt;
  JsonFields fields(*value, "a reading");
  const auto number = fields.integer("node");
  if (number < 0 || number >= kMostLineNodes || !fields.finish()) return std::nullopt;
  if (fields.find("host")) return take_node(number, fields);
  const auto speaker = nodes_.find(number);
  if (speaker == nodes_.end()) return std::nullopt;
  if (fields.find("series")) return take_series(speaker->second, fields);
  if (fields.find("values")) return take_values(speaker->second, fields);
  LineNews news{.node = &speaker->second.node, .source = fields.text("source"), .silent = fields.text("silent")};
  if (!fields.finish() || news.source.empty() || news.source.size() > kLongestName ||
      news.silent.size() > kLongestReason) {
    return std::nullopt;
  }
  return news;
}

std::optional<LineNews> ReadingLineReader::take_node(std::int64_t number, JsonFields& fields) {
  LineNode node{.number = number,
                .of = fields.integer("of"),
                .host = fields.text("host"),
                .began = WallTime(Nanos(fields.integer("began")))};
  if (fields.integer("schema") != kLineSchema || !fields.finish() || node.host.size() > kLongestName || node.of < 1 ||
      node.of > kMostLineNodes) {
    return std::nullopt;
  }
  const auto known = nodes_.find(number);
  if (known != nodes_.end()) return LineNews{.node = &known->second.node};
  // Two parts of a job may be on one machine.
  std::string label = node.host;
  const bool taken =
      std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& one) { return one.second.label == label; });
  if (taken || label.empty()) label += fmt::format("#{}", number);
  Speaker& speaker = nodes_[number];
  speaker = {.node = std::move(node), .label = std::move(label), .series = {}};
  return LineNews{.node = &speaker.node, .keep_as = fmt::format("{}", number)};
}

std::optional<LineNews> ReadingLineReader::take_series(Speaker& speaker, JsonFields& fields) {
  const auto& entries = fields.array_or_empty("series");
  const auto first = first_of(fields, entries.size());
  if (!fields.finish() || !first) return std::nullopt;
  std::vector<Sample> named;
  for (const auto& entry : entries) {
    auto sample = series_from(entry);
    if (!sample) return std::nullopt;
    if (speaker.node.of > 1) sample->key.labels["node"] = speaker.label;
    named.push_back(std::move(*sample));
  }
  bool any_new = false;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const auto [place, is_new] = speaker.series.try_emplace(*first + i, named[i]);
    any_new = any_new || is_new;
    // What a number stands for never changes while its node speaks.
    if (!is_new && place->second.key != named[i].key) return std::nullopt;
  }
  LineNews news{.node = &speaker.node};
  if (any_new) news.keep_as = fmt::format("{}/{}", speaker.node.number, *first);
  return news;
}

std::optional<LineNews> ReadingLineReader::take_values(const Speaker& speaker, JsonFields& fields) const {
  const auto& values = fields.array_or_empty("values");
  const auto first = first_of(fields, values.size());
  LineNews news{.node = &speaker.node, .time = WallTime(Nanos(fields.integer("at")))};
  if (!fields.finish() || !first) return std::nullopt;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto named = speaker.series.find(*first + i);
    json::error_code code;
    const double value = values[i].to_number<double>(code);
    if (code || named == speaker.series.end()) continue;
    news.samples.push_back(named->second);
    news.samples.back().value = value;
  }
  return news;
}

}  // namespace assay
