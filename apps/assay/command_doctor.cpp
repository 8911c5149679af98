#include <fmt/format.h>

#include "base/version.h"
#include "commands.h"
#include "machine/doctor.h"
#include "report/table.h"
#include "run_services.h"

namespace assay {
namespace {

Cell mark(DoctorFinding::Level level, const TerminalStyle& style) {
  switch (level) {
    case DoctorFinding::Level::ok: return Cell(std::string(style.pick("✔", "+")), Colour::green);
    case DoctorFinding::Level::note: return Cell(std::string(style.pick("·", ".")), Colour::dim);
    case DoctorFinding::Level::warning: return Cell(std::string(style.pick("⚑", "!")), Colour::yellow);
    case DoctorFinding::Level::problem: return Cell(std::string(style.pick("✘", "x")), Colour::red);
  }
  return Cell("");
}

int doctor(const Context& context) {
  const auto findings =
      examine(MachineView::real(), {.data_folder = context.data_folder(), .engine = find_programs().engine});
  int problems = 0;
  int warnings = 0;
  json::array list;
  for (const auto& finding : findings) {
    problems += finding.level == DoctorFinding::Level::problem;
    warnings += finding.level == DoctorFinding::Level::warning;
    list.push_back(to_json(finding));
  }
  if (!context.json) {
    const TerminalStyle style = context.out_style();
    Table table({{""}, {"Check"}, {"Found", Align::left, true}});
    for (const auto& finding : findings) table.add({mark(finding.level, style), finding.check, finding.found});
    print("\n" + table.render(style));
    for (const auto& finding : findings) {
      if (finding.remedy.empty()) continue;
      const Colour colour = finding.level == DoctorFinding::Level::problem   ? Colour::red
                            : finding.level == DoctorFinding::Level::warning ? Colour::yellow
                                                                             : Colour::dim;
      print(fmt::format("\n  {}\n    {}\n", style.paint(colour, finding.check), finding.remedy));
    }
    print(problems ? fmt::format("\n  {} problem{}, {} warning{}: benchmarks would fail or be invalid here.\n\n",
                                 problems, problems == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s")
                   : fmt::format("\n  Ready: no problems, {} warning{}.\n\n", warnings, warnings == 1 ? "" : "s"));
  }
  return context.answer(problems ? 3 : 0,
                        {{"problems", problems}, {"warnings", warnings}, {"findings", std::move(list)}}, nullptr);
}

}  // namespace

Action add_doctor(CLI::App& app, Context& context) {
  app.add_subcommand("doctor", "Check this machine before any benchmark")
      ->group("Machine")
      ->footer("\nEvery finding comes with a remedy. Exit code 3 if a benchmark would fail or be invalid here.");
  return [&context] { return doctor(context); };
}

Action add_version(CLI::App& app, Context& context) {
  app.add_subcommand("version", "Print the version")->group("Machine");
  return [&context] {
    if (!context.json) print(fmt::format("assay {} ({}, {})\n", version(), git_commit(), compiler()));
    return context.succeed({{"version", version()}, {"commit", git_commit()}, {"compiler", compiler()}});
  };
}

}  // namespace assay
