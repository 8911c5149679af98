#include "scheduler/simulate/trace_reader.h"

#include <charconv>
#include <chrono>
#include <cmath>

#include "base/text.h"

namespace assay {
namespace {

/// A whole number of exactly `digits` digits at the start of `text`, which is cut off.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (text.empty() || text.front() != expected) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::uint32_t TraceWords::number_of(std::string_view word) {
  const auto [place, is_new] = numbers_.try_emplace(std::string(word), static_cast<std::uint32_t>(words_.size()));
  if (is_new) words_.emplace_back(word);
  return place->second;
}

std::optional<double> trace_number(std::string_view text) {
  text = trim(text);
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<double> seconds_of_date(std::string_view text) {
  text = trim(text);
  const auto year = take_digits(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || (!take(text, 'T') && !take(text, ' '))) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_digits(text, 2);
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!second || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  if (text.ends_with('Z')) text.remove_suffix(1);
  const auto fraction = text.empty() ? std::optional<double>(0) : trace_number(text);
  if (!fraction || *fraction < 0 || *fraction >= 1) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return static_cast<double>(days) * 86'400 + *hour * 3600 + *minute * 60 + *second + *fraction;
}

std::optional<double> seconds_of_elapsed(std::string_view text) {
  text = trim(text);
  double days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    const auto number = trace_number(text.substr(0, dash));
    if (!number || *number < 0) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  double seconds = 0;
  for (const std::string_view part : parts) {
    const auto number = trace_number(part);
    if (!number || *number < 0) return std::nullopt;
    seconds = seconds * 60 + *number;
  }
  return days * 86'400 + seconds;
}

Result<Trace> read_trace(std::string_view text, const std::string& name) {
  const std::string_view first = text.substr(0, text.find('\n'));
  return first.find('|') != std::string_view::npos ? read_sacct_trace(text, name) : read_csv_trace(text, name);
}

}  // namespace assay
