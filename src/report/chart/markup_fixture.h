#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// For tests alone.

enum class Markup { xml, html };

/// What is wrong with a text as XML, or as HTML that is written as strictly (every element but the void ones closed,
/// every attribute quoted and there once): nesting, attributes, references, bare `<`, control characters. None:
/// nothing.
std::optional<std::string> problem_in_markup(std::string_view text, Markup kind);

}  // namespace assay
