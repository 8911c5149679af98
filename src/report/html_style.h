#pragma once

#include <string>

namespace assay {

/// The style sheet of HTML reports: light, dark, narrow and print.
std::string html_style();

}  // namespace assay
