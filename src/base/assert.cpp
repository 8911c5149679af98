#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace assay {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "assay: a bug: '%s' does not hold at %s:%d\n", expression, file, line);
  std::abort();
}

}  // namespace assay
