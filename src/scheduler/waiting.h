#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace assay {

/// Why a job waits. The names are a contract: people and scripts see them.
enum class WaitReason {
  held,          ///< somebody holds it
  dependency,    ///< for the success of another job
  never,         ///< a job that it waits for did not succeed
  retry_delay,   ///< for its next attempt
  quota,         ///< its user has as much as is allowed
  no_such_node,  ///< no node that is up has what it needs
  set_aside,     ///< nodes are being emptied for it
  maintenance,   ///< where it has room it would run into one
  gpus_busy,     ///< others are first, or run
};
std::string_view name_of(WaitReason reason);

/// When a job will probably start, and where.
struct JobForecast {
  std::string job;
  std::vector<std::string> nodes;
  WallTime expected_start{};
  WallTime late_start{};  ///< if jobs take as long as they well may
};

struct WaitReport {
  WaitReason reason = WaitReason::gpus_busy;
  std::string sentence;                    ///< for people: "waits for the end of r-81"
  std::size_t ahead = 0;                   ///< jobs that come before it for the same nodes
  std::vector<std::string> nodes;          ///< where it will probably run, if that can be told
  std::optional<WallTime> expected_start;  ///< if it can be told
  std::optional<WallTime> late_start;      ///< if jobs take as long as they well may

  void expect(const JobForecast& forecast) {
    nodes = forecast.nodes;
    expected_start = forecast.expected_start;
    late_start = forecast.late_start;
  }
};

/// What would become of a job.
struct JobPreview {
  std::string never;                    ///< why it fits nowhere now; empty: it does
  std::optional<JobForecast> forecast;  ///< where it does
};

}  // namespace assay
