#include "report/text/style.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace assay {
namespace {

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::plain: return "";
    case Colour::bold: return "1";
    case Colour::dim: return "2";
    case Colour::red: return "31";
    case Colour::green: return "32";
    case Colour::yellow: return "33";
    case Colour::blue: return "34";
    case Colour::cyan: return "36";
  }
  return "";
}

std::string variable(const std::map<std::string, std::string>& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

/// A locale that is named but not UTF-8 cannot show our characters; none named at all is a modern default.
bool speaks_unicode(const std::map<std::string, std::string>& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = variable(environment, name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos ||
           value.find("utf-8") != std::string::npos || value.find("UTF8") != std::string::npos;
  }
  return true;
}

}  // namespace

TerminalStyle TerminalStyle::of(int fd, const std::map<std::string, std::string>& environment, bool allow_colour) {
  TerminalStyle style;
  const bool terminal = ::isatty(fd) == 1;
  style.colour =
      terminal && allow_colour && variable(environment, "NO_COLOR").empty() && variable(environment, "TERM") != "dumb";
  style.unicode = speaks_unicode(environment);
  // A file or a pipe has no width; what is cut there is lost to whoever reads it later.
  if (!terminal) style.width = 240;
  winsize size{};
  if (terminal && ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp<int>(size.ws_col, 40, 400);
  return style;
}

std::string TerminalStyle::paint(Colour shade, std::string_view text) const {
  if (!colour || shade == Colour::plain || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(shade), text);
}

}  // namespace assay
