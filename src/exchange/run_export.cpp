#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "exchange/csv_cell.h"
#include "exchange/encoding.h"
#include "exchange/exact_json.h"
#include "exchange/run_series.h"

namespace assay {
namespace {

constexpr std::string_view kFormat = "assay-run";

/// The shortest text that reads back as the same number.
void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "inf" : "-inf";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

std::pair<std::int64_t, std::int64_t> moment_of(const SeriesPoint& point) { return {point.time_ns, point.step}; }

Result<std::vector<std::int64_t>> integers(const json::array& numbers, std::string_view what) {
  std::vector<std::int64_t> read;
  read.reserve(numbers.size());
  for (const auto& number : numbers) {
    const auto* value = number.if_int64();
    if (!value)
      return Error{.kind = ErrorKind::bad_file,
                   .message = fmt::format("'{}' has an item that is no whole number", what)};
    read.push_back(*value);
  }
  return read;
}

Result<std::vector<double>> values_of(JsonFields& fields) {
  std::vector<double> values;
  for (const auto& item : fields.array_or_empty("value")) {
    json::error_code code;
    const double number = item.is_null() ? std::nan("") : item.to_number<double>(code);
    if (code) return Error{.kind = ErrorKind::bad_file, .message = "'value' has an item that is no number"};
    values.push_back(number);
  }
  for (const auto& [key, sign] : {std::pair{"infinite", 1.0}, std::pair{"minus_infinite", -1.0}}) {
    ASSAY_TRY(const auto places, integers(fields.array_or_empty(key), key));
    for (const std::int64_t place : places) {
      if (place < 0 || place >= static_cast<std::int64_t>(values.size()))
        return Error{.kind = ErrorKind::bad_file, .message = fmt::format("'{}' names a point that is not there", key)};
      values[static_cast<std::size_t>(place)] = sign * std::numeric_limits<double>::infinity();
    }
  }
  return values;
}

Result<SeriesWithPoints> series_from(const json::value& value) {
  JsonFields fields(value, "series");
  SeriesWithPoints series{.key = {fields.text("name"), fields.text_map_or_empty("labels")},
                          .unit = fields.text_or("unit", "")};
  ASSAY_TRY(const auto times, integers(fields.array_or_empty("time_ns"), "time_ns"));
  ASSAY_TRY(const auto steps, integers(fields.array_or_empty("step"), "step"));
  ASSAY_TRY(const auto values, values_of(fields));
  ASSAY_CHECK(fields.finish());
  if (times.size() != values.size() || steps.size() != values.size()) {
    return Error{
        .kind = ErrorKind::bad_file,
        .message = fmt::format("series '{}': 'time_ns', 'step' and 'value' differ in length", series.key.name)};
  }
  for (std::size_t i = 0; i < values.size(); ++i) series.points.push_back({times[i], steps[i], values[i]});
  return series;
}

void append_list(std::string& out, std::string_view key, const std::vector<std::size_t>& places) {
  if (!places.empty())
    fmt::format_to(std::back_inserter(out), ",\"{}\":{}", key, json::serialize(json::value_from(places)));
}

void append_series_json(std::string& out, const SeriesWithPoints& series) {
  json::object labels;
  for (const auto& [label, value] : series.key.labels) labels[label] = value;
  out += "{\"name\":" + json::serialize(json::value(series.key.name)) + ",\"labels\":" + json::serialize(labels) +
         ",\"unit\":" + json::serialize(json::value(series.unit));
  const auto column = [&](std::string_view key, auto&& append) {
    fmt::format_to(std::back_inserter(out), ",\"{}\":[", key);
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      if (i) out += ',';
      append(i);
    }
    out += ']';
  };
  std::vector<std::size_t> infinite;
  std::vector<std::size_t> minus_infinite;
  column("time_ns", [&](std::size_t i) { out += std::to_string(series.points[i].time_ns); });
  column("step", [&](std::size_t i) { out += std::to_string(series.points[i].step); });
  column("value", [&](std::size_t i) {
    const double value = series.points[i].value;
    if (std::isinf(value)) (value > 0 ? infinite : minus_infinite).push_back(i);
    if (!std::isfinite(value)) {
      out += "null";
      return;
    }
    const std::size_t start = out.size();
    append_number(out, value);
    // Without a point −0 and large whole numbers would be read as integers.
    if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
  });
  append_list(out, "infinite", infinite);
  append_list(out, "minus_infinite", minus_infinite);
  out += '}';
}

Result<RunWithSeries> run_from_export(const json::value& value) {
  JsonFields fields(value, "export");
  if (fields.text("format") != kFormat) fields.fail("format", "is not that of an exported run");
  ASSAY_CHECK(fields.finish());
  ASSAY_CHECK(check_schema(value, kRunExportSchema, "export"));
  RunWithSeries run;
  const json::value* record = fields.find("run");
  if (!record) return Error{.kind = ErrorKind::bad_file, .message = "export: 'run' is missing"};
  ASSAY_TRY(run.run, run_from_json(*record));
  for (const auto& item : fields.array_or_empty("series")) {
    ASSAY_TRY(auto series, series_from(item));
    run.series.push_back(std::move(series));
  }
  ASSAY_CHECK(fields.finish());
  return run;
}

/// Each row is the earliest moment at which a series waits with its next point; so the points of a series keep their
/// order even where it is not that of time. A column may have no series.
void append_rows(std::string& out, std::string_view front, const std::vector<const SeriesWithPoints*>& columns) {
  std::vector<std::size_t> next(columns.size(), 0);
  const auto waits = [&](std::size_t i) { return columns[i] && next[i] < columns[i]->points.size(); };
  for (;;) {
    std::optional<std::pair<std::int64_t, std::int64_t>> moment;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (!waits(i)) continue;
      const auto own = moment_of(columns[i]->points[next[i]]);
      if (!moment || own < *moment) moment = own;
    }
    if (!moment) return;
    out += front;
    if (moment->second != kNoStep) out += std::to_string(moment->second);
    out += ',' + std::to_string(moment->first);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      out += ',';
      if (waits(i) && moment_of(columns[i]->points[next[i]]) == *moment)
        append_number(out, columns[i]->points[next[i]++].value);
    }
    out += '\n';
  }
}

}  // namespace

