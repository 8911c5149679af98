#pragma once

#include <string>
#include <string_view>

#include "report/document.h"

namespace assay {

/// A figure with its column's unit as people read it; empty where it is not known. Words ("failed") get no unit.
std::string printed(const FigureColumn& column, const Figure& figure);

/// A finding's first line without its mark: "gpu03: slower than its peers".
std::string headline(const Finding& finding);

/// ✖ ▲ •
std::string_view mark_of(Severity severity);

}  // namespace assay
