#include "net/response_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "base/log.h"

namespace assay {
namespace {

bool fits_one_line(std::string_view text) {
  return std::ranges::none_of(text, [](char character) {
    return (static_cast<unsigned char>(character) < 0x20 && character != '\t') || character == 0x7F;
  });
}

bool is_framing(std::string_view name) {
  return equal_ignoring_case(name, "Content-Length") || equal_ignoring_case(name, "Transfer-Encoding") ||
         equal_ignoring_case(name, "Connection") || equal_ignoring_case(name, "Date");
}

}  // namespace

std::string format_response_head(const HttpResponse& response, const ResponseFraming& framing) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status, reason_phrase(response.status), framing.date);
  for (const auto& [name, value] : response.headers) {
    if (is_framing(name)) continue;
    if (name.empty() || name.find_first_of(": ") != std::string::npos || !fits_one_line(name) ||
        !fits_one_line(value)) {
      log_error("the response header '{}' is not sent: it does not fit one line", fits_one_line(name) ? name : "?");
      continue;
    }
    head += name;
    head += ": ";
    head += value;
    head += "\r\n";
  }
  if (framing.length) head += fmt::format("Content-Length: {}\r\n", *framing.length);
  if (framing.chunked) head += "Transfer-Encoding: chunked\r\n";
  head += framing.keep_alive ? "\r\n" : "Connection: close\r\n\r\n";
  return head;
}

std::string http_date(WallTime time) {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  // Not strftime: its names follow the locale.
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[static_cast<std::size_t>(parts.tm_wday)],
                     parts.tm_mday, kMonths[static_cast<std::size_t>(parts.tm_mon)], parts.tm_year + 1900,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace assay
