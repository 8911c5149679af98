#include "base/clock.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>

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
  const std::string copy(text);
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int used = 0;
  const auto bad = [&] {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' is not a time like 2026-11-15T04:05:06Z", text)};
  };
  if (std::sscanf(copy.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &used) !=
      6) {
    return bad();
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return bad();
  std::string_view rest = std::string_view(copy).substr(static_cast<size_t>(used));
  Nanos fraction{0};
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    Nanos::rep unit = 100'000'000;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
      fraction += Nanos(unit * (rest.front() - '0'));
      unit /= 10;
      rest.remove_prefix(1);
    }
  }
  if (rest != "Z") return bad();
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
