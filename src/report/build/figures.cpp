#include "report/build/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace assay {
namespace {

/// Decimals that give a number below one three significant digits.
int significant_decimals(double value) {
  if (value == 0) return 0;
  const double magnitude = std::floor(std::log10(std::fabs(value)));
  return std::clamp(2 - static_cast<int>(magnitude), 3, 12);
}

int rate_decimals(double value) {
  const double size = std::fabs(value);
  if (size >= 10) return 1;
  return size >= 1 ? 2 : significant_decimals(value);
}

}  // namespace

Figure fixed_figure(std::optional<double> value, int decimals, Tone tone) {
  if (!value || !std::isfinite(*value)) return {};
  return {fmt::format("{:.{}f}", *value, decimals), *value, tone};
}

Figure percent_figure(std::optional<double> share, int decimals, Tone tone) {
  return fixed_figure(share ? std::optional(*share * 100) : std::nullopt, decimals, tone);
}

Figure seconds_figure(std::optional<double> seconds) {
  if (!seconds) return {};
  return fixed_figure(seconds, std::fabs(*seconds) >= 1 || *seconds == 0 ? 2 : significant_decimals(*seconds));
}

Figure rate_figure(std::optional<double> per_second) {
  return per_second ? fixed_figure(per_second, rate_decimals(*per_second)) : Figure{};
}

Figure token_rate_figure(std::optional<double> per_second) {
  if (!per_second) return {};
  return fixed_figure(per_second, std::fabs(*per_second) >= 100 ? 0 : rate_decimals(*per_second));
}

Figure count_figure(std::optional<double> count) {
  return count && std::isfinite(*count) ? Figure{format_count(*count), *count} : Figure{};
}

Figure value_figure(std::optional<double> value, std::string_view unit, Tone tone) {
  return value ? Figure{format_value(*value, unit), *value, tone} : Figure{};
}

std::string money_text(const Money& money, int decimals_below_one) {
  const double size = std::fabs(money.amount);
  int decimals = size >= 1 || size == 0 ? 2 : decimals_below_one;
  // Amounts below a cent would be printed as next to nothing: they get three digits of their own.
  if (size > 0 && size < 0.01) decimals = significant_decimals(money.amount);
  const std::string amount = fmt::format("{:.{}f}", size, decimals);
  const std::string_view sign = money.amount < 0 ? "-" : "";
  return money.currency == "USD" ? fmt::format("{}${}", sign, amount)
                                 : fmt::format("{}{} {}", sign, amount, money.currency);
}

Figure money_figure(const std::optional<Money>& money, int decimals_below_one) {
  if (!money || !std::isfinite(money->amount)) return {};
  return {money_text(*money, decimals_below_one), money->amount};
}

std::string rate_text(double per_second) { return rate_figure(per_second).text; }
std::string percent_text(double share, int decimals) { return fmt::format("{:.{}f} %", share * 100, decimals); }
std::string range_text(double low, double high, int decimals) {
  return fmt::format("{:.{}f}–{:.{}f}", low, decimals, high, decimals);
}

Tone tone_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::none: return Tone::muted;
    case Verdict::valid: return Tone::good;
    case Verdict::flagged: return Tone::warning;
    case Verdict::invalid:
    case Verdict::failed:
    case Verdict::interrupted: return Tone::bad;
  }
  return Tone::plain;
}

}  // namespace assay
