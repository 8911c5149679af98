#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "store/journal/journal.h"

namespace assay {

/// Keeps everything a journal shows, for tests and for journals known to be small.
class JournalRecording final : public JournalVisitor {
 public:
  struct Event {
    WallTime time;
    std::string text;
  };
  struct Series {
    std::string unit;
    std::vector<SeriesPoint> points;
  };

  void on_event(WallTime time, std::string_view event) override { events.push_back({time, std::string(event)}); }
  void on_points(const SeriesKey& key, std::string_view unit, std::span<const SeriesPoint> points) override {
    auto& one = series[key];
    one.unit = unit;
    one.points.insert(one.points.end(), points.begin(), points.end());
  }
  void on_output(OutputStream stream, WallTime, std::string_view bytes) override { output[stream] += bytes; }
  void on_damage(std::string_view what) override { damage.emplace_back(what); }

  std::vector<double> values(const SeriesKey& key) const {
    std::vector<double> values;
    if (const auto found = series.find(key); found != series.end()) {
      for (const auto& point : found->second.points) values.push_back(point.value);
    }
    return values;
  }

  std::vector<Event> events;
  std::map<SeriesKey, Series> series;
  std::map<OutputStream, std::string> output;
  std::vector<std::string> damage;
};

}  // namespace assay
