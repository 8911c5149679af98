#include "config/numbers.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace assay {

std::optional<double> parse_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  // from_chars also takes "inf", "nan" and a bare sign; a number here has a digit before any letter.
  const auto first_digit = text.find_first_of("0123456789");
  if (first_digit == std::string_view::npos ||
      text.substr(0, first_digit).find_first_not_of("-.") != std::string_view::npos) {
    return std::nullopt;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::string number_text(double number) { return fmt::format("{}", number); }

std::string limit_text(double limit, SettingType type) {
  struct Unit {
    double size;
    std::string_view name;
  };
  constexpr std::array<Unit, 4> spans = {{{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
  constexpr std::array<Unit, 5> sizes = {
      {{0x1p40, "TiB"}, {0x1p30, "GiB"}, {0x1p20, "MiB"}, {0x1p10, "KiB"}, {1, "B"}}};
  const auto in_units = [&](const auto& units) {
    for (const Unit& unit : units) {
      if (limit != 0 && std::fmod(limit, unit.size) == 0) return fmt::format("{:.0f}{}", limit / unit.size, unit.name);
    }
    return fmt::format("{}{}", limit, units.back().name);
  };
  switch (type) {
    case SettingType::duration:
      if (const double milliseconds = limit * 1e3; limit < 1 && std::round(milliseconds) > 0) {
        if (std::fabs(milliseconds - std::round(milliseconds)) < 1e-9) return fmt::format("{:.0f}ms", milliseconds);
      }
      return in_units(spans);
    case SettingType::bytes: return in_units(sizes);
    case SettingType::rate: return fmt::format("{}/s", limit);
    default:
      return std::fabs(limit) < 1e16 && limit == std::floor(limit) ? fmt::format("{:.0f}", limit) : number_text(limit);
  }
}

std::optional<std::string> broken_limit(const Range& range, double value, SettingType type) {
  if (range.above_least ? value <= range.least : value < range.least) {
    return fmt::format("must be {} {}", range.above_least ? "more than" : "at least", limit_text(range.least, type));
  }
  if (range.below_most ? value >= range.most : value > range.most) {
    return fmt::format("must be {} {}", range.below_most ? "less than" : "at most", limit_text(range.most, type));
  }
  return std::nullopt;
}

}  // namespace assay
