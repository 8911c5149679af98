#include <fmt/format.h>

#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {

std::optional<Section> clients_section(const Answers& answers) {
  FigureTable table{.id = "clients",
                    .title = "",
                    .columns = {{"run", "Run", "", Align::left, true},
                                {"client", "Client", "", Align::left, false},
                                {"requests", "Requests", "", Align::right, false},
                                {"failed", "Failed", "", Align::right, false},
                                {"lost", "Lost", "", Align::right, false},
                                {"lateness_p99_seconds", "Late, p99", "", Align::right, false},
                                {"waited_percent", "Waited for a CPU", " %", Align::right, false},
                                {"clock_bound_seconds", "Clock known to", "", Align::right, false}}};
  for (const auto& one : answers.input.runs) {
    if (!one.load) continue;
    for (const auto& client : one.load->clients) {
      const auto requests = static_cast<double>(client.requests);
      const double failed = requests - static_cast<double>(client.ok);
      const auto lost = static_cast<double>(client.lost);
      const auto tone = [](double count) { return count > 0 ? Tone::bad : Tone::plain; };
      table.rows.push_back({row_label(one.run), client.name, count_figure(requests),
                            Figure(fmt::format("{:.0f}", failed), failed, tone(failed)),
                            Figure(fmt::format("{:.0f}", lost), lost, tone(lost)),
                            value_figure(client.lateness_p99_s, "s"), percent_figure(client.waited_share),
                            value_figure(client.clock_bound_s, "s")});
      if (client.lost_reason.empty()) continue;
      table.notes.push_back(fmt::format("{}: {} was lost: {}.", row_label(one.run), client.name, client.lost_reason));
    }
  }
  if (table.rows.empty()) return std::nullopt;
  drop_empty_columns(table);
  return Section{.blocks = {std::move(table)}};
}

}  // namespace assay
