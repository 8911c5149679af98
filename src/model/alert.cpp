#include "model/alert.h"

#include <array>
#include <utility>

namespace assay {
namespace {

constexpr std::array kSeverities = {
    std::pair{AlertSeverity::info, std::string_view("info")},
    std::pair{AlertSeverity::warning, std::string_view("warning")},
    std::pair{AlertSeverity::critical, std::string_view("critical")},
};

std::int64_t nanos_of(WallTime time) { return time.time_since_epoch().count(); }

}  // namespace

std::string_view name_of(AlertSeverity severity) {
  for (const auto& [known, name] : kSeverities) {
    if (known == severity) return name;
  }
  return "";
}

std::optional<AlertSeverity> severity_from(std::string_view name) {
  for (const auto& [severity, known] : kSeverities) {
    if (known == name) return severity;
  }
  return std::nullopt;
}

std::string_view name_of(AlertState state) { return state == AlertState::open ? "open" : "resolved"; }

std::optional<AlertState> alert_state_from(std::string_view name) {
  for (const AlertState state : {AlertState::open, AlertState::resolved}) {
    if (name == name_of(state)) return state;
  }
  return std::nullopt;
}

json::value json_of(const Alert& alert) {
  json::object values;
  for (const auto& [name, value] : alert.values) values[name] = finite(value);
  json::object object{
      {"id", alert.id},
      {"rule", alert.rule},
      {"severity", name_of(alert.severity)},
      {"state", name_of(alert.state)},
      {"node", alert.node},
      {"about", alert.about},
      {"what", alert.what},
      {"remedy", alert.remedy},
      {"since_ns", nanos_of(alert.since)},
      {"last_value", finite(alert.last_value)},
      {"worst_value", finite(alert.worst_value)},
      {"threshold", finite(alert.threshold)},
      {"values", std::move(values)},
  };
  if (alert.resolved_at) object["resolved_at_ns"] = nanos_of(*alert.resolved_at);
  return object;
}

json::object to_json(const AlertRecord& record) {
  json::object object = json_of(record.alert).as_object();
  object["acknowledged_at"] = record.acknowledged_at ? iso8601(*record.acknowledged_at) : "";
  object["acknowledged_by"] = record.acknowledged_by;
  object["note"] = record.note;
  object["silenced"] = record.silenced;
  object["told"] = record.told;
  return object;
}

bool Silence::covers(const Alert& alert, WallTime now) const {
  return now < until && (rule.empty() || rule == alert.rule) && (node.empty() || node == alert.node) &&
         (about.empty() || about == alert.about);
}

}  // namespace assay