std::string write_series_csv(const std::vector<SeriesWithPoints>& series) {
  std::string out = "step,time_ns";
  std::vector<const SeriesWithPoints*> columns;
  for (const auto& one : series) {
    out += ',';
    append_csv_cell(out, series_title(one.key, one.unit));
    columns.push_back(&one);
  }
  out += '\n';
  append_rows(out, "", columns);
  return out;
}

std::string write_runs_csv(std::span<const RunWithSeries> runs) {
  if (runs.size() == 1) return write_series_csv(runs.front().series);
  std::map<std::string, std::size_t> places;
  std::vector<std::string> titles;
  for (const auto& run : runs) {
    for (const auto& one : run.series) {
      const std::string title = series_title(one.key, one.unit);
      if (places.try_emplace(title, titles.size()).second) titles.push_back(title);
    }
  }
  std::string out = "run,step,time_ns";
  for (const auto& title : titles) {
    out += ',';
    append_csv_cell(out, title);
  }
  out += '\n';
  for (const auto& run : runs) {
    std::vector<const SeriesWithPoints*> columns(titles.size(), nullptr);
    for (const auto& one : run.series) columns[places.at(series_title(one.key, one.unit))] = &one;
    std::string id;
    append_csv_cell(id, run.run.id);
    append_rows(out, id + ',', columns);
  }
  return out;
}

std::string write_run_json(const RunWithSeries& run) {
  std::string out = fmt::format("{{\"format\":\"{}\",\"schema\":{},\"run\":", kFormat, kRunExportSchema);
  out += json::serialize(to_json(run.run));
  out += ",\"series\":[";
  for (std::size_t i = 0; i < run.series.size(); ++i) {
    out += i ? ",\n" : "\n";
    append_series_json(out, run.series[i]);
  }
  return out + "]}\n";
}

std::string write_runs_json(std::span<const RunWithSeries> runs) {
  if (runs.size() == 1) return write_run_json(runs.front());
  std::string out = "[";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i) out += ",\n";
    out += write_run_json(runs[i]);
  }
  return out + "]\n";
}

Result<std::vector<RunWithSeries>> parse_runs_json(std::string_view bytes, std::string_view name) {
  const auto read = [&]() -> Result<std::vector<RunWithSeries>> {
    ASSAY_TRY(const auto looked, look_at_bytes(bytes, name));
    ASSAY_TRY(const auto document, parse_exact_json(looked.text));
    std::vector<RunWithSeries> runs;
    if (!document.value.is_array()) {
      ASSAY_TRY(auto run, run_from_export(document.value));
      runs.push_back(std::move(run));
      return runs;
    }
    for (const auto& item : document.value.get_array()) {
      ASSAY_TRY(auto run, run_from_export(item).within(fmt::format("run {}", runs.size() + 1)));
      runs.push_back(std::move(run));
    }
    if (runs.empty()) return Error{.kind = ErrorKind::bad_file, .message = "there is no run in it"};
    return runs;
  };
  return read().within(fmt::format("reading '{}'", name));
}

}  // namespace assay
