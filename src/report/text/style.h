#pragma once

#include <map>
#include <string>
#include <string_view>

namespace assay {

enum class Colour { plain, bold, dim, red, green, yellow, blue, cyan };

/// How text may look where it goes.
struct TerminalStyle {
  bool colour = false;
  bool unicode = true;  ///< else plain ASCII stands for lines, bars and marks
  int width = 100;

  /// For a stream of this process: colour on a terminal only (NO_COLOR, TERM=dumb and `allow_colour` respected),
  /// Unicode by the locale's variables, the width of the terminal.
  static TerminalStyle of(int fd, const std::map<std::string, std::string>& environment, bool allow_colour = true);

  std::string paint(Colour colour, std::string_view text) const;
  /// `fancy` where Unicode is fine, else `plain`.
  std::string_view pick(std::string_view fancy, std::string_view plain) const { return unicode ? fancy : plain; }
};

}  // namespace assay
