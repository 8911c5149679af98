// libFuzzer entry: whatever is taken for a hello, a node can live with it.
#include <cstdint>
#include <cstdlib>

#include "leader/node.h"
#include "protocol/hello.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto hello = assay::parse_hello({reinterpret_cast<const char*>(data), size});
  if (!hello) return 0;
  assay::Node node({.name = "gpu01", .facts = {{"kernel", "6.1.0"}}});
  const auto changes = node.say_hello(*hello, {});
  if (changes.size() > hello->facts.size() + 2) std::abort();
  // Said again it brings nothing new.
  if (!node.say_hello(*hello, {}).empty()) std::abort();
  return 0;
}
