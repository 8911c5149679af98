#include "runs/text_scan.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/ascii.h"

namespace assay {
namespace {

using Unit = PrintedNumber::Unit;

constexpr std::string_view kPercentToShare = "percent → share";
constexpr std::string_view kFractionToShare = "correct/all → share";
constexpr std::string_view kMillisToSeconds = "ms → s";

constexpr std::array<bool, 256> kNameCharacters = [] {
  std::array<bool, 256> table{};
  for (std::size_t i = 0; i < 26; ++i) table['a' + i] = table['A' + i] = true;
  for (std::size_t i = 0; i < 10; ++i) table['0' + i] = true;
  for (const char c : {'_', '/', '.', '-', '@'}) table[static_cast<unsigned char>(c)] = true;
  return table;
}();
bool is_name_character(char c) { return kNameCharacters[static_cast<unsigned char>(c)]; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// More than any training has; their product fits into 64 bits.
constexpr double kMostSteps = 1e12;
constexpr double kMostEpochs = 1e6;

std::optional<std::int64_t> whole_number(const PrintedNumber& number, double most) {
  if (!number.whole || number.value < 0 || number.value > most || number.unit == Unit::percent) return std::nullopt;
  return static_cast<std::int64_t>(number.value);
}

TextMetrics::Counter counter_from(std::int64_t at, const PrintedNumber& number) {
  const double of = number.of.value_or(0);
  return {at, of > 0 && of <= kMostSteps ? static_cast<std::int64_t>(of) : 0};
}

bool equals_word(std::string_view word, std::string_view lower) {
  return word.size() == lower.size() && std::equal(word.begin(), word.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
         });
}

/// The digits at the start of `text`, if they are the number of a rank.
std::optional<int> rank_at(std::string_view text, std::size_t& used) {
  int rank = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + std::min<std::size_t>(text.size(), 6), rank);
  // Programs that run alone like to call themselves rank -1.
  if (code != std::errc() || rank < 0) return std::nullopt;
  used = static_cast<std::size_t>(end - text.data());
  return rank;
}

}  // namespace

bool TextMetrics::State::replaced(std::string_view name) const {
  return std::any_of(expressions.begin(), expressions.end(),
                     [&](const Expression& one) { return one.regex && one.name == name; });
}

void TextMetrics::State::add(std::string_view name, double value, std::string_view how) {
  const bool known =
      std::any_of(line.metrics.begin(), line.metrics.end(), [&](const Found& one) { return one.name == name; });
  if (!known) line.metrics.push_back({name, value, how});
}

void TextMetrics::State::doubt(std::string_view name, std::string_view why) {
  const bool known =
      std::any_of(line.doubts.begin(), line.doubts.end(), [&](const Doubt& one) { return one.name == name; });
  if (!known) line.doubts.push_back({name, why});
}

/// Under a name of the user's own a number stays what it is; only a percentage is a share everywhere.
void TextMetrics::State::add_own(std::string_view name, const PrintedNumber& number) {
  if (number.doubtful) return doubt(name, "a comma in the number could be a decimal point or begin another number");
  const bool percent = number.unit == Unit::percent;
  add(name, percent ? number.value / 100 : number.value, percent ? kPercentToShare : std::string_view{});
}

TextMetrics::Scan::Scan(State& state, std::string_view line) : state_(state), line_(state.line), text_(line) {
  line_.rank.reset();
  line_.step.reset();
  line_.batch.reset();
  line_.epoch.reset();
  line_.validation = line_.bar = false;
  line_.metrics.clear();
  line_.doubts.clear();
}

void TextMetrics::Scan::run() {
  take_rank();
  if (const std::size_t first = skip_blanks(text_, at_); text_.substr(first).starts_with("* "))
    scope_ = state_.last_split;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (is_letter(c)) {
      take_word();
    } else if (is_digit(c)) {
      take_number();
    } else if (c == '[' && !line_.rank && take_rank_label(at_) != at_) {
      at_ = text_.find(']', at_) == std::string_view::npos ? text_.size() : text_.find(']', at_);
      word_count_ = 0;
    } else {
      const bool single_blank = c == ' ' && at_ + 1 < text_.size() && text_[at_ + 1] != ' ';
      if (!single_blank) word_count_ = 0;
      ++at_;
    }
  }
  line_.validation = is_validation();
  if (!line_.metrics.empty()) state_.last_split = scope_;
}

