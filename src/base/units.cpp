#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/ascii.h"
#include "base/text.h"

namespace assay {
namespace {

__extension__ using Wide = unsigned __int128;

struct Unit {
  std::string_view name;
  std::int64_t scale;  ///< in the quantity's smallest unit
};

/// What people write instead of a unit, in lower case. Two meanings: we ask rather than guess.
struct Misspelling {
  std::string_view written;
  std::string_view meant;
  std::string_view or_meant;
};

/// Everything the reader and its messages need to know about one kind of quantity.
struct Quantity {
  std::string_view noun;
  std::string_view sample;               ///< a number for messages about text that has none
  std::array<std::string_view, 2> tips;  ///< the units that messages propose
  std::string_view unit_list;
  std::span<const Unit> units;
  std::span<const Misspelling> misspellings;
};

constexpr std::int64_t kMicro = 1000;
constexpr std::int64_t kMilli = 1000 * kMicro;
constexpr std::int64_t kSecond = 1000 * kMilli;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;

constexpr std::array kDurationUnits = {
    Unit{"ns", 1},           Unit{"us", kMicro}, Unit{"\u00B5s", kMicro},  // micro sign
    Unit{"\u03BCs", kMicro},                                               // Greek mu, which looks the same
    Unit{"ms", kMilli},      Unit{"s", kSecond}, Unit{"min", kMinute},    Unit{"h", kHour}, Unit{"d", kDay},
};
constexpr std::array kDurationMisspellings = {
    Misspelling{"m", "min", "ms"},        Misspelling{"sec", "s", ""},          Misspelling{"secs", "s", ""},
    Misspelling{"second", "s", ""},       Misspelling{"seconds", "s", ""},      Misspelling{"mins", "min", ""},
    Misspelling{"minute", "min", ""},     Misspelling{"minutes", "min", ""},    Misspelling{"hr", "h", ""},
    Misspelling{"hrs", "h", ""},          Misspelling{"hour", "h", ""},         Misspelling{"hours", "h", ""},
    Misspelling{"day", "d", ""},          Misspelling{"days", "d", ""},         Misspelling{"msec", "ms", ""},
    Misspelling{"millis", "ms", ""},      Misspelling{"millisecond", "ms", ""}, Misspelling{"milliseconds", "ms", ""},
    Misspelling{"usec", "us", ""},        Misspelling{"micros", "us", ""},      Misspelling{"microseconds", "us", ""},
    Misspelling{"nanoseconds", "ns", ""}, Misspelling{"nsec", "ns", ""},        Misspelling{"nanos", "ns", ""},
};
constexpr Quantity kDuration = {
    .noun = "duration",
    .sample = "10",
    .tips = {"s", "ms"},
    .unit_list = "ns, us, ms, s, min, h and d",
    .units = kDurationUnits,
    .misspellings = kDurationMisspellings,
};

constexpr std::int64_t kOne = 1;
constexpr std::array kByteUnits = {
    Unit{"B", 1},
    Unit{"kB", 1000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
    Unit{"KiB", kOne << 10},
    Unit{"MiB", kOne << 20},
    Unit{"GiB", kOne << 30},
    Unit{"TiB", kOne << 40},
};
constexpr std::array kByteMisspellings = {
    Misspelling{"k", "kB", "KiB"},      Misspelling{"kb", "kB", "KiB"},     Misspelling{"m", "MB", "MiB"},
    Misspelling{"g", "GB", "GiB"},      Misspelling{"t", "TB", "TiB"},      Misspelling{"ki", "KiB", ""},
    Misspelling{"mi", "MiB", ""},       Misspelling{"gi", "GiB", ""},       Misspelling{"ti", "TiB", ""},
    Misspelling{"byte", "B", ""},       Misspelling{"bytes", "B", ""},      Misspelling{"megabytes", "MB", ""},
    Misspelling{"gigabytes", "GB", ""}, Misspelling{"terabytes", "TB", ""},
};
constexpr Quantity kBytes = {
    .noun = "size",
    .sample = "24",
    .tips = {"GB", "GiB"},
    .unit_list = "B, kB, MB, GB, TB, KiB, MiB, GiB and TiB",
    .units = kByteUnits,
    .misspellings = kByteMisspellings,
};

// The scale of a rate: how many it makes in an hour.
constexpr std::array kRateUnits = {
    Unit{"/s", 3600}, Unit{"/min", 60}, Unit{"/h", 1}, Unit{"Hz", 3600}, Unit{"kHz", 3'600'000},
};
constexpr std::array kRateMisspellings = {
    Misspelling{"s", "/s", ""},          Misspelling{"/sec", "/s", ""},  Misspelling{"/second", "/s", ""},
    Misspelling{"req/s", "/s", ""},      Misspelling{"qps", "/s", ""},   Misspelling{"rps", "/s", ""},
    Misspelling{"requests/s", "/s", ""}, Misspelling{"/m", "/min", ""},  Misspelling{"min", "/min", ""},
    Misspelling{"/minute", "/min", ""},  Misspelling{"rpm", "/min", ""}, Misspelling{"h", "/h", ""},
    Misspelling{"/hour", "/h", ""},      Misspelling{"/hr", "/h", ""},
};
constexpr Quantity kRate = {
    .noun = "rate",
    .sample = "20",
    .tips = {"/s", "/min"},
    .unit_list = "/s, /min, /h, Hz and kHz",
    .units = kRateUnits,
    .misspellings = kRateMisspellings,
};

template <typename... Args>
Error rule(fmt::format_string<Args...> format, Args&&... args) {
  return Error{.kind = ErrorKind::bad_spec, .message = fmt::format(format, std::forward<Args>(args)...)};
}

std::size_t digits_at(std::string_view text, std::size_t from) {
  std::size_t end = from;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - from;
}

/// Takes `12`, `1.5`, `.5` or `1e-3` off the front; empty if there is no number.
std::string_view take_number(std::string_view& text) {
  std::size_t end = digits_at(text, 0);
  std::size_t digits = end;
  if (end < text.size() && text[end] == '.') {
    const std::size_t fraction = digits_at(text, end + 1);
    digits += fraction;
    end += 1 + fraction;
  }
  if (digits == 0) return {};
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    const std::size_t sign = end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+') ? 1 : 0;
    const std::size_t exponent = digits_at(text, end + 1 + sign);
    if (exponent > 0) end += 1 + sign + exponent;
  }
  const auto number = text.substr(0, end);
  text.remove_prefix(end);
  return number;
}

std::string_view skip_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

/// `1,5s` may be one and a half, `1,000s` may be a thousand: proposes what the commas can mean.
Error comma_error(std::string_view whole) {
  std::string without(whole);
  std::erase(without, ',');
  const auto comma = whole.find(',');
  if (whole.find(',', comma + 1) != std::string_view::npos) {
    return rule("has commas in its number. Write '{}'.", without);
  }
  std::string with_point(whole);
  with_point[comma] = '.';
  if (digits_at(whole, comma + 1) == 3) {
    return rule("has a comma in its number. Write '{}' or '{}'.", without, with_point);
  }
  return rule("has a comma in its number. Write '{}'.", with_point);
}

/// Takes the number off the front of a trimmed text, or says what stands there instead. `whole` is for messages.
Result<std::string_view> need_number(std::string_view& text, std::string_view whole, const Error& not_one) {
  if (text.starts_with('-') || text.starts_with("\u2212")) return rule("must not be negative.");
  const auto number = take_number(text);
  if (number.empty()) return not_one;
  if (text.size() > 1 && text[0] == ',' && is_digit(text[1])) return comma_error(whole);
  return number;
}

Error not_a(const Quantity& quantity) {
  return rule("is not a {0}. Write a number with a unit, like '{1}{2}' or '{1}{3}'.", quantity.noun, quantity.sample,
              quantity.tips[0], quantity.tips[1]);
}

Error unknown_unit(const Quantity& quantity, std::string_view number, std::string_view unit) {
  const std::string lower = lower_case(unit);
  for (const auto& [written, meant, or_meant] : quantity.misspellings) {
    if (written != lower) continue;
    if (or_meant.empty()) return rule("has the unknown unit '{}'. Did you mean '{}{}'?", unit, number, meant);
    return rule("has the ambiguous unit '{0}'. Write '{1}{2}' or '{1}{3}'.", unit, number, meant, or_meant);
  }
  std::vector<std::string> names;
  for (const auto& known : quantity.units) names.emplace_back(known.name);
  if (const auto meant = nearest(unit, names)) {
    return rule("has the unknown unit '{}'. Did you mean '{}{}'?", unit, number, *meant);
  }
  return rule("has the unknown unit '{}'. The units are {}.", unit, quantity.unit_list);
}

/// A number and its unit, as far as the text goes.
struct Part {
  std::string_view number;
  const Unit* unit = nullptr;
};

/// Takes one number with its unit off the front of `text`, the not yet read end of `whole`.
Result<Part> take_part(std::string_view& text, std::string_view whole, const Quantity& quantity) {
  ASSAY_TRY(const auto number, need_number(text, whole, not_a(quantity)));
  text = skip_blanks(text);
  const auto unit = text.substr(0, text.find_first_of("0123456789.,+- \t"));
  if (unit.empty()) {
    if (!text.empty()) return not_a(quantity);
    const std::string tail = number == whole ? "has" : fmt::format("ends with '{}', which has", number);
    return rule("{0} no unit. Write '{1}{2}' or '{1}{3}'.", tail, number, quantity.tips[0], quantity.tips[1]);
  }
  const auto known = std::find_if(quantity.units.begin(), quantity.units.end(),
                                  [&](const Unit& candidate) { return candidate.name == unit; });
  if (known == quantity.units.end()) return unknown_unit(quantity, number, unit);
  text = skip_blanks(text.substr(unit.size()));
  return Part{number, &*known};
}

/// Reads a text that is one number with one unit.
Result<Part> read_single(std::string_view text, const Quantity& quantity) {
  const auto whole = trim(text);
  auto rest = whole;
  ASSAY_TRY(const auto part, take_part(rest, whole, quantity));
  if (!rest.empty()) return not_a(quantity);
  return part;
}

struct Decimal {
  std::uint64_t mantissa = 0;
  int exponent = 0;  ///< the value is mantissa·10^exponent
};

/// What `take_number` took, exactly: `0.1s` must be 100,000,000 ns, not what a double makes of it.
Result<Decimal> decimal_of(std::string_view number) {
  constexpr std::uint64_t kRoom = std::numeric_limits<std::uint64_t>::max() / 10 - 1;
  Decimal decimal;
  bool fraction = false;
  std::size_t at = 0;
  for (; at < number.size() && number[at] != 'e' && number[at] != 'E'; ++at) {
    if (number[at] == '.') {
      fraction = true;
      continue;
    }
    if (decimal.mantissa > kRoom) return rule("has too many digits.");
    decimal.mantissa = decimal.mantissa * 10 + static_cast<std::uint64_t>(number[at] - '0');
    if (fraction) --decimal.exponent;
  }
  if (at < number.size()) {
    auto text = number.substr(at + 1);
    if (text.starts_with('+')) text.remove_prefix(1);
    int exponent = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    // Beyond this every non-zero value is out of range anyway.
    if (code != std::errc{} || exponent > 1000) exponent = text.starts_with('-') ? -1000 : 1000;
    decimal.exponent += std::max(exponent, -1000);
  }
  return decimal;
}

/// The part in the quantity's smallest unit, rounded to a whole number of it.
Result<std::int64_t> scaled(const Part& part, const Quantity& quantity, std::string_view largest) {
  ASSAY_TRY(const auto decimal, decimal_of(part.number));
  if (decimal.mantissa == 0) return 0;
  constexpr int kPowers = 38;  // 10^38 is the last power of ten below 2^128
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  Wide value = Wide{decimal.mantissa} * static_cast<Wide>(part.unit->scale);
  for (int i = 0; i < decimal.exponent && value <= kMost; ++i) value *= 10;
  if (decimal.exponent < 0) {
    Wide divisor = 1;
    for (int i = 0; i < std::min(-decimal.exponent, kPowers); ++i) divisor *= 10;
    value = (value + divisor / 2) / divisor;
  }
  if (value > kMost) return rule("is too large: the largest {} is {}.", quantity.noun, largest);
  if (value == 0) return rule("is too small: the smallest {} is 1{}.", quantity.noun, quantity.units.front().name);
  return static_cast<std::int64_t>(value);
}

constexpr std::string_view kLongestDuration = "106751d";
constexpr std::string_view kLargestSize = "8388607TiB";

Result<double> to_double(std::string_view number) {
  double value = 0;
  const auto [end, code] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (code != std::errc{}) return rule("is out of range.");
  return value;
}

bool is_currency(std::string_view text) {
  return text.size() == 3 && std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

Error unknown_currency(std::string_view written) {
  std::string upper(written);
  for (char& character : upper) {
    if (character >= 'a' && character <= 'z') character = static_cast<char>(character - 'a' + 'A');
  }
  if (is_currency(upper)) return rule("has the unknown currency '{}'. Did you mean '{}'?", written, upper);
  return rule("has the unknown currency '{}'. Write three capital letters, like 'USD' or 'EUR'.", written);
}

}  // namespace

Result<Nanos> parse_duration(std::string_view text) {
  const auto whole = trim(text);
  auto rest = whole;
  std::int64_t total = 0;
  std::int64_t previous_scale = std::numeric_limits<std::int64_t>::max();
  do {
    ASSAY_TRY(const auto part, take_part(rest, whole, kDuration));
    if (part.unit->scale >= previous_scale) {
      return rule("has its parts out of order. Write the larger unit first, like '1h30min'.");
    }
    previous_scale = part.unit->scale;
    ASSAY_TRY(const auto nanos, scaled(part, kDuration, kLongestDuration));
    if (__builtin_add_overflow(total, nanos, &total)) {
      return rule("is too large: the largest duration is {}.", kLongestDuration);
    }
  } while (!rest.empty());
  return Nanos(total);
}

Result<Bytes> parse_bytes(std::string_view text) {
  ASSAY_TRY(const auto part, read_single(text, kBytes));
  ASSAY_TRY(const auto count, scaled(part, kBytes, kLargestSize));
  return Bytes{count};
}

Result<double> parse_rate(std::string_view text) {
  ASSAY_TRY(const auto part, read_single(text, kRate));
  ASSAY_TRY(const auto number, to_double(part.number));
  // Multiplied and then divided: 90/min is 1.5 exactly.
  return number * static_cast<double>(part.unit->scale) / static_cast<double>(kRateUnits.front().scale);
}

Result<Price> parse_price(std::string_view text) {
  const auto whole = trim(text);
  auto rest = whole;
  ASSAY_TRY(const auto number,
            need_number(rest, whole, rule("is not a price. Write it like '0.60 USD/GPUh' or '0.60 USD/h'.")));
  ASSAY_TRY(const double amount, to_double(number));
  rest = trim(rest);
  if (rest.empty()) return rule("has no unit. Write '{0} USD/GPUh' or '{0} USD/h'.", number);
  const auto slash = rest.find('/');
  const auto currency = trim(rest.substr(0, slash));
  if (!is_currency(currency)) return unknown_currency(currency);
  if (slash == std::string_view::npos) {
    return rule("does not say for what. Write '{0} {1}/GPUh' or '{0} {1}/h'.", number, currency);
  }
  const auto per = trim(rest.substr(slash + 1));
  if (per == "GPUh" || per == "h") return Price{amount, std::string(currency), std::string(per)};
  const std::string lower = lower_case(per);
  const bool known = lower == "h" || lower == "hour" || lower == "hr" || lower.starts_with("gpu");
  if (!known) return rule("has the unknown unit '{}'. The units are GPUh and h.", per);
  return rule("has the unknown unit '{}'. Did you mean '{} {}/{}'?", per, number, currency,
              lower.starts_with("gpu") ? "GPUh" : "h");
}

}  // namespace assay
