#include <fmt/format.h>

#include <array>

#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

struct TokenMeasure {
  std::string_view key;    ///< as metrics have it: ttft_p99_seconds
  std::string_view title;  ///< of its chart
  TimeDistribution LoadProfile::* times;
};
constexpr std::array kTokenMeasures = {
    TokenMeasure{"ttft", "Time to the first token", &LoadProfile::first_token},
    TokenMeasure{"tpot", "Time per output token", &LoadProfile::per_output_token},
    TokenMeasure{"itl", "Time between tokens", &LoadProfile::inter_token},
};

/// None where the run did not measure it.
std::optional<std::vector<Figure>> token_times_row(const RecordedRun& one, const TokenMeasure& measure,
                                                   std::string_view name) {
  const Run& run = one.run;
  const auto figure = [&](std::string_view which) {
    return value_figure(metric_of(run, fmt::format("{}_{}_seconds", measure.key, which)), "s");
  };
  const auto mean = metric_of(run, fmt::format("mean_{}_seconds", measure.key));
  if (!mean && !metric_of(run, fmt::format("{}_p50_seconds", measure.key))) return std::nullopt;
  const TimeDistribution* times = one.load ? &(*one.load.*measure.times) : nullptr;
  return std::vector<Figure>{row_label(run),
                             Figure(std::string(verdict_name(run)), tone_of(run.verdict)),
                             std::string(name),
                             times ? count_figure(static_cast<double>(times->count)) : Figure(),
                             value_figure(mean, "s"),
                             figure("p50"),
                             figure("p90"),
                             figure("p99"),
                             figure("max")};
}

}  // namespace

std::optional<Section> token_times_section(const Answers& answers) {
  FigureTable table{
      .id = "token_times",
      .title = "",
      .columns = {{"run", "Run", "", Align::left, true},
                  {"verdict", "Verdict", "", Align::left, false},
                  {"measure", "Measure", "", Align::left, false},
                  {"count", "Count", "", Align::right, false},
                  {"mean_seconds", "Mean", "", Align::right, false},
                  {"p50_seconds", "p50", "", Align::right, false},
                  {"p90_seconds", "p90", "", Align::right, false},
                  {"p99_seconds", "p99", "", Align::right, false},
                  {"max_seconds", "Max", "", Align::right, false}},
      .notes = {"TTFT: from when a request was due to its first token. TPOT: (end − first token) / (tokens − 1), one "
                "value per request. ITL: every gap between two tokens; tokens that came together share theirs."}};
  for (const auto& one : answers.input.runs) {
    for (const auto& [measure, name] : {std::pair(&kTokenMeasures[0], "TTFT"), std::pair(&kTokenMeasures[1], "TPOT"),
                                        std::pair(&kTokenMeasures[2], "ITL")}) {
      if (auto row = token_times_row(one, *measure, name)) table.rows.push_back(std::move(*row));
    }
  }
  if (table.rows.empty()) return std::nullopt;
  drop_empty_columns(table);
  Section section{.blocks = {std::move(table)}};
  for (const auto& measure : kTokenMeasures) {
    auto chart =
        distribution_chart(answers.arms, measure.times, fmt::format("{}_cdf", measure.key), std::string(measure.title));
    if (!chart) continue;
    chart->in_terminal = false;
    section.blocks.emplace_back(std::move(*chart));
  }
  return section;
}

}  // namespace assay
