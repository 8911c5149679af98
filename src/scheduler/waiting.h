#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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
  gpus_busy,     ///< others are first, or run
};
std::string_view name_of(WaitReason reason);

struct WaitReport {
  WaitReason reason = WaitReason::gpus_busy;
  std::string sentence;                    ///< for people: "waits for the end of r-81"
  std::size_t ahead = 0;                   ///< jobs that come before it for the same nodes
  std::optional<WallTime> expected_start;  ///< if it can be told
  std::optional<WallTime> late_start;      ///< if jobs take as long as they well may
};

/// When a job will probably start.
struct JobForecast {
  std::string job;
  WallTime expected_start{};
  WallTime late_start{};
};

}  // namespace assay
