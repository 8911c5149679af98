#pragma once

#include <string_view>

namespace assay {

std::string_view version();     ///< "0.1.0"
std::string_view git_commit();  ///< of the sources this was built from; "-dirty" at the end if they had been changed
std::string_view compiler();    ///< "g++ 12.2.0"

}  // namespace assay
