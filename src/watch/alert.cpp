#include "watch/alert.h"

#include <array>
#include <limits>
#include <utility>

#include "watch/unknown.h"

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

Result<Alert> alert_from(const json::value& value) {
  JsonFields fields(value, "alert");
  Alert alert{.id = fields.text("id"),
              .rule = fields.text("rule"),
              .node = fields.text("node"),
              .about = fields.text_or("about", ""),
              .what = fields.text_or("what", ""),
              .remedy = fields.text_or("remedy", ""),
              .since = WallTime(Nanos(fields.integer("since_ns"))),
              .last_value = fields.number_or("last_value", kUnknown),
              .threshold = fields.number_or("threshold", kUnknown)};
  alert.worst_value = fields.number_or("worst_value", alert.last_value);
  const auto severity = severity_from(fields.text("severity"));
  if (!severity) fields.fail("severity", "is not info, warning or critical");
  alert.severity = severity.value_or(AlertSeverity::warning);
  const std::string state = fields.text_or("state", "open");
  if (state != "open" && state != "resolved") fields.fail("state", "is not open or resolved");
  alert.state = state == "resolved" ? AlertState::resolved : AlertState::open;
  if (fields.find("resolved_at_ns") != nullptr) {
    alert.resolved_at = WallTime(Nanos(fields.integer("resolved_at_ns")));
  }
  for (const auto& [name, number] : fields.object_or_empty("values")) {
    if (number.is_number()) alert.values[std::string(name)] = number.to_number<double>();
  }
  ASSAY_CHECK(fields.finish());
  return alert;
}

}  // namespace assay
