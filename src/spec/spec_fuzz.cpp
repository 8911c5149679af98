// libFuzzer entry: whatever the bytes, reading a specification ends with a spec or with messages, and expanding a spec
// ends with runs or with an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "model/study.h"
#include "spec/spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const assay::SpecReading reading = assay::read_spec(text, "fuzz.yaml");
  if (reading.spec.has_value() != reading.diagnostics.empty()) std::abort();
  for (const assay::Diagnostic& diagnostic : reading.diagnostics) {
    if (diagnostic.text().empty()) std::abort();
  }
  if (reading.spec) static_cast<void>(assay::expand(*reading.spec).ok());
  return 0;
}
