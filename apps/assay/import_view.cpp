#include "import_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/build/report.h"
#include "report/document.h"
#include "report/render.h"
#include "report/text/style.h"

namespace assay {
namespace {

/// What follows from the runs: the flags are listed by themselves.
bool belongs_here(const Section& section) { return section.id != "issues" && section.id != "recommendations"; }

std::string outcome_text(const ImportedStudy& imported, ImportOutcome outcome) {
  switch (outcome) {
    case ImportOutcome::stored:
      return fmt::format("Stored as study {0}. The whole report: assay report {0} -o report.html", imported.study.id);
    case ImportOutcome::only_shown: return "Nothing was stored (--dry-run).";
    case ImportOutcome::already_there:
      return fmt::format("Already imported as study {}; --again stores it once more.", imported.study.id);
  }
  return "";
}

}  // namespace

Document report_on_import(const ImportedStudy& imported) {
  ReportInput input{.title = imported.study.name, .study = imported.study};
  for (const auto& one : imported.runs) {
    RecordedRun recorded{.run = one.run};
    // What was not stored has no id; its runs belong together all the same.
    if (recorded.run.study.empty()) recorded.run.study = "import";
    for (const auto& series : one.series) recorded.series.push_back({series.key, series.unit, series.points});
    input.runs.push_back(std::move(recorded));
  }
  return report_on(input);
}

void print_import(const Context& context, const ImportedStudy& imported, Document report, ImportOutcome outcome) {
  const TerminalStyle style = context.out_style();
  std::erase_if(report.sections, [](const Section& section) { return !belongs_here(section); });
  std::string out = render_terminal(report, style);
  const auto flags = all_flags(imported);
  if (!flags.empty()) out += "\n";
  for (const auto& flag : flags) {
    // On one line each: scripts count them.
    std::string message = printable(flag.message);
    std::replace(message.begin(), message.end(), '\n', ' ');
    out += fmt::format("  {} {}{}: {}\n", style.paint(Colour::yellow, style.pick("▲", "!")),
                       style.paint(Colour::yellow, flag.kind), flag.about.empty() ? "" : " " + printable(flag.about),
                       message);
  }
  print(out + fmt::format("\n  {}\n\n", style.paint(Colour::dim, outcome_text(imported, outcome))));
}

}  // namespace assay
