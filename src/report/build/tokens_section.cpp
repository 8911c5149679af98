#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {

std::optional<Section> tokens_section(const Answers& answers) {
  FigureTable table{.id = "tokens",
                    .title = "",
                    .columns = {{"configuration", "Configuration", "", Align::left, true},
                                {"tokens_per_second", "Tokens/s", "", Align::right, false},
                                {"tokens_per_sample", "Tokens/sample", "", Align::right, false},
                                {"input_tokens", "In", "", Align::right, false},
                                {"output_tokens", "Out", "", Align::right, false},
                                {"tokens_done", "Tokens done", "", Align::right, false},
                                {"mfu_percent", "MFU", " %", Align::right, false}}};
  for (const auto& arm : answers.arms) {
    if (!arm.has_result()) continue;
    const auto rate = mean_metric(arm, "tokens_per_second");
    const auto out = mean_metric(arm, "mean_output_tokens");
    if (!rate && !out) continue;
    const auto in = mean_metric(arm, "mean_input_tokens");
    std::optional<double> per_sample = tokens_per_sample(arm.any());
    if (in && out) per_sample = *in + *out;
    table.rows.push_back({arm.name, token_rate_figure(rate),
                          fixed_figure(per_sample, per_sample && *per_sample < 100 ? 1 : 0), fixed_figure(in, 1),
                          fixed_figure(out, 1), count_figure(mean_metric(arm, "tokens_done")),
                          percent_figure(mean_metric(arm, "mfu"))});
  }
  if (table.rows.empty()) return std::nullopt;
  return Section{.blocks = {std::move(table)}, .in_terminal = false};
}

}  // namespace assay
