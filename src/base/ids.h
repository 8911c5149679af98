#pragma once

#include <string>
#include <string_view>

namespace assay {

/// A fresh id of ten characters (50 random bits, lower-case Crockford base 32: no i, l, o, u). Random from the
/// first character on, so that a short prefix is usually enough to name a run on the command line.
std::string new_id();

/// The id that every process derives from the same text, for processes that must agree without talking.
std::string id_from(std::string_view text);

}  // namespace assay
