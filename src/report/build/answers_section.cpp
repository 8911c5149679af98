#include <fmt/format.h>

#include "base/text.h"
#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {
namespace {

/// "stop 90 %, length 10 %"
std::string reasons_text(const AnswerProfile& answers) {
  double all = 0;
  for (const auto& [reason, count] : answers.finish_reasons) all += static_cast<double>(count);
  std::vector<std::string> parts;
  for (const auto& [reason, count] : answers.finish_reasons) {
    parts.push_back(fmt::format("{} {}", reason, percent_text(static_cast<double>(count) / all)));
  }
  return join(parts, ", ");
}

/// Answers that ended at the limit of tokens that was asked for, of those whose end the server explained.
std::optional<double> cut_off(const AnswerProfile& answers) {
  double said = 0;
  double cut = 0;
  for (const auto& [reason, count] : answers.finish_reasons) {
    if (reason == "unknown") continue;
    said += static_cast<double>(count);
    if (reason == "length") cut += static_cast<double>(count);
  }
  return said > 0 ? std::optional(cut / said) : std::nullopt;
}

}  // namespace

std::optional<Section> answers_section(const Answers& answers) {
  FigureTable table{
      .id = "answers",
      .title = "",
      .columns = {{"run", "Run", "", Align::left, true},
                  {"answers", "Answers", "", Align::right, false},
                  {"fewest_tokens", "Tokens, fewest", "", Align::right, false},
                  {"mean_tokens", "mean", "", Align::right, false},
                  {"most_tokens", "most", "", Align::right, false},
                  {"empty", "Empty", "", Align::right, false},
                  {"cut_off_percent", "Cut off", " %", Align::right, false},
                  {"format_percent", "In format", " %", Align::right, false},
                  {"rouge_1", "ROUGE-1", "", Align::right, false},
                  {"rouge_2", "ROUGE-2", "", Align::right, false},
                  {"rouge_l", "ROUGE-L", "", Align::right, false},
                  {"finish_reasons", "Why they ended", "", Align::left, true}},
      .notes = {"Empty: the server answered without a token, which counts as failed. Cut off: ended at the number of "
                "tokens that was asked for, which is what loads of fixed length want."}};
  for (const auto& one : answers.input.runs) {
    if (!one.load || (one.load->answers.answers == 0 && one.load->answers.without_tokens == 0)) continue;
    const AnswerProfile& profile = one.load->answers;
    const auto empty = static_cast<double>(profile.without_tokens);
    const bool any = profile.answers > 0;
    table.rows.push_back(
        {row_label(one.run), count_figure(static_cast<double>(profile.answers)),
         any ? count_figure(profile.fewest_tokens) : Figure(), any ? fixed_figure(profile.mean_tokens, 1) : Figure(),
         any ? count_figure(profile.most_tokens) : Figure(),
         Figure(fmt::format("{:.0f}", empty), empty, empty > 0 ? Tone::bad : Tone::plain),
         percent_figure(cut_off(profile)), percent_figure(metric_of(one.run, "format_rate")),
         fixed_figure(metric_of(one.run, "rouge_1"), 3), fixed_figure(metric_of(one.run, "rouge_2"), 3),
         fixed_figure(metric_of(one.run, "rouge_l"), 3), reasons_text(profile)});
  }
  if (table.rows.empty()) return std::nullopt;
  drop_empty_columns(table);
  return Section{.blocks = {std::move(table)}};
}

}  // namespace assay
