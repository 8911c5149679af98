#include "report/build/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/statistics.h"
#include "base/text.h"
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

constexpr double kLeastPrintedP = 0.0001;

/// "59.2 ± 1.3 ms": a unit that both have is written once.
std::string with_spread(const std::string& mean, const std::string& spread) {
  const auto unit_at = [](const std::string& text) { return text.find_last_of("0123456789") + 1; };
  const std::string unit = mean.substr(unit_at(mean));
  const bool same = !unit.empty() && unit == spread.substr(unit_at(spread));
  return fmt::format("{} ± {}", same ? mean.substr(0, unit_at(mean)) : mean, spread);
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

Figure p_figure(std::optional<double> p) {
  if (!p || !std::isfinite(*p)) return {};
  return {*p < kLeastPrintedP ? fmt::format("< {:.4f}", kLeastPrintedP) : fmt::format("{:.4f}", *p), *p};
}

std::string p_text(double p) {
  return p < kLeastPrintedP ? fmt::format("p < {:.4f}", kLeastPrintedP)
                            : fmt::format("p = {:.{}f}", p, p < 0.01 ? 4 : 3);
}

std::string ratio_text(double ratio) {
  const double size = std::fabs(ratio);
  return size > 0 && size < 0.1 ? fmt::format("{:.3g}", ratio) : fmt::format("{:.3f}", ratio);
}

Figure ratio_figure(double ratio) { return std::isfinite(ratio) ? Figure{ratio_text(ratio), ratio} : Figure{}; }

Figure range_figure(const std::optional<Interval>& interval, int decimals) {
  if (!interval) return {};
  Figure figure(range_text(interval->low, interval->high, decimals));
  figure.parts = {{"low", interval->low}, {"high", interval->high}};
  return figure;
}

Figure repeats_figure(const std::vector<double>& values, std::string_view unit) {
  if (values.empty()) return {};
  const Summary summary = summarise(values);
  const std::string text = format_value(summary.mean, unit);
  Figure figure(text, summary.mean);
  figure.parts = {{"n", static_cast<double>(summary.count)}};
  if (summary.count < 2) return figure;
  figure.text = with_spread(text, format_value(summary.standard_deviation, unit));
  figure.parts.insert(figure.parts.end(),
                      {{"sd", summary.standard_deviation}, {"min", summary.min}, {"max", summary.max}});
  return figure;
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

Tone tone_of(ArmVerdict verdict) {
  switch (verdict) {
    case ArmVerdict::better: return Tone::good;
    case ArmVerdict::worse: return Tone::bad;
    case ArmVerdict::different: return Tone::strong;
    case ArmVerdict::no_significant_difference: return Tone::plain;
    case ArmVerdict::too_few_repeats:
    case ArmVerdict::one_seed:
    case ArmVerdict::no_spread: return Tone::muted;
  }
  return Tone::plain;
}

void drop_empty_columns(FigureTable& table) {
  for (std::size_t column = table.columns.size(); column-- > 0;) {
    const bool empty =
        std::all_of(table.rows.begin(), table.rows.end(), [&](const auto& row) { return row[column].text.empty(); });
    if (!empty) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(column));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
  }
}

std::string differing_values(std::vector<std::string> values) {
  constexpr std::size_t kMostShown = 6;
  const std::size_t hidden = values.size() > kMostShown ? values.size() - kMostShown : 0;
  values.resize(values.size() - hidden);
  if (hidden > 0) values.push_back(fmt::format("{} more", hidden));
  return join(values, " | ");
}

}  // namespace assay
