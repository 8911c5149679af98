#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "spec/spec.h"

namespace assay {

/// More is surely a mistake in a sweep, and every run holds a copy of its settings.
constexpr std::size_t kMostRuns = 10000;
/// Bound on the copies: runs × settings of the largest.
constexpr std::size_t kMostExpandedBytes = std::size_t{64} << 20;

/// One combination of a row of the matrix and a point of the sweep.
struct Configuration {
  std::string name;                ///< "baseline", "shorter, batch_size=16"; empty without matrix and sweep
  json::object given;              ///< settings without defaults
  std::size_t variant = 0;         ///< row of the matrix, counted from 1; 0 is the baseline
  std::vector<std::size_t> point;  ///< for each axis of the sweep, which value
};

/// How many configurations, and how many runs in all, canonical settings ask for. Stops counting above kMostRuns.
std::size_t count_configurations(const json::object& given);
std::size_t count_runs(const json::object& given);
/// Length of the settings of the largest run as JSON, or somewhat more; defaults not counted.
std::size_t largest_run_bytes(const json::object& given);

/// Calls `visit` for the baseline and every variant × every combination of the sweep, the last axis fastest, until it
/// returns false.
void for_each_configuration(SpecKind kind, const json::object& given,
                            const std::function<bool(const Configuration&)>& visit);

}  // namespace assay
