#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/metric.h"
#include "telemetry/reading.h"
#include "telemetry/resolution.h"

namespace assay {

/// Collects one reading. Units come from the table of metrics, and values are given to the resolution of theirs.
class ReadingBuilder {
 public:
  using Labels = std::map<std::string, std::string>;

  void add(std::string_view name, double value) { add(name, Labels(), value); }
  void add(std::string_view name, Labels labels, double value) {
    const auto* metric = find_metric(name);
    const std::string_view unit = metric != nullptr ? metric->unit : "";
    reading_.samples.push_back({.key = {.name = std::string(name), .labels = std::move(labels)},
                                .unit = std::string(unit),
                                .value = at_resolution(value, unit)});
  }
  void missing(std::string_view name) { reading_.missing.emplace_back(name); }
  void add_or_missing(std::string_view name, std::optional<double> value) { value ? add(name, *value) : missing(name); }

  bool empty() const { return reading_.samples.empty(); }
  Reading finish() { return std::move(reading_); }

 private:
  Reading reading_;
};

}  // namespace assay
