#include "store/run_query.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/age.h"
#include "base/text.h"
#include "base/units.h"
#include "model/run.h"

namespace assay {
namespace {

using Op = Condition::Op;

struct Field {
  std::string_view name;
  RunFieldKind kind;
};

constexpr std::array kFields = {
    Field{"id", RunFieldKind::text},           Field{"name", RunFieldKind::text},
    Field{"kind", RunFieldKind::text},         Field{"state", RunFieldKind::text},
    Field{"verdict", RunFieldKind::text},      Field{"study", RunFieldKind::text},
    Field{"variant", RunFieldKind::text},      Field{"host", RunFieldKind::text},
    Field{"tag", RunFieldKind::several},       Field{"created", RunFieldKind::time},
    Field{"duration", RunFieldKind::duration}, Field{"ranks", RunFieldKind::number},
    Field{"nodes", RunFieldKind::number},      Field{"node", RunFieldKind::several},
};

constexpr std::string_view kMetricPrefix = "metrics.";

struct Operator {
  std::string_view text;
  Op op;
};
// Longer spellings first: `<=` begins with `<`.
constexpr std::array kOperators = {
    Operator{"!=", Op::not_equal},   Operator{"<=", Op::less_equal}, Operator{">=", Op::greater_equal},
    Operator{"^=", Op::starts_with}, Operator{"=", Op::equal},       Operator{"<", Op::less},
    Operator{">", Op::greater},      Operator{"~", Op::contains},
};

bool is_order(Op op) { return op == Op::less || op == Op::less_equal || op == Op::greater || op == Op::greater_equal; }
bool is_text_search(Op op) { return op == Op::contains || op == Op::starts_with; }

bool is_space(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

Error mistake(std::string message) { return Error{.kind = ErrorKind::usage, .message = std::move(message)}; }

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const auto near = nearest(word, candidates);
  return near ? fmt::format(". Did you mean '{}'?", *near) : std::string();
}

Error unknown_field(std::string_view field) {
  std::vector<std::string> names;
  for (const auto& known : kFields) names.emplace_back(known.name);
  auto remedy = did_you_mean(field, names);
  if (remedy.empty()) remedy = fmt::format(". Fields are {} and metrics.NAME", join(names, ", "));
  return mistake(fmt::format("runs have no field '{}'{}", field, remedy));
}

struct Word {
  std::string text;
  std::size_t quoted_from = std::string::npos;  ///< where the quoted part begins: no operator is looked for after it
};

/// Splits at white space outside quotes and takes the quotes off.
Result<std::vector<Word>> split_words(std::string_view text) {
  std::vector<Word> words;
  bool inside = false;
  char quote = 0;
  for (const char character : text) {
    if (quote) {
      if (character == quote) {
        quote = 0;
      } else {
        words.back().text += character;
      }
      continue;
    }
    if (is_space(character)) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (character == '"' || character == '\'') {
      quote = character;
      words.back().quoted_from = std::min(words.back().quoted_from, words.back().text.size());
    } else {
      words.back().text += character;
    }
  }
  if (quote) return mistake(fmt::format("'{}': a quote {} is not closed", text, quote));
  return words;
}

bool has_operator(const Word& word) {
  const std::string_view open = std::string_view(word.text).substr(0, std::min(word.text.size(), word.quoted_from));
  return std::any_of(kOperators.begin(), kOperators.end(),
                     [&](const Operator& known) { return open.find(known.text) != std::string_view::npos; });
}

/// Names have blanks in them: a word without an operator belongs to the value before it.
std::vector<Word> join_values(std::vector<Word> words) {
  std::vector<Word> joined;
  for (auto& word : words) {
    const bool goes_on = !joined.empty() && has_operator(joined.back()) &&
                         joined.back().quoted_from == std::string::npos && !has_operator(word);
    if (goes_on) {
      joined.back().text += " " + word.text;
    } else {
      joined.push_back(std::move(word));
    }
  }
  return joined;
}

template <typename Enum, std::size_t Count>
Result<void> check_name(std::string_view field, std::string_view text, const std::array<Enum, Count>& values) {
  std::vector<std::string> names;
  for (const auto value : values) names.emplace_back(name_of(value));
  if (std::find(names.begin(), names.end(), text) != names.end()) return {};
  auto remedy = did_you_mean(text, names);
  if (remedy.empty()) remedy = fmt::format(". It is one of {}", join(names, ", "));
  return mistake(fmt::format("'{}' is no {}{}", text, field, remedy));
}

Result<void> check_text(const Condition& condition) {
  if (is_order(condition.op)) {
    return mistake(fmt::format("'{}' is text: use =, !=, ~ (contains) or ^= (starts with)", condition.field));
  }
  if (is_text_search(condition.op)) return {};
  if (condition.field == "verdict") {
    return check_name("verdict", condition.text,
                      std::array{Verdict::none, Verdict::valid, Verdict::flagged, Verdict::invalid, Verdict::failed,
                                 Verdict::interrupted});
  }
  if (condition.field == "state") {
    return check_name("state", condition.text, std::array{RunState::queued, RunState::running, RunState::ended});
  }
  return {};
}

Result<double> read_number(std::string_view text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size() || std::isnan(number)) {
    return mistake(fmt::format("'{}' is not a number", text));
  }
  return number;
}

Result<double> read_time(std::string_view text, WallTime now) {
  // A date alone is its first moment.
  const bool date_only = text.size() == 10 && text[4] == '-' && text[7] == '-';
  if (auto time = parse_iso8601(date_only ? std::string(text) + "T00:00:00Z" : std::string(text)); time.ok()) {
    return unix_seconds(*time);
  }
  if (auto age = parse_age(text); age.ok()) return unix_seconds(now - *age);
  return mistake(
      fmt::format("'{}' is neither a time nor an age. Write '2026-11-15', '2026-11-15T04:05:06Z' or '2d'", text));
}

Result<void> read_value(Condition& condition, RunFieldKind kind, WallTime now) {
  if (kind == RunFieldKind::text || kind == RunFieldKind::several) return check_text(condition);
  if (is_text_search(condition.op)) {
    return mistake(fmt::format("'{}' is a number: use =, !=, <, <=, > or >=", condition.field));
  }
  if (kind == RunFieldKind::time) {
    if (!is_order(condition.op)) return mistake("'created' is a moment: use <, <=, > or >=");
    ASSAY_TRY(condition.number, read_time(condition.text, now));
  } else if (kind == RunFieldKind::duration) {
    auto duration = parse_duration(condition.text);
    if (!duration.ok()) return mistake(fmt::format("'{}' {}", condition.text, duration.error().message));
    condition.number = seconds_of(*duration);
  } else {
    ASSAY_TRY(condition.number, read_number(condition.text));
  }
  return {};
}

Result<Condition> read_condition(const Word& word, WallTime now) {
  const std::string_view text = word.text;
  for (std::size_t at = 0; at < std::min(text.size(), word.quoted_from); ++at) {
    for (const auto& [spelling, op] : kOperators) {
      if (!text.substr(at).starts_with(spelling)) continue;
      Condition condition{
          .field = std::string(text.substr(0, at)), .op = op, .text = std::string(text.substr(at + spelling.size()))};
      if (condition.field == "last" && op == Op::equal) {
        condition.field = "created";
        condition.op = Op::greater_equal;
      }
      const auto kind = run_field_kind(condition.field);
      if (!kind) return unknown_field(condition.field);
      ASSAY_CHECK(read_value(condition, *kind, now));
      return condition;
    }
  }
  return mistake(fmt::format("'{}' is no condition. Write for example 'verdict=valid' or 'duration>10s'", text));
}

std::vector<std::string> nodes_of(const Placement& placement) {
  std::vector<std::string> nodes;
  if (!placement.node.empty()) nodes.push_back(placement.node);
  for (const auto& further : placement.further) nodes.push_back(further.node);
  return nodes;
}

}  // namespace

