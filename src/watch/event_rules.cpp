#include "watch/event_rules.h"

#include "telemetry/telemetry_event.h"
#include "watch/xid_catalogue.h"

namespace assay {
namespace {

/// The GPU has fallen off the bus.
constexpr double kXidOfLoss = 79;

}  // namespace

std::optional<EventMeaning> meaning_of(const TelemetryEvent& event) {
  if (event.kind == "gpu_lost") return EventMeaning{RuleId::gpu_lost, false};
  if (event.kind == "gpu_found") return EventMeaning{RuleId::gpu_lost, true};
  if (event.kind == "source_failing") return EventMeaning{RuleId::source_failing, false};
  if (event.kind == "source_recovered") return EventMeaning{RuleId::source_failing, true};
  if (event.kind == "ecc_uncorrected") return EventMeaning{RuleId::ecc_uncorrected, false};
  // Rows that were remapped are counted in the event; those that wait or could not be are what needs somebody.
  if (event.kind == "row_remap" && !event.values.contains("increase")) return EventMeaning{RuleId::row_remap, false};
  if (event.kind == "xid") {
    const auto number = event.values.find("xid");
    if (number == event.values.end()) return EventMeaning{RuleId::xid, false};
    // One thing that happened is one alert: the driver says it by this number, and soon by not listing the GPU.
    if (number->second == kXidOfLoss) return EventMeaning{RuleId::gpu_lost, false};
    const XidEntry* known = find_xid(number->second);
    if (known == nullptr || !known->of_program) return EventMeaning{RuleId::xid, false};
  }
  return std::nullopt;
}

}  // namespace assay
