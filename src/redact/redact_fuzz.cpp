#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "redact/redact.h"

/// Whatever the bytes are: redacting twice is redacting once. Otherwise a recording would change each time it is
/// copied, and a secret could come out from between two replaced ones.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string once = assay::redact(text);
  if (assay::redact(once) != once) std::abort();
  return 0;
}
