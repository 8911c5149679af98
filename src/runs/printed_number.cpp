#include "runs/printed_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/ascii.h"

namespace assay {
namespace {

using Unit = PrintedNumber::Unit;

struct UnitWord {
  std::string_view word;
  Unit unit;
  double factor;
};

constexpr std::array kUnits = {
    UnitWord{"%", Unit::percent, 1},
    UnitWord{"s", Unit::time, 1},
    UnitWord{"sec", Unit::time, 1},
    UnitWord{"secs", Unit::time, 1},
    UnitWord{"second", Unit::time, 1},
    UnitWord{"seconds", Unit::time, 1},
    UnitWord{"ms", Unit::time, 1e-3},
    UnitWord{"msec", Unit::time, 1e-3},
    UnitWord{"us", Unit::time, 1e-6},
    UnitWord{"µs", Unit::time, 1e-6},
    UnitWord{"min", Unit::time, 60},
    UnitWord{"s/step", Unit::step_time, 1},
    UnitWord{"ms/step", Unit::step_time, 1e-3},
    UnitWord{"us/step", Unit::step_time, 1e-6},
    UnitWord{"ms/iter", Unit::step_time, 1e-3},
    UnitWord{"s/iter", Unit::step_time, 1},
    UnitWord{"tok/s", Unit::tokens_rate, 1},
    UnitWord{"tok/sec", Unit::tokens_rate, 1},
    UnitWord{"toks/s", Unit::tokens_rate, 1},
    UnitWord{"token/s", Unit::tokens_rate, 1},
    UnitWord{"tokens/s", Unit::tokens_rate, 1},
    UnitWord{"tokens/sec", Unit::tokens_rate, 1},
    UnitWord{"tokens/second", Unit::tokens_rate, 1},
    UnitWord{"sample/s", Unit::samples_rate, 1},
    UnitWord{"samples/s", Unit::samples_rate, 1},
    UnitWord{"samples/sec", Unit::samples_rate, 1},
    UnitWord{"samples/second", Unit::samples_rate, 1},
    UnitWord{"image/s", Unit::samples_rate, 1},
    UnitWord{"images/s", Unit::samples_rate, 1},
    UnitWord{"images/sec", Unit::samples_rate, 1},
    UnitWord{"images/second", Unit::samples_rate, 1},
    UnitWord{"img/s", Unit::samples_rate, 1},
    UnitWord{"img/sec", Unit::samples_rate, 1},
    UnitWord{"imgs/s", Unit::samples_rate, 1},
    UnitWord{"imgs/sec", Unit::samples_rate, 1},
    UnitWord{"examples/s", Unit::samples_rate, 1},
    UnitWord{"examples/sec", Unit::samples_rate, 1},
    UnitWord{"sequences/s", Unit::samples_rate, 1},
    UnitWord{"sequences/sec", Unit::samples_rate, 1},
    // Rates that no metric stands for; the number before them is a number all the same.
    UnitWord{"it/s", Unit::rate, 1},
    UnitWord{"s/it", Unit::rate, 1},
    UnitWord{"steps/s", Unit::rate, 1},
    UnitWord{"/s", Unit::rate, 1},
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

std::size_t digits_at(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  return count;
}

std::size_t blanks_at(std::string_view text) {
  std::size_t count = 0;
  while (count < text.size() && (text[count] == ' ' || text[count] == '\t')) ++count;
  return count;
}

/// The longest that a number is written: anything longer is none.
constexpr std::size_t kLongest = 64;

/// `nan`, `inf`, `infinity`, whatever the case of the letters.
std::optional<PrintedNumber> non_finite_at(std::string_view text) {
  for (const auto& [word, value] : {std::pair<std::string_view, double>{"infinity", HUGE_VAL},
                                    {"inf", HUGE_VAL},
                                    {"nan", std::numeric_limits<double>::quiet_NaN()}}) {
    if (!equal_ignoring_case(text.substr(0, word.size()), word)) continue;
    const std::string_view behind = text.substr(word.size());
    if (!behind.empty() && (is_letter(behind.front()) || is_digit(behind.front()) || behind.front() == '_')) continue;
    return PrintedNumber{.value = value, .used = word.size()};
  }
  return std::nullopt;
}

/// Digits in groups of three: the length of `1,234,567`, 0 if it is not written so. A leading 0 is no group: `0,250`.
std::size_t grouped_digits(std::string_view text) {
  std::size_t length = digits_at(text.substr(0, 4));
  if (length == 0 || length > 3 || text.front() == '0') return 0;
  std::size_t groups = 0;
  while (text.substr(length).starts_with(',') && digits_at(text.substr(length + 1, 4)) == 3) {
    length += 4;
    ++groups;
  }
  return groups == 0 ? 0 : length;
}

/// Sign, digits, point and exponent; `used` counts them.
std::optional<PrintedNumber> plain_number_at(std::string_view text) {
  text = text.substr(0, kLongest);
  const std::size_t sign = !text.empty() && (text.front() == '+' || text.front() == '-') ? 1 : 0;
  const std::string_view rest = text.substr(sign);
  PrintedNumber number;
  if (rest.empty()) return std::nullopt;
  if (is_letter(rest.front())) {
    const auto special = non_finite_at(rest);
    if (!special) return std::nullopt;
    number = *special;
  } else {
    if (!is_digit(rest.front()) && !(rest.front() == '.' && rest.size() > 1 && is_digit(rest[1]))) return std::nullopt;
    std::array<char, kLongest> digits;
    std::size_t length = 0;
    const std::size_t grouped = grouped_digits(rest);
    for (const char c : rest.substr(0, grouped)) {
      if (c != ',') digits[length++] = c;
    }
    for (const char c : rest.substr(grouped)) digits[length++] = c;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + length, number.value);
    if (code == std::errc::invalid_argument) return std::nullopt;
    const auto parsed = static_cast<std::size_t>(end - digits.data());
    const std::string_view written(digits.data(), parsed);
    number.whole = written.find_first_not_of("0123456789") == std::string_view::npos;
    if (code == std::errc::result_out_of_range) {
      const bool tiny = written.find("e-") != std::string_view::npos || written.find("E-") != std::string_view::npos;
      number.value = tiny ? 0 : HUGE_VAL;
    }
    number.used = parsed + static_cast<std::size_t>(
                               std::count(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(grouped), ','));
  }
  number.used += sign;
  if (text.front() == '-') number.value = -number.value;
  return number;
}

/// The word of a unit at the start of `text`: letters, `%`, `/`, and the two bytes of µ.
std::string_view unit_word_at(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && length < 16 &&
         (is_letter(text[length]) || text[length] == '/' || text.substr(length).starts_with("µ") ||
          (length > 0 && text[length - 1] == '\xc2' && text[length] == '\xb5'))) {
    ++length;
  }
  if (length == 0 && text.starts_with('%')) length = 1;
  return text.substr(0, length);
}

double scale_of(char letter) {
  switch (letter) {
    case 'k':
    case 'K': return 1e3;
    case 'M': return 1e6;
    case 'B':
    case 'G': return 1e9;
    case 'T': return 1e12;
    default: return 0;
  }
}

/// Takes what follows the digits without a blank: a unit or a power of ten. False if the number is part of a word.
bool take_suffix(std::string_view text, PrintedNumber& number) {
  const std::string_view rest = text.substr(number.used);
  if (rest.empty()) return true;
  const char next = rest.front();
  if (is_digit(next) || next == '_') return false;
  if (next == '.' && rest.size() > 1 && is_digit(rest[1])) return false;
  // A point that ends a sentence was taken for a decimal one.
  if (!is_letter(next) && next != '%' && next != '/' && next != '\xc2') return true;
  const std::string_view word = unit_word_at(rest);
  number.unit = unit_named(word, number.factor);
  if (number.unit != Unit::unknown) {
    number.used += word.size();
    return true;
  }
  number.unit = Unit::none;
  const double scale = scale_of(next);
  if (scale > 0 && word.size() == 1 && !(rest.size() > 1 && (is_digit(rest[1]) || rest[1] == '_'))) {
    number.value *= scale;
    number.whole = false;
    ++number.used;
    return true;
  }
  return next == '/' || next == '\xc2';
}

/// A unit behind a blank: `98.2 %`, `20 ms`, `3,200 tokens/s`.
void take_distant_unit(std::string_view text, PrintedNumber& number) {
  const std::string_view rest = text.substr(number.used);
  const std::size_t blanks = blanks_at(rest);
  if (blanks == 0 || blanks > 2) return;
  const std::string_view word = unit_word_at(rest.substr(blanks));
  const std::string_view behind = rest.substr(blanks + word.size());
  // `12.5 tokens/s=3200`: the word is the name of the next number.
  if (word.empty() || (!behind.empty() && (is_digit(behind.front()) ||
                                           std::string_view("_=:").find(behind.front()) != std::string_view::npos)))
    return;
  double factor = 1;
  const Unit unit = unit_named(word, factor);
  if (unit == Unit::unknown) return;
  number.unit = unit;
  number.factor = factor;
  number.used += blanks + word.size();
}

/// The other side of `9847/10000`, with blanks behind the stroke as some programs line their columns up.
void take_other_side(std::string_view text, PrintedNumber& number) {
  std::string_view rest = text.substr(number.used);
  if (!rest.starts_with('/')) return;
  const std::size_t blanks = blanks_at(rest.substr(1, 16));
  const auto other = plain_number_at(rest.substr(1 + blanks));
  if (!other || !other->whole) return;
  number.of = other->value;
  number.used += 1 + blanks + other->used;
}

/// `(7.02)` behind the number.
void take_average(std::string_view text, PrintedNumber& number) {
  std::string_view rest = text.substr(number.used);
  std::size_t skipped = blanks_at(rest.substr(0, 4));
  if (!rest.substr(skipped).starts_with('(')) return;
  ++skipped;
  skipped += blanks_at(rest.substr(skipped, 8));
  const auto average = plain_number_at(rest.substr(skipped));
  if (!average) return;
  skipped += average->used;
  skipped += blanks_at(rest.substr(skipped, 4));
  if (!rest.substr(skipped).starts_with(')')) return;
  number.average = average->value;
  number.used += skipped + 1;
}

/// How much of the text stands in front of the number without meaning anything: quotes, one bracket, `tensor(`.
std::size_t wrapping_at(std::string_view text) {
  if (!text.empty() && (text.front() == '"' || text.front() == '\'' || text.front() == '[')) return 1;
  for (const std::string_view word : {"tensor(", "array(", "np.float32(", "np.float64(", "np.float16("}) {
    if (text.starts_with(word)) return word.size();
  }
  return 0;
}

}  // namespace

PrintedNumber::Unit unit_named(std::string_view word, double& factor) {
  if (word.empty() || word.size() > 16) return Unit::unknown;
  const auto found = std::find_if(kUnits.begin(), kUnits.end(), [&](const UnitWord& known) {
    return lower(known.word.front()) == lower(word.front()) && equal_ignoring_case(known.word, word);
  });
  if (found == kUnits.end()) return Unit::unknown;
  factor = found->factor;
  return found->unit;
}

std::optional<PrintedNumber> printed_number_at(std::string_view text) {
  const std::size_t wrapping = wrapping_at(text);
  text.remove_prefix(wrapping);
  auto number = plain_number_at(text);
  if (!number || !take_suffix(text, *number)) return std::nullopt;
  if (number->unit == Unit::none) take_other_side(text, *number);
  if (number->unit == Unit::none && !number->of) {
    const std::string_view rest = text.substr(number->used);
    number->doubtful = rest.size() > 1 && rest.front() == ',' && is_digit(rest[1]) && number->whole;
    take_distant_unit(text, *number);
  }
  if (!number->of) take_average(text, *number);
  number->used += wrapping;
  return number;
}

}  // namespace assay
