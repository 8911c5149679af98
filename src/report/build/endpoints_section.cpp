#include <fmt/format.h>

#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {

std::optional<Section> endpoints_section(const Answers& answers) {
  FigureTable table{.id = "endpoints",
                    .title = "",
                    .columns = {{"run", "Run", "", Align::left, true},
                                {"endpoint", "Endpoint", "", Align::left, false},
                                {"requests", "Requests", "", Align::right, false},
                                {"share_percent", "Share", " %", Align::right, false},
                                {"failed", "Failed", "", Align::right, false},
                                {"mean_latency_seconds", "Mean latency", "", Align::right, false},
                                {"latency_p50_seconds", "p50", "", Align::right, false},
                                {"latency_p99_seconds", "p99", "", Align::right, false},
                                {"ttft_p50_seconds", "TTFT p50", "", Align::right, false},
                                {"ttft_p99_seconds", "TTFT p99", "", Align::right, false},
                                {"output_tokens", "Tokens out", "", Align::right, false}}};
  for (const auto& one : answers.input.runs) {
    if (!one.load || one.load->endpoints.size() < 2) continue;
    double all = 0;
    for (const auto& endpoint : one.load->endpoints) all += static_cast<double>(endpoint.requests);
    for (const auto& endpoint : one.load->endpoints) {
      const auto requests = static_cast<double>(endpoint.requests);
      const double failed = requests - static_cast<double>(endpoint.ok);
      table.rows.push_back({row_label(one.run), endpoint.address, count_figure(requests),
                            percent_figure(all > 0 ? std::optional(requests / all) : std::nullopt),
                            Figure(fmt::format("{:.0f}", failed), failed, failed > 0 ? Tone::bad : Tone::plain),
                            value_figure(endpoint.mean_latency_s, "s"), value_figure(endpoint.latency_p50_s, "s"),
                            value_figure(endpoint.latency_p99_s, "s"), value_figure(endpoint.ttft_p50_s, "s"),
                            value_figure(endpoint.ttft_p99_s, "s"),
                            count_figure(static_cast<double>(endpoint.output_tokens))});
    }
    if (one.load->endpoints_left_out > 0) {
      table.notes.push_back(
          fmt::format("{} had {} further endpoints.", row_label(one.run), one.load->endpoints_left_out));
    }
  }
  if (table.rows.empty()) return std::nullopt;
  drop_empty_columns(table);
  return Section{.blocks = {std::move(table)}};
}

}  // namespace assay
