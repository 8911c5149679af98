#include "report/build/sections.h"

namespace assay {

std::optional<Section> preflight_section(const Answers& answers) {
  const auto& checks = answers.input.preflight;
  if (checks.empty()) return std::nullopt;
  FigureTable table{.id = "preflight",
                    .columns = {{"host", "Host", "", Align::left, false},
                                {"check", "Check", "", Align::left, false},
                                {"level", "Level", "", Align::left, false},
                                {"found", "Found", "", Align::left, true}},
                    .notes = {"Looked at by `assay run` before the first run."}};
  for (const auto& check : checks) {
    const Tone tone = check.level == "problem"   ? Tone::bad
                      : check.level == "warning" ? Tone::warning
                      : check.level == "ok"      ? Tone::good
                                                 : Tone::muted;
    table.rows.push_back({check.host, check.check, Figure(check.level, tone), check.found});
  }
  return Section{.blocks = {std::move(table)}, .in_terminal = false};
}

}  // namespace assay
