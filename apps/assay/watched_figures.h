#pragma once

#include <map>
#include <string>
#include <string_view>

#include "report/text/style.h"

namespace assay {

/// The figures that people watch while a run goes on, in the order in which they watch them, each with two blanks
/// before it: as many as `room` columns hold. `last` has the latest value of each metric. Pure.
std::string watched_figures(const std::map<std::string, double>& last, const TerminalStyle& style, std::size_t room);

/// The columns that a text takes, whatever paints it.
std::size_t columns_of(std::string_view painted);

/// Whether these are the figures of a load, whose steps are its seconds.
bool is_load(const std::map<std::string, double>& last);

}  // namespace assay
