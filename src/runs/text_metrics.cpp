#include "runs/text_metrics.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <regex>

namespace assay {
namespace {

/// std::regex recurses once per character: longer lines are cut before a user's expression sees them.
constexpr std::size_t kLongestForExpression = 2048;

struct Spelling {
  std::string_view written;
  std::string_view metric;
};

constexpr std::array kSpellings = {
    Spelling{"loss", "loss"},
    Spelling{"train_loss", "loss"},
    Spelling{"train/loss", "loss"},
    Spelling{"training_loss", "loss"},
    Spelling{"val_loss", "val_loss"},
    Spelling{"valid_loss", "val_loss"},
    Spelling{"validation_loss", "val_loss"},
    Spelling{"eval_loss", "val_loss"},
    Spelling{"test_loss", "test_loss"},
    Spelling{"acc", "accuracy"},
    Spelling{"accuracy", "accuracy"},
    Spelling{"train_acc", "accuracy"},
    Spelling{"train_accuracy", "accuracy"},
    Spelling{"val_acc", "val_accuracy"},
    Spelling{"val_accuracy", "val_accuracy"},
    Spelling{"valid_acc", "val_accuracy"},
    Spelling{"eval_accuracy", "val_accuracy"},
    Spelling{"test_acc", "test_accuracy"},
    Spelling{"test_accuracy", "test_accuracy"},
    Spelling{"perplexity", "perplexity"},
    Spelling{"ppl", "perplexity"},
    Spelling{"val_perplexity", "val_perplexity"},
    Spelling{"val_ppl", "val_perplexity"},
    Spelling{"lr", "learning_rate"},
    Spelling{"learning_rate", "learning_rate"},
    Spelling{"grad_norm", "grad_norm"},
    Spelling{"samples_per_second", "samples_per_second"},
    Spelling{"samples/s", "samples_per_second"},
    Spelling{"samples/sec", "samples_per_second"},
    Spelling{"images/sec", "samples_per_second"},
    Spelling{"img/s", "samples_per_second"},
    Spelling{"tokens_per_second", "tokens_per_second"},
    Spelling{"tokens/s", "tokens_per_second"},
    Spelling{"tokens/sec", "tokens_per_second"},
    Spelling{"tok/s", "tokens_per_second"},
    Spelling{"throughput", "throughput"},
    Spelling{"step_seconds", "step_seconds"},
    Spelling{"step_time", "step_seconds"},
};

constexpr std::array<std::string_view, 5> kStepNames = {"step", "iter", "iteration", "global_step", "batch"};

bool is_name_character(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '_' || character == '/' || character == '.' ||
         character == '-';
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return (x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x) == y;
         });
}

std::string_view metric_for(std::string_view written) {
  for (const auto& spelling : kSpellings) {
    if (equal_ignoring_case(written, spelling.written)) return spelling.metric;
  }
  return {};
}

bool is_step_name(std::string_view written) {
  return std::any_of(kStepNames.begin(), kStepNames.end(),
                     [&](auto name) { return equal_ignoring_case(written, name); });
}

/// The number at the start of `text`: 0.12, -1e-3, nan, inf; `used` is its length.
std::optional<double> number_at(std::string_view text, std::size_t& used) {
  const std::size_t sign = !text.empty() && (text.front() == '+' || text.front() == '-') ? 1 : 0;
  if (text.size() == sign) return std::nullopt;
  double value = 0;
  const auto [end, code] = std::from_chars(text.data() + sign, text.data() + text.size(), value);
  if (code == std::errc::invalid_argument) return std::nullopt;
  if (code == std::errc::result_out_of_range) value = std::numeric_limits<double>::infinity();
  used = static_cast<std::size_t>(end - text.data());
  return text.front() == '-' ? -value : value;
}

std::string_view without_spaces(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t");
  return start == std::string_view::npos ? std::string_view{} : text.substr(start);
}

/// The number after a name: `=0.1`, `: 0.1`, ` = 0.1`; with `bare`, also ` 0.1`.
std::optional<double> number_after(std::string_view rest, bool bare, std::size_t& used) {
  std::string_view text = rest;
  // JSON and Python dictionaries put the name in quotes.
  if (!text.empty() && (text.front() == '"' || text.front() == '\'')) text.remove_prefix(1);
  text = without_spaces(text);
  const bool separated = !text.empty() && (text.front() == '=' || text.front() == ':');
  if (separated) {
    text = without_spaces(text.substr(1));
  } else if (!bare) {
    return std::nullopt;
  }
  std::size_t length = 0;
  const auto value = number_at(text, length);
  if (value) used = static_cast<std::size_t>(text.data() - rest.data()) + length;
  return value;
}

}  // namespace

struct TextMetrics::Compiled {
  struct Expression {
    std::string name;
    std::optional<std::regex> regex;  ///< absent: the plain name is looked for
  };
  std::vector<Expression> expressions;

  /// What the user defines replaces what is built in under the same name.
  bool defines(std::string_view name) const {
    return std::any_of(expressions.begin(), expressions.end(), [&](const Expression& one) { return one.name == name; });
  }
};

TextMetrics::TextMetrics(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
TextMetrics::TextMetrics(TextMetrics&&) noexcept = default;
TextMetrics& TextMetrics::operator=(TextMetrics&&) noexcept = default;
TextMetrics::~TextMetrics() = default;

Result<TextMetrics> TextMetrics::make(std::vector<MetricPattern> patterns) {
  auto compiled = std::make_unique<Compiled>();
  for (auto& pattern : patterns) {
    Compiled::Expression expression{.name = std::move(pattern.name)};
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
    compiled->expressions.push_back(std::move(expression));
  }
  return TextMetrics(std::move(compiled));
}

const TextMetrics::Line& TextMetrics::scan(std::string_view line) {
  line_.step.reset();
  line_.metrics.clear();

  std::size_t i = 0;
  while (i < line.size()) {
    if (!is_name_character(line[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < line.size() && is_name_character(line[end])) ++end;
    const std::string_view word = line.substr(i, end - i);
    std::size_t used = 0;
    if (is_step_name(word)) {
      if (const auto value = number_after(line.substr(end), true, used); value && *value >= 0 && *value < 9e15) {
        line_.step = static_cast<std::int64_t>(*value);
      }
    } else if (const auto metric = metric_for(word); !metric.empty() && !compiled_->defines(metric)) {
      if (const auto value = number_after(line.substr(end), false, used)) line_.metrics.push_back({metric, *value});
    } else {
      for (const auto& expression : compiled_->expressions) {
        if (expression.regex || word != expression.name) continue;
        if (const auto value = number_after(line.substr(end), true, used))
          line_.metrics.push_back({expression.name, *value});
      }
    }
    i = end + used;
  }

  for (const auto& expression : compiled_->expressions) {
    if (!expression.regex) continue;
    const std::string_view shortened = line.substr(0, kLongestForExpression);
    std::match_results<std::string_view::const_iterator> match;
    if (!std::regex_search(shortened.begin(), shortened.end(), match, *expression.regex)) continue;
    const std::string_view text(match[1].first, match[1].second);
    std::size_t used = 0;
    if (const auto value = number_at(text, used)) line_.metrics.push_back({expression.name, *value});
  }
  return line_;
}

}  // namespace assay
