#include "doctor_view.h"

#include <fmt/format.h>

#include "base/text.h"
#include "report/text/table.h"

namespace assay {
namespace {

struct Check {
  std::string check;
  std::string level;
  std::string found;
  std::string remedy;
};

Colour colour_of(std::string_view level) {
  return level == "ok"        ? Colour::green
         : level == "problem" ? Colour::red
         : level == "warning" ? Colour::yellow
                              : Colour::dim;
}

Cell mark(const std::string& level, const TerminalStyle& style) {
  const auto text = level == "ok"        ? style.pick("✔", "+")
                    : level == "problem" ? style.pick("✘", "x")
                    : level == "warning" ? style.pick("⚑", "!")
                                         : style.pick("·", ".");
  return Cell(std::string(text), colour_of(level));
}

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

void print_findings(const Context& context, const json::array& list) {
  const TerminalStyle style = context.out_style();
  Table table({{""}, {"Check"}, {"Found", Align::left, true}});
  std::string remedies;
  std::size_t problems = 0;
  std::size_t warnings = 0;
  for (const auto& entry : list) {
    JsonFields fields(entry, "finding");
    const Check finding{.check = printable(fields.text("check")),
                        .level = fields.text("level"),
                        .found = printable(fields.text("found")),
                        .remedy = printable(fields.text_or("remedy", ""))};
    problems += finding.level == "problem" ? 1 : 0;
    warnings += finding.level == "warning" ? 1 : 0;
    table.add({mark(finding.level, style), finding.check, finding.found});
    if (finding.remedy.empty()) continue;
    const Colour colour = finding.level == "ok" ? Colour::dim : colour_of(finding.level);
    remedies += fmt::format("\n  {}\n    {}\n", style.paint(colour, finding.check), finding.remedy);
  }
  print("\n" + table.render(style) + remedies);
  print(problems > 0 ? fmt::format("\n  {}, {}: benchmarks would fail or be invalid here.\n\n",
                                   counted(problems, "problem"), counted(warnings, "warning"))
                     : fmt::format("\n  Ready: no problems, {}.\n\n", counted(warnings, "warning")));
}

}  // namespace assay
