#include <cstdint>
#include <cstdlib>

#include "leader/hello.h"
#include "leader/node.h"

// Whatever is taken for a hello keeps to the limits, and a node can live with it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto hello = assay::parse_hello({reinterpret_cast<const char*>(data), size});
  if (!hello) {
    if (hello.error().kind != assay::ErrorKind::usage) std::abort();
    return 0;
  }
  if (hello->stream.empty() || hello->stream.size() > 64 || hello->facts.size() > 64 || hello->period_ms < 1) {
    std::abort();
  }
  assay::Node node({.name = "gpu01", .facts = {{"kernel", "6.1.0"}}});
  const auto changes = node.say_hello(*hello, {});
  if (changes.size() > hello->facts.size() + 2) std::abort();
  // Said again it brings nothing new.
  if (!node.say_hello(*hello, {}).empty()) std::abort();
  return 0;
}
