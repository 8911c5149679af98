#pragma once

#include <string>
#include <string_view>

namespace assay {

/// A cell as CSV by RFC 4180: in quotes where it must be, so that its bytes come back as they were, also where the
/// reader takes `;` or a tab for the separator or cuts blanks off.
void append_csv_cell(std::string& out, std::string_view cell);

}  // namespace assay