const std::vector<std::string>& values_of(const RunRow& row, std::string_view field) {
  return field == "tag" ? row.tags : row.on;
}

RunRow row_of(const Run& run) {
  return {.id = run.id,
          .name = run.name,
          .kind = run.kind,
          .state = run.state,
          .verdict = run.verdict,
          .tags = run.tags,
          .study = run.study,
          .variant = run.variant,
          .repeat = run.repeat,
          .ranks = run.ranks,
          .nodes = run.nodes,
          .host = run.provenance.hostname,
          .on = nodes_of(run.placement),
          .created = run.created,
          .started = run.started,
          .duration = run.duration,
          .metrics = run.metrics};
}

std::string text_of(const RunRow& row, std::string_view field) {
  if (field == "id") return row.id;
  if (field == "name") return row.name;
  if (field == "kind") return row.kind;
  if (field == "state") return std::string(name_of(row.state));
  if (field == "verdict") return std::string(name_of(row.verdict));
  if (field == "study") return row.study;
  if (field == "variant") return row.variant;
  return row.host;
}

std::optional<double> number_of(const RunRow& row, std::string_view field) {
  switch (*run_field_kind(field)) {
    case RunFieldKind::time: return unix_seconds(row.created);
    case RunFieldKind::duration: return seconds_of(row.duration);
    case RunFieldKind::number: return field == "ranks" ? row.ranks : row.nodes;
    default: break;
  }
  const auto metric = row.metrics.find(metric_of(field));
  if (metric == row.metrics.end() || std::isnan(metric->second)) return std::nullopt;
  return metric->second;
}

std::optional<RunFieldKind> run_field_kind(std::string_view field) {
  for (const auto& known : kFields) {
    if (known.name == field) return known.kind;
  }
  if (field.starts_with(kMetricPrefix) && field.size() > kMetricPrefix.size()) return RunFieldKind::metric;
  return std::nullopt;
}

std::string metric_of(std::string_view field) {
  ASSAY_ASSERT(field.starts_with(kMetricPrefix));
  return std::string(field.substr(kMetricPrefix.size()));
}

double unix_seconds(WallTime time) {
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(time).time_since_epoch().count();
  return static_cast<double>(milliseconds) / 1000;
}

Result<std::vector<Condition>> parse_conditions(std::string_view text, WallTime now) {
  ASSAY_TRY(auto split, split_words(text));
  const auto words = join_values(std::move(split));
  std::vector<Condition> conditions;
  std::vector<std::string> mistakes;
  for (const auto& word : words) {
    auto condition = read_condition(word, now);
    if (condition.ok()) {
      conditions.push_back(std::move(condition).value());
    } else {
      mistakes.push_back(condition.error().message);
    }
  }
  if (!mistakes.empty()) return mistake(join(mistakes, "\n"));
  return conditions;
}

Result<void> set_sort(RunQuery& query, std::string_view key) {
  const bool descending = key.starts_with('-');
  if (descending) key.remove_prefix(1);
  const auto kind = run_field_kind(key);
  if (!kind) return unknown_field(key);
  if (*kind == RunFieldKind::several) {
    return mistake(fmt::format("runs cannot be sorted by {}: a run may have several", key));
  }
  query.sort = key;
  query.descending = descending;
  return {};
}

}  // namespace assay
