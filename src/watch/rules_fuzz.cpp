// libFuzzer entry: whatever the bytes, reading a file of rules ends with rules or with messages.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "watch/rules_reader.h"
#include "watch/watch_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const assay::RulesReading reading = assay::read_rules(text, "fuzz.yaml");
  if (reading.rules.has_value() != reading.diagnostics.empty()) std::abort();
  for (const assay::Diagnostic& diagnostic : reading.diagnostics) {
    if (diagnostic.text().empty()) std::abort();
  }
  return 0;
}