/// The last character before `at` that is no blank; 0 at the beginning.
char TextMetrics::Scan::before(std::size_t at) const {
  while (at > 0 && is_blank(text_[at - 1])) --at;
  return at == 0 ? '\0' : text_[at - 1];
}

/// mpirun's `[1,2]<stdout>:`, or a label as `take_rank_label` knows them, at the beginning.
void TextMetrics::Scan::take_rank() {
  const std::size_t at = skip_blanks(text_, 0);
  if (text_.substr(at).starts_with('[') && at + 1 < text_.size() && is_digit(text_[at + 1])) {
    const std::string_view head = text_.substr(at, 24);
    const std::size_t comma = head.find(',');
    const std::size_t end = head.find("]<std");
    if (comma > end || end == std::string_view::npos) return;
    std::size_t used = 0;
    line_.rank = rank_at(text_.substr(at + comma + 1), used);
    at_ = std::min(text_.find('>', at), text_.size() - 1) + 1;
    return;
  }
  at_ = take_rank_label(at);
}

/// `[rank2]`, `[Rank 2]`, `rank 2:`, `(rank=2)`, torchrun's `[default2]:`. Returns where the text goes on.
std::size_t TextMetrics::Scan::take_rank_label(std::size_t start) {
  std::size_t at = start;
  const bool bracket = at < text_.size() && (text_[at] == '[' || text_[at] == '(');
  if (bracket) ++at;
  if (equals_word(text_.substr(at, 4), "rank")) {
    at += 4;
  } else if (bracket && text_.substr(at).starts_with("default")) {
    at += 7;
  } else {
    return start;
  }
  while (at < text_.size() && (text_[at] == ' ' || text_[at] == '=' || text_[at] == ':')) ++at;
  std::size_t used = 0;
  const auto rank = rank_at(text_.substr(std::min(at, text_.size())), used);
  const std::string_view behind = text_.substr(std::min(at + used, text_.size()));
  if (!rank || behind.empty()) return start;
  const std::string_view ends = bracket ? std::string_view("])/") : std::string_view(":]|,/ ");
  if (ends.find(behind.front()) == std::string_view::npos) return start;
  line_.rank = rank;
  return at + used;
}

std::optional<TextMetrics::Scan::Value> TextMetrics::Scan::value_after(std::size_t end) const {
  Value value;
  std::size_t at = end;
  // JSON and Python dictionaries put the name in quotes.
  if (at < text_.size() && (text_[at] == '"' || text_[at] == '\'')) ++at;
  const std::size_t behind_name = at;
  at = skip_blanks(text_, at);
  if (at < text_.size() && text_[at] == '(') {
    const std::size_t close = text_.substr(at, 24).find(')');
    if (close != std::string_view::npos) {
      const std::size_t next = skip_blanks(text_, at + close + 1);
      if (next < text_.size() && (text_[next] == ':' || text_[next] == '=')) {
        value.brackets = text_.substr(at + 1, close - 1);
        at = next;
      }
    }
  }
  value.separated = at < text_.size() && (text_[at] == ':' || text_[at] == '=');
  if (value.separated) {
    const char delimiter = text_[at];
    value.equals = delimiter == '=';
    at = skip_blanks(text_, at + 1);
    if (at < text_.size() && text_[at] == delimiter) return std::nullopt;
  } else if (at == behind_name) {
    return std::nullopt;
  }
  if (!value.separated && at < text_.size() && text_[at] == '[') return std::nullopt;
  // Most words are followed by another word, and few of those are `nan` or `inf`.
  const char first = at < text_.size() ? static_cast<char>(text_[at] | 0x20) : ' ';
  if (!value.separated && first >= 'a' && first <= 'z' && first != 'n' && first != 'i') return std::nullopt;
  const auto number = printed_number_at(text_.substr(at));
  if (!number) return std::nullopt;
  value.number = *number;
  value.used = at + number->used - end;
  return value;
}

