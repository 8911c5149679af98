#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "backup/tar.h"

// Any bytes as an archive, in pieces whose size the first byte chooses: no crash, no path that leads out, and what was
// read whole is written so that it reads the same.

namespace assay {
namespace {

void read_anything(std::string_view input, std::size_t piece) {
  std::uint64_t bytes = 0;
  TarReader reader({.on_entry = [&](const TarEntry& entry) -> Result<void> {
                      if (!is_inner_path(entry.path)) std::abort();
                      TarReader again({.on_entry = [&](const TarEntry& same) -> Result<void> {
                                         if (!(same == entry)) std::abort();
                                         return {};
                                       },
                                       .on_bytes = [](std::string_view) { return Result<void>(); },
                                       .on_end = [] { return Result<void>(); }});
                      if (!again.take(tar_head(entry))) std::abort();
                      bytes = entry.bytes;
                      return {};
                    },
                    .on_bytes = [&](std::string_view part) -> Result<void> {
                      if (part.size() > bytes) std::abort();
                      bytes -= part.size();
                      return {};
                    },
                    .on_end = [&]() -> Result<void> {
                      if (bytes != 0) std::abort();
                      return {};
                    }});
  while (!input.empty()) {
    if (!reader.take(input.substr(0, piece))) return;
    input.remove_prefix(std::min(piece, input.size()));
  }
  [[maybe_unused]] const auto whole = reader.finish();
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  assay::read_anything({reinterpret_cast<const char*>(data) + 1, size - 1}, 1 + std::size_t{data[0]} * 7);
  return 0;
}
