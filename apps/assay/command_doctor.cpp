#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

#include "base/version.h"
#include "commands.h"
#include "doctor_view.h"
#include "gpu_source.h"
#include "machine/doctor.h"
#include "run_services.h"
#include "telemetry/procfs/procfs_source.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

/// Reads every source of telemetry twice, as a run does: rates are there from the second time on.
TelemetrySurvey survey_telemetry() {
  constexpr auto kPatience = std::chrono::seconds(5);
  constexpr auto kBetween = std::chrono::milliseconds(200);
  std::vector<std::unique_ptr<MetricSource>> sources;
  sources.push_back(make_procfs_source({}));
  sources.push_back(make_host_details_source({}));
  if (has_nvidia_gpu()) sources.push_back(make_gpu_source());
  const SystemClock clock;
  // What goes wrong the first time goes wrong the second time, too.
  for (const auto& source : sources) std::ignore = source->read(clock.now() + kPatience);
  std::this_thread::sleep_for(kBetween);
  TelemetrySurvey survey;
  for (const auto& source : sources) {
    const auto reading = source->read(clock.now() + kPatience);
    if (!reading) {
      survey.failed.push_back(fmt::format("{}: {}", source->name(), reading.error().text()));
      continue;
    }
    survey.series += reading->samples.size();
    survey.missing.insert(survey.missing.end(), reading->missing.begin(), reading->missing.end());
  }
  return survey;
}

int doctor(const Context& context) {
  auto findings =
      examine(MachineView::real(), {.data_folder = context.data_folder(), .engine = find_programs().engine});
  findings.push_back(check_telemetry(survey_telemetry()));
  int problems = 0;
  int warnings = 0;
  json::array list;
  for (const auto& finding : findings) {
    problems += finding.level == DoctorFinding::Level::problem;
    warnings += finding.level == DoctorFinding::Level::warning;
    list.push_back(to_json(finding));
  }
  if (!context.json) print_findings(context, list);
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
