#pragma once

#include <optional>

#include "watch/watch_rules.h"

namespace assay {

struct TelemetryEvent;

/// What an event means for the alerts: which rule, and whether it raises or ends one.
struct EventMeaning {
  RuleId rule = RuleId::count;
  bool ends = false;
};

/// Nothing for events that no rule is about.
std::optional<EventMeaning> meaning_of(const TelemetryEvent& event);

}  // namespace assay
