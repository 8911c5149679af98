#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "report/text/style.h"

namespace assay {

// Text from outside on its way into a report: names of nodes, messages of workloads, whatever people wrote.

/// Valid UTF-8 without control characters, terminal escapes, non-characters and marks that turn the direction of what
/// stands beside it. Newlines stay, tabs become blanks.
std::string clean_text(std::string_view text);
/// The same in one line: each run of blanks and newlines is one blank, none at the ends.
std::string clean_line(std::string_view text);

/// Clean text in ASCII: what reports are full of (×, –, µ, →, ±) in other words, else "?", as many as it is wide.
std::string in_ascii(std::string_view text);
/// A clean line in the characters that a terminal has.
std::string terminal_line(std::string_view text, const TerminalStyle& style);

/// Clean text as content or attribute of XML and HTML.
std::string escape_xml(std::string_view text);

/// The characters of valid UTF-8, one by one. They point into `text`.
std::vector<std::string_view> characters(std::string_view text);

/// Clean text in lines of at most `width` columns, broken at blanks; a word that is wider than a line is cut. Newlines
/// in the text are kept. Nothing for an empty text.
std::vector<std::string> wrap_text(std::string_view text, std::size_t width);

}  // namespace assay
