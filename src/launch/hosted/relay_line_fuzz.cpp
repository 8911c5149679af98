#include <cstdint>
#include <cstdlib>

#include "launch/hosted/relay_line.h"

// Any text as what comes through a pipe: no crash, and what was understood is written so that it reads the same.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  RelayReader reader([](const RelayFrame& frame) -> Result<void> {
    std::string payload;
    RelayReader again([&](const RelayFrame& same) -> Result<void> {
      if (same.kind != frame.kind) std::abort();
      payload += same.payload;
      return {};
    });
    if (!again.take(relay_lines(frame)).ok() || payload != frame.payload) std::abort();
    return {};
  });
  (void)reader.take(input).ok();
  return 0;
}
