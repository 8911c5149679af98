#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "backup/manifest.h"

// Any text as a manifest, with and without the right sum at its end: no crash, and no path that leads out of a copy.

namespace assay {
namespace {

void read_any_manifest(std::string text) {
  const auto look = [](const std::string& one) {
    const auto manifest = read_manifest(one);
    if (!manifest) return;
    for (const auto& copied : manifest->entries) {
      if (!is_inner_path(copied.entry.path)) std::abort();
    }
  };
  look(text);
  if (text.empty() || text.back() != '\n') text += '\n';
  const auto lines = std::count(text.begin(), text.end(), '\n');
  Sha256 sum;
  sum.add(text);
  look(text + "{\"entries\":" + std::to_string(lines - 1) + ",\"sha256\":\"" + sum.digits() + "\"}\n");
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  assay::read_any_manifest(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
