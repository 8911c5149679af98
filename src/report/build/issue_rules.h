#pragma once

#include <span>
#include <string>
#include <string_view>

#include "report/document.h"

namespace assay {

/// A rule that reports look for issues by; the table behind docs/reference/report-rules.md.
struct IssueRule {
  std::string_view name;
  Severity severity;
  std::string_view when;    ///< ends a sentence: "Found when …"
  std::string_view remedy;  ///< what to do, unless the run itself says better
};

/// The rule must be in the table.
const IssueRule& rule_called(std::string_view name);

/// docs/reference/report-rules.md, made from the same table.
std::string rule_reference();

/// The limits in the rules.
namespace limits {
constexpr double kLatencySpread = 0.05;
constexpr double kThroughputGap = 0.05;
constexpr double kUnevenShare = 0.10;
constexpr double kMemoryHeadroom = 0.70;
constexpr double kInputWait = 0.10;
constexpr double kThrottled = 0.01;
constexpr double kPowerCapped = 0.25;
constexpr double kLowUtilisation = 0.50;
constexpr double kNoisyRepeats = 0.05;
constexpr double kSetUpSeconds = 2.0;
constexpr double kHotGpu = 85.0;
constexpr std::size_t kRepeats = 5;
}  // namespace limits

}  // namespace assay
