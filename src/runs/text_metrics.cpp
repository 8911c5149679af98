#include "runs/text_metrics.h"

#include <fmt/format.h>

#include <regex>

#include "base/text.h"
#include "runs/text_scan.h"

namespace assay {
namespace {

/// std::regex recurses once per character: longer lines are cut before a user's expression sees them.
constexpr std::size_t kLongestForExpression = 2048;

}  // namespace

TextMetrics::TextMetrics(std::unique_ptr<State> state) : state_(std::move(state)) {}
TextMetrics::TextMetrics(TextMetrics&&) noexcept = default;
TextMetrics& TextMetrics::operator=(TextMetrics&&) noexcept = default;
TextMetrics::~TextMetrics() = default;

Result<TextMetrics> TextMetrics::make(std::vector<MetricPattern> patterns) {
  auto state = std::make_unique<State>();
  for (auto& pattern : patterns) {
    State::Expression expression{.name = std::move(pattern.name)};
    if (!pattern.expression.empty()) {
      try {
        expression.regex.emplace(pattern.expression, std::regex::ECMAScript | std::regex::optimize);
      } catch (const std::regex_error& problem) {
        return Error{.kind = ErrorKind::usage,
                     .message = fmt::format("the expression '{}' for the metric '{}' is not a regular expression: {}",
                                            pattern.expression, expression.name, problem.what())};
      }
      if (expression.regex->mark_count() != 1) {
        return Error{.kind = ErrorKind::usage,
                     .message = fmt::format(
                         "the expression '{}' for the metric '{}' needs exactly one group (…) around the number",
                         pattern.expression, expression.name),
                     .hint = fmt::format("For example: {}=took ([0-9.]+) ms", expression.name)};
      }
    }
    state->expressions.push_back(std::move(expression));
  }
  return TextMetrics(std::move(state));
}

json::object TextMetrics::state() const {
  json::object habits;
  for (const auto& [name, habit] : state_->habits) habits[name] = json::array{habit.above_1, habit.up_to_1};
  return {{"split", static_cast<int>(state_->last_split)}, {"habits", std::move(habits)}};
}

void TextMetrics::restore(const json::object& state) {
  const json::value whole(state);
  JsonFields fields(whole, "text_metrics");
  const auto split = fields.integer_or("split", 0);
  if (split >= 0 && split <= static_cast<int>(DataSplit::test)) state_->last_split = static_cast<DataSplit>(split);
  for (const auto& member : fields.object_or_empty("habits")) {
    const auto* pair = member.value().if_array();
    if (!pair || pair->size() != 2) continue;
    const std::string_view name = *state_->names.emplace(member.key()).first;
    state_->habits[name] = {.above_1 = (*pair)[0] == true, .up_to_1 = (*pair)[1] == true};
  }
}

const TextMetrics::Line& TextMetrics::scan(std::string_view line) {
  // Colours would stand between a name and its number.
  if (line.find('\x1b') != std::string_view::npos) {
    state_->plain = printable(line);
    line = state_->plain;
  }
  Scan(*state_, line).run();
  for (const auto& expression : state_->expressions) {
    if (!expression.regex) continue;
    const std::string_view shortened = line.substr(0, kLongestForExpression);
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(shortened.begin(), shortened.end(), match, *expression.regex)) continue;
    const auto number = printed_number_at(std::string_view(match[1].first, match[1].second));
    if (number) state_->add_own(expression.name, *number);
  }
  return state_->line;
}

}  // namespace assay
