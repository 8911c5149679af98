#include "base/version.h"

#include <assay_git_commit.h>

namespace assay {

std::string_view version() { return ASSAY_VERSION; }

std::string_view git_commit() { return ASSAY_GIT_COMMIT; }

std::string_view compiler() {
#ifdef __clang__
  return "clang++ " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

}  // namespace assay