void TextMetrics::Scan::take_word() {
  std::size_t end = at_;
  while (end < text_.size() && is_name_character(text_[end])) ++end;
  while (end > at_ + 1 && (text_[end - 1] == '.' || text_[end - 1] == '-' || text_[end - 1] == '/')) --end;
  const std::string_view word = text_.substr(at_, end - at_);
  at_ = end;
  if (word_count_ == words_.size()) {
    std::move(words_.begin() + 1, words_.end(), words_.begin());
    --word_count_;
  }
  words_[word_count_++] = word;
  if (const DataSplit split = split_named(word); split != DataSplit::none) scope_ = split;
  if (take_position(word, end)) return;
  const auto value = value_after(end);
  if (!value) {
    accuracy_of_ = accuracy_of_ || equals_word(word, "accuracy");
    return;
  }
  summary_ = summary_ || word == "train_runtime";
  if (take_own(word, *value)) {
    at_ = end + value->used;
    return;
  }
  auto key = text_key({words_.data(), word_count_}, value->equals);
  if (!key && accuracy_of_ && equals_word(word, "images") && value->separated) {
    key = TextKey{.measure = Measure::accuracy};
  }
  if (!key) return;
  take_metric(*key, *value);
  word_count_ = 0;
  at_ = end + value->used;
}

/// Steps, batches and epochs: `step 120`, `Step [100/600]`, `Epoch: [0][ 10/5005]`, `epoch=3`.
bool TextMetrics::Scan::take_position(std::string_view word, std::size_t end) {
  const Position position = position_named(word);
  if (position == Position::none) return false;
  std::size_t at = end;
  if (at < text_.size() && (text_[at] == '"' || text_[at] == '\'')) ++at;
  at = skip_blanks(text_, at);
  if (at < text_.size() && (text_[at] == ':' || text_[at] == '=')) at = skip_blanks(text_, at + 1);
  if (at < text_.size() && (text_[at] == '[' || text_[at] == '#' || text_[at] == '(')) at = skip_blanks(text_, at + 1);
  if (at == end) return false;  // `epoch_loss`, `step-size`: not a place
  const auto number = printed_number_at(text_.substr(std::min(at, text_.size())));
  if (!number || number->unit == Unit::time) return false;
  const auto whole = whole_number(*number, position == Position::epoch ? kMostEpochs : kMostSteps);
  if (position == Position::epoch) {
    if (whole) line_.epoch = whole;
    fraction_of_epoch_ = fraction_of_epoch_ || !whole;
  } else if (whole) {
    (position == Position::step ? line_.step : line_.batch) = counter_from(*whole, *number);
  }
  word_count_ = 0;
  at_ = at + number->used;
  return true;
}

bool TextMetrics::Scan::take_own(std::string_view word, const Value& value) {
  bool taken = false;
  for (const auto& expression : state_.expressions) {
    if (expression.regex || word != expression.name) continue;
    state_.add_own(expression.name, value.number);
    taken = true;
  }
  return taken;
}

/// A number without a name before it: where a progress bar stands, or a rate with its unit behind it.
void TextMetrics::Scan::take_number() {
  const std::size_t start = at_;
  const char previous = before(start);
  word_count_ = 0;
  const auto number = printed_number_at(text_.substr(start));
  if (!number) {
    while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
    return;
  }
  at_ = start + std::max<std::size_t>(number->used, 1);
  const bool in_word = start > 0 && is_name_character(text_[start - 1]);
  if (in_word) return;
  if (const auto whole = whole_number(*number, kMostSteps); whole && number->of) {
    const std::size_t next = skip_blanks(text_, at_);
    const char following = next < text_.size() ? text_[next] : '\0';
    const bool tqdm = previous == '|' && following == '[';
    const bool keras = previous == '\0' && (following == '[' || following == '\xe2');
    const bool in_brackets = previous == '[' && (line_.epoch || scope_ != DataSplit::none);
    line_.bar = line_.bar || tqdm || keras;
    if (tqdm || keras || in_brackets) line_.batch = counter_from(*whole, *number);
    return;
  }
  switch (number->unit) {
    case Unit::samples_rate: return take_rate({.measure = Measure::samples_per_second, .split = scope_}, *number);
    case Unit::tokens_rate: return take_rate({.measure = Measure::tokens_per_second, .split = scope_}, *number);
    case Unit::step_time:
      if (line_.bar && !state_.replaced("step_seconds") && !is_validation())
        state_.add("step_seconds", number->value * number->factor, number->factor < 1 ? kMillisToSeconds : "");
      return;
    default: return;
  }
}

