#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "model/alert_severity.h"

namespace assay {

enum class AlertState { open, resolved };
std::string_view name_of(AlertState state);
std::optional<AlertState> alert_state_from(std::string_view name);

/// Something that somebody should know. One per rule, node and thing at a time.
struct Alert {
  std::string id;
  std::string rule;
  AlertSeverity severity = AlertSeverity::warning;
  std::string node;    ///< empty: it is the leader's own
  std::string about;   ///< a GPU's UUID, where a file system is mounted, a source of telemetry; or empty: the node
  std::string what;    ///< one sentence with its values: while it is open as of the last minute, then how it ended
  std::string remedy;  ///< what to do
  WallTime since;
  double last_value = 0;                 ///< the newest, in the unit of the rule
  double worst_value = 0;                ///< since it was raised
  double threshold = 0;                  ///< NaN for rules without one
  std::map<std::string, double> values;  ///< what else was known when the sentence was made
  AlertState state = AlertState::open;
  std::optional<WallTime> resolved_at;
};

/// `{"id": …, "rule": …, "severity": "warning", "since_ns": …, …}`; what is not known is null.
json::value json_of(const Alert& alert);

/// An alert and what people did about it.
struct AlertRecord {
  Alert alert;
  std::optional<WallTime> acknowledged_at;
  std::string acknowledged_by;
  std::string note;
  bool silenced = false;  ///< a silence covers it now; not kept
  bool told = false;      ///< the outlets were told that it was raised
};
json::object to_json(const AlertRecord& record);

/// Alerts that nobody is told about for a while. Empty fields cover everything.
struct Silence {
  std::string id;
  std::string rule;
  std::string node;
  std::string about;
  WallTime until;
  std::string by;
  std::string reason;

  bool covers(const Alert& alert, WallTime now) const;
  bool operator==(const Silence&) const = default;
};

}  // namespace assay
