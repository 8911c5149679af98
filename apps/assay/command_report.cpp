#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "commands.h"
#include "model/run_label.h"
#include "report/build/compare.h"
#include "report/build/gather.h"
#include "report/build/report.h"
#include "report/build/sections.h"
#include "report/chart/svg.h"
#include "report/chart/text_chart.h"
#include "report_output.h"
#include "store/run_store.h"

namespace assay {
namespace {

struct ReportCommand {
  std::vector<std::string> references;
  ReportArguments arguments;
};

int report(const Context& context, const ReportCommand& command) {
  auto options = report_options(command.arguments);
  if (!options) return context.fail(options.error());
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  const auto input = gather(**store, command.references, std::move(*options));
  if (!input) return context.fail(input.error());
  return write_document(context, command.arguments, report_on(*input));
}

int compare(const Context& context, const ReportCommand& command) {
  auto options = report_options(command.arguments);
  if (!options) return context.fail(options.error());
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  auto sides = gather_sides(**store, command.references);
  if (!sides) return context.fail(sides.error());
  if (auto chosen = choose_first(*sides, options->baseline); !chosen) return context.fail(chosen.error());
  return write_document(context, command.arguments, comparison_of(*sides, *options));
}

struct PlotCommand {
  std::vector<std::string> references;
  std::string metric;
  std::string chart;
  std::string svg;
};

/// Curves of one metric, a line for every run.
Result<ChartBlock> metric_chart(RunStore& store, const PlotCommand& command) {
  std::vector<std::string> ids;
  for (const auto& reference : command.references) {
    ASSAY_TRY(auto found, resolve_results(store, reference));
    ids.insert(ids.end(), found.runs.begin(), found.runs.end());
  }
  ASSAY_TRY(const auto runs, read_runs(store, ids, command.metric));
  std::vector<Arm> arms;
  std::vector<std::string> known;
  for (const auto& one : runs) {
    const Run& run = one.run;
    const std::string label = run_label(run.variant, run.repeat);
    Arm arm{.name = label.empty() ? fmt::format("{} {}", run.name, run.id) : label};
    (usable(run) ? arm.usable : arm.others).push_back(&one);
    arms.push_back(std::move(arm));
    for (const auto& series : run.series) known.push_back(series.name);
  }
  if (auto chart = curve_chart(arms, command.metric)) return std::move(*chart);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  if (std::binary_search(known.begin(), known.end(), command.metric)) {
    return Error{.kind = ErrorKind::not_found,
                 .message = fmt::format("no run that can be drawn has two points of '{}'", command.metric),
                 .hint = "`assay show RUN` has its value. Of runs that failed or are invalid nothing is drawn."};
  }
  const auto meant = nearest(command.metric, known);
  return Error{.kind = ErrorKind::not_found,
               .message = fmt::format("no run has a series '{}'.{}", command.metric,
                                      meant ? fmt::format(" Did you mean '{}'?", *meant) : ""),
               .hint = known.empty() ? "The runs have no series at all." : "They have: " + join(known, ", ")};
}

/// One of the charts of the report on these runs; the first where none is asked for.
Result<ChartBlock> report_chart(RunStore& store, const PlotCommand& command) {
  ASSAY_TRY(const auto input, gather(store, command.references));
  const Document document = report_on(input);
  std::vector<std::string> ids;
  for (const auto& section : document.sections) {
    for (const auto& block : section.blocks) {
      const auto* chart = std::get_if<ChartBlock>(&block);
      if (chart == nullptr) continue;
      if (command.chart.empty() || chart->id == command.chart) return *chart;
      ids.push_back(chart->id);
    }
  }
  return Error{
      .kind = ErrorKind::not_found,
      .message = command.chart.empty() ? "the report on these runs has no chart"
                                       : fmt::format("there is no chart '{}'", command.chart),
      .hint = ids.empty() ? "Plot a metric of theirs with --metric NAME." : "There are: " + join(ids, ", ") + "."};
}

int plot(const Context& context, const PlotCommand& command) {
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  const auto chart = command.metric.empty() ? report_chart(**store, command) : metric_chart(**store, command);
  if (!chart) return context.fail(chart.error());
  if (context.json) {
    return context.succeed(render_json({.title = chart->title, .sections = {{.id = "plot", .blocks = {*chart}}}}));
  }
  if (!command.svg.empty()) return write_output(context, command.svg, svg_file(*chart));
  print(text_chart(*chart, context.out_style()));
  return 0;
}

constexpr const char* kReferences = "Runs or studies: id, beginning of one, name, @last, tag:T, study:@last";

}  // namespace

Action add_report(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReportCommand>();
  auto* command = app.add_subcommand("report", "Turn recorded runs into an answer: table, Markdown, HTML, CSV, JSON")
                      ->group("Look");
  command->add_option("RUN", options->references, kReferences)->required();
  add_report_options(*command, options->arguments);
  command
      ->add_option("--job-samples", options->arguments.production_samples,
                   "Also price a production job of this many samples")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command->add_option("--job-nodes", options->arguments.production_nodes, "Nodes of that job")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->footer(R"(
Examples:
  assay report study:@last                             the newest study, in the terminal
  assay report scaling-guide -o scaling.html           one self-contained file, light and dark, printable
  assay report tag:4gpu --format md > report.md
  assay report scaling-guide --format csv --table scaling
  assay report llm-suite --price '0.60 USD/GPUh' --job-samples 10000
The rules behind issues and recommendations: docs/reference/report-rules.md)");
  return [&context, options] { return report(context, *options); };
}

Action add_compare(CLI::App& app, Context& context) {
  auto options = std::make_shared<ReportCommand>();
  auto* command =
      app.add_subcommand("compare", "Hold runs or groups of runs against each other, with significance")->group("Look");
  command
      ->add_option("SIDE", options->references,
                   "Sides: a run, tag:T or a study each; the first, or the one called baseline, is held against")
      ->required();
  add_report_options(*command, options->arguments);
  command->footer(R"(
Runs of one side are repeats of each other. With fewer than 5 on a side there is no verdict.
Which way a metric is better is known by its name, by `goals` in the specification, or by --higher and --lower.
Examples:
  assay compare @last-1 @last
  assay compare tag:before tag:after
  assay compare llm-diagnostic-suite                   the configurations of one study
  assay compare bench --baseline lr=0.01 --higher f1_score
  assay compare tag:1gpu tag:4gpu -o compare.html)");
  return [&context, options] { return compare(context, *options); };
}

Action add_plot(CLI::App& app, Context& context) {
  auto options = std::make_shared<PlotCommand>();
  auto* command =
      app.add_subcommand("plot", "Draw a metric or a chart of a report, in the terminal or as SVG")->group("Look");
  command->add_option("RUN", options->references, kReferences)->required();
  auto* metric =
      command->add_option("-m,--metric", options->metric, "Draw this metric over steps or time, a line for every run")
          ->type_name("NAME");
  command->add_option("--chart", options->chart, "Draw this chart of the report: speedup, efficiency, heat_map, …")
      ->type_name("ID")
      ->excludes(metric);
  command->add_option("--svg", options->svg, "Write an SVG file instead; - is standard output")->type_name("FILE");
  command->footer(R"(
Examples:
  assay plot @last --metric loss
  assay plot scaling-guide --chart speedup --svg speedup.svg
  assay plot tag:4gpu tag:8gpu -m samples_per_second)");
  return [&context, options] { return plot(context, *options); };
}

}  // namespace assay