void TextMetrics::Scan::take_metric(TextKey key, const Value& value) {
  PrintedNumber number = value.number;
  // A name and a number with nothing between them are prose unless the line is one of a training.
  if (!value.separated && !key.percent && !number.average && !is_progress()) return;
  if (key.measure == Measure::data_seconds && !number.average && !value.separated) return;
  if (has_splits(key.measure)) {
    if (key.split == DataSplit::none) key.split = scope_;
    training_ = training_ || key.split == DataSplit::none || key.split == DataSplit::train;
  }
  double factor = 1;
  bool percent = key.percent;
  if (!value.brackets.empty()) {
    const Unit unit = unit_named(value.brackets, factor);
    const DataSplit split = split_named(value.brackets);
    if (unit == Unit::percent) percent = true;
    if (unit == Unit::time) {
      key.unit = unit;
      key.factor = factor;
    }
    if (split != DataSplit::none) key.split = split;
  }
  if (summary_ && key.measure == Measure::loss) return;
  if (key.measure == Measure::time || key.measure == Measure::step_seconds || key.measure == Measure::data_seconds ||
      key.measure == Measure::seconds_per_epoch)
    return take_time(key, number);
  const std::string_view name = metric_name(key);
  if (name.empty() || state_.replaced(name)) return;
  if (number.doubtful)
    return state_.doubt(name, "a comma in the number could be a decimal point or begin another number");
  const bool evaluated = key.split == DataSplit::val || key.split == DataSplit::test;
  // A running average over an evaluation comes to its result; the value beside it is that of one batch.
  if (number.average && evaluated) number.value = *number.average;
  if (is_share(key.measure)) return take_share(key, name, number, percent);
  if (!has_splits(key.measure) && key.measure != Measure::learning_rate && key.measure != Measure::grad_norm)
    return take_rate(key, number);
  if (number.unit != Unit::none || number.of) return;
  state_.add(name, number.value, {});
}

void TextMetrics::Scan::take_share(const TextKey& key, std::string_view name, const PrintedNumber& number,
                                   bool percent) {
  constexpr std::string_view kImpossible = "a share of the data cannot be below 0 or above 100 %";
  if (number.of) {
    if (number.value < 0 || *number.of <= 0 || number.value > *number.of) return state_.doubt(name, kImpossible);
    return state_.add(name, number.value / *number.of, kFractionToShare);
  }
  if (number.unit != Unit::none && number.unit != Unit::percent) return;
  if (!std::isfinite(number.value)) return state_.add(name, number.value, {});
  if (number.value < 0 || number.value > 100) {
    // Before it has measured anything, nanoGPT prints an mfu of -100 %.
    if (key.measure != Measure::mfu) state_.doubt(name, kImpossible);
    return;
  }
  percent = percent || number.unit == Unit::percent;
  if (!percent && number.value != 0) {
    // Without a sign a value above 1 can only be percent, and a program that writes 35.5 writes 0.5 % as 0.5, too.
    State::Habit& habit = state_.habits[name];
    const bool above = number.value > 1;
    if (above ? habit.up_to_1 : habit.above_1)
      state_.doubt(name, "without a percent sign some values are up to 1 and some above, which can only be percent");
    (above ? habit.above_1 : habit.up_to_1) = true;
    percent = habit.above_1;
  }
  state_.add(name, percent ? number.value / 100 : number.value, percent ? kPercentToShare : std::string_view{});
}

void TextMetrics::Scan::take_time(const TextKey& key, const PrintedNumber& number) {
  if (key.split == DataSplit::val || key.split == DataSplit::test || key.best || number.of || number.doubtful) return;
  if (is_validation()) return;
  const bool has_unit = number.unit == Unit::time;
  if (!has_unit && number.unit != Unit::none) return;
  std::string_view name = metric_name(key);
  if (key.measure == Measure::time) {
    // Without a unit only a meter of a running average is known to count seconds.
    if (!has_unit && key.unit != Unit::time && !number.average) return;
    if (line_.step || line_.batch) {
      name = "step_seconds";
    } else if (line_.epoch) {
      name = "seconds_per_epoch";
    }
  }
  if (name.empty() || state_.replaced(name)) return;
  const double factor = has_unit ? number.factor : key.unit == Unit::time ? key.factor : 1;
  state_.add(name, number.value * factor, factor == 1e-3 ? kMillisToSeconds : std::string_view{});
}

void TextMetrics::Scan::take_rate(const TextKey& key, const PrintedNumber& number) {
  if (number.unit == Unit::percent || number.unit == Unit::time || number.of || number.doubtful) return;
  TextKey known = key;
  if (number.unit == Unit::samples_rate) known.measure = Measure::samples_per_second;
  if (number.unit == Unit::tokens_rate) known.measure = Measure::tokens_per_second;
  const std::string_view name = metric_name(known);
  if (!name.empty() && !state_.replaced(name)) state_.add(name, number.value, {});
}

}  // namespace assay
