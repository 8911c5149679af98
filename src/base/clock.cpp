#include "base/clock.h"

#include <fmt/format.h>

#include <ctime>

#include "base/ascii.h"

namespace assay {
SteadyTime SystemClock::now() const { return std::chrono::steady_clock::now(); }

WallTime SystemClock::wall() const { return std::chrono::time_point_cast<Nanos>(std::chrono::system_clock::now()); }

std::string iso8601(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::milliseconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", int(date.year()), unsigned(date.month()),
                     unsigned(date.day()), clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

Result<WallTime> parse_iso8601(std::string_view text) {
  const Error bad{.kind = ErrorKind::bad_file,
                  .message = fmt::format("'{}' is not a time like 2026-11-15T04:05:06Z", text)};
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (text.size() <= kForm.size() || text.back() != 'Z') return bad;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'd' ? !is_digit(text[i]) : text[i] != kForm[i]) return bad;
  }
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (const char digit : text.substr(at, digits)) value = value * 10 + (digit - '0');
    return value;
  };
  const std::chrono::year_month_day date{std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2)))};
  const int hour = number(11, 2);
  const int minute = number(14, 2);
  const int second = number(17, 2);
  // 64 bits of nanoseconds reach from 1677 to 2262; 60 is a leap second.
  if (!date.ok() || date.year() < std::chrono::year(1678) || date.year() > std::chrono::year(2261)) return bad;
  if (hour > 23 || minute > 59 || second > 60) return bad;

  Nanos fraction{0};
  std::string_view rest = text.substr(kForm.size());
  rest.remove_suffix(1);
  if (!rest.empty()) {
    constexpr std::size_t kNanoDigits = 9;
    if (rest.front() != '.' || rest.size() < 2 || rest.size() > 1 + kNanoDigits) return bad;
    Nanos::rep unit = 100'000'000;
    for (const char digit : rest.substr(1)) {
      if (!is_digit(digit)) return bad;
      fraction += Nanos(unit * (digit - '0'));
      unit /= 10;
    }
  }
  return WallTime(std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
                  std::chrono::seconds(second) + fraction);
}

std::string local_time(WallTime time) {
  const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace assay
