#include "importers/text/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/ascii.h"
#include "base/text.h"

namespace assay {
namespace {

/// Room for the last bits that arithmetic in binary loses against the same in decimal.
constexpr double kSlack = 1e-9;
constexpr std::int64_t kLargestCount = std::int64_t{1} << 53;

std::size_t digits_at(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  return digits;
}

/// Half of the last digit of a number written as `text`.
double half_unit_of(std::string_view text) {
  int decimals = 0;
  bool behind_point = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      behind_point = true;
    } else if ((text[i] | 0x20) == 'e') {
      int exponent = 0;
      const std::size_t sign = text.substr(i + 1).starts_with('+') ? 1 : 0;
      std::from_chars(text.data() + i + 1 + sign, text.data() + text.size(), exponent);
      decimals -= std::clamp(exponent, -1000, 1000);
      break;
    } else if (behind_point) {
      ++decimals;
    }
  }
  // Nearly every figure has a handful of decimals; pow would take as long as all the rest.
  static constexpr std::array<double, 8> kHalfUnits = {0.5, 0.05, 0.005, 5e-4, 5e-5, 5e-6, 5e-7, 5e-8};
  if (decimals >= 0 && decimals < static_cast<int>(kHalfUnits.size()))
    return kHalfUnits[static_cast<std::size_t>(decimals)];
  return 0.5 * std::pow(10.0, -decimals);
}

}  // namespace

FigureRange range_of(const Stated& figure) {
  return {figure.value - figure.half_unit, figure.value + figure.half_unit};
}

FigureRange operator+(const FigureRange& a, const FigureRange& b) { return {a.low + b.low, a.high + b.high}; }
FigureRange operator*(const FigureRange& a, const FigureRange& b) { return {a.low * b.low, a.high * b.high}; }

FigureRange operator/(const FigureRange& a, const FigureRange& b) {
  constexpr double kOpen = std::numeric_limits<double>::infinity();
  return {b.high > 0 ? a.low / b.high : 0, b.low > 0 ? a.high / b.low : kOpen};
}

bool agree(const FigureRange& stated, const FigureRange& computed) {
  const double slack = kSlack * std::max({std::abs(stated.low), std::abs(stated.high), std::abs(computed.low)});
  return stated.low <= computed.high + slack && computed.low <= stated.high + slack;
}

std::optional<Stated> number_at(std::string_view text, std::size_t& used) {
  const std::size_t sign = !text.empty() && (text.front() == '+' || text.front() == '-') ? 1 : 0;
  // from_chars takes "infinity" and "nan(…)" as well; a word such as "information" must not pass for a number.
  if (text.size() == sign || (!is_digit(text[sign]) && text[sign] != '.')) {
    const std::string word = lower_case(text.substr(sign, 3));
    const bool not_a_number = word == "nan";
    if (!not_a_number && word != "inf") return std::nullopt;
    used = sign + 3;
    if (!not_a_number && lower_case(text.substr(sign, 8)) == "infinity") used = sign + 8;
    if (used < text.size() && ((text[used] | 0x20) >= 'a' && (text[used] | 0x20) <= 'z')) return std::nullopt;
    const double value = not_a_number ? std::nan("") : std::numeric_limits<double>::infinity();
    return Stated{text.front() == '-' ? -value : value, 0};
  }
  double value = 0;
  const auto [end, code] = std::from_chars(text.data() + sign, text.data() + text.size(), value);
  if (code == std::errc::invalid_argument) return std::nullopt;
  used = static_cast<std::size_t>(end - text.data());
  const std::string_view written = text.substr(sign, used - sign);
  if (code == std::errc::result_out_of_range) {
    const std::size_t exponent = written.find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos && written.substr(exponent + 1).starts_with('-');
    value = tiny ? 0 : std::numeric_limits<double>::infinity();
  }
  return Stated{text.front() == '-' ? -value : value, half_unit_of(written)};
}

std::optional<Stated> sole_number(std::string_view text) {
  text = trim(text);
  std::size_t used = 0;
  const auto number = number_at(text, used);
  if (!number || used != text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> count_at(std::string_view text, std::size_t& used) {
  std::int64_t count = 0;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    if (is_digit(text[i])) {
      count = count * 10 + (text[i] - '0');
      if (count > kLargestCount) return std::nullopt;
      continue;
    }
    if (i == 0 || text[i] != ',' || digits_at(text.substr(i + 1, 4)) != 3) break;
  }
  if (i == 0) return std::nullopt;
  used = i;
  return count;
}

Stated stated_from(double value) {
  std::array<char, 32> text;
  const auto [end, code] = std::to_chars(text.data(), text.data() + text.size(), value);
  std::size_t used = 0;
  const auto number = number_at({text.data(), static_cast<std::size_t>(end - text.data())}, used);
  return number.value_or(Stated{value, 0});
}

std::string plain_figure(double value) {
  const double size = std::abs(value);
  if (!std::isfinite(value) || size == 0 || size < 1e-4 || size >= 1e7) return fmt::format("{:.4g}", value);
  if (size >= 10000) return fmt::format("{:.0f}", value);
  const int decimals = std::max(0, (size >= 1 ? 4 : 3) - static_cast<int>(std::floor(std::log10(size))));
  std::string text = fmt::format("{:.{}f}", value, std::min(decimals, 7));
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace assay
