#include "watch/event_rules.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

/// Mostly a fault of the program: graphics engine, page fault, a program that was stopped, its work removed.
constexpr std::array kXidsOfPrograms = {13.0, 31.0, 43.0, 45.0};

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
    const bool of_program = number != event.values.end() && std::find(kXidsOfPrograms.begin(), kXidsOfPrograms.end(),
                                                                      number->second) != kXidsOfPrograms.end();
    if (!of_program) return EventMeaning{RuleId::xid, false};
  }
  return std::nullopt;
}

}  // namespace assay
