#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/run.h"
#include "model/series_summary.h"
#include "store/run_writer.h"

namespace assay {

/// A RunWriter that keeps everything in memory, for tests. `fail_after` appends it behaves like a full disk.
class CollectingWriter final : public RunWriter {
 public:
  const std::string& run_id() const override { return id_; }

  Result<void> append_event(WallTime, std::string_view event) override {
    events.emplace_back(event);
    return outcome();
  }
  SeriesHandle open_series(const SeriesKey& key, std::string_view unit) override {
    for (SeriesHandle handle = 0; handle < keys.size(); ++handle) {
      if (keys[handle] == key) return handle;
    }
    keys.push_back(key);
    units.emplace_back(unit);
    points.emplace_back();
    return static_cast<SeriesHandle>(keys.size() - 1);
  }
  Result<void> append_points(SeriesHandle series, std::span<const SeriesPoint> added) override {
    points.at(series).insert(points.at(series).end(), added.begin(), added.end());
    return outcome();
  }
  Result<void> append_output(OutputStream stream, WallTime, std::string_view bytes) override {
    (stream == OutputStream::out ? out : error) += bytes;
    return outcome();
  }
  Result<void> flush() override { return {}; }
  Result<void> mark(std::string_view mark) override {
    marks.emplace_back(mark);
    return {};
  }
  std::vector<SeriesSummary> summaries() const override { return {}; }
  Result<void> update(const Run&) override { return {}; }
  Result<void> finish(const Run&) override { return {}; }

  /// The values of the series of that name; empty if there is none.
  std::vector<double> values(std::string_view name) const {
    std::vector<double> values;
    for (const auto& point : points_of(name)) values.push_back(point.value);
    return values;
  }
  std::vector<std::int64_t> steps(std::string_view name) const {
    std::vector<std::int64_t> steps;
    for (const auto& point : points_of(name)) steps.push_back(point.step);
    return steps;
  }
  std::vector<SeriesPoint> points_of(std::string_view name) const {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].name == name) return points[i];
    }
    return {};
  }

  std::vector<std::string> events;
  std::vector<std::string> marks;
  std::vector<SeriesKey> keys;
  std::vector<std::string> units;
  std::vector<std::vector<SeriesPoint>> points;
  std::string out;
  std::string error;
  int fail_after = -1;

 private:
  Result<void> outcome() {
    if (fail_after < 0 || appended_++ < fail_after) return {};
    return Error{.kind = ErrorKind::io, .message = "No space left on device"};
  }

  std::string id_ = "collected0";
  int appended_ = 0;
};

}  // namespace assay
