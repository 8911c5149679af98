#include "launch/programs.h"

#include <unistd.h>

#include <cstdlib>

#include "base/text.h"

namespace assay {

std::filesystem::path find_engine(const std::filesystem::path& self) {
  const auto usable = [](const std::filesystem::path& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (auto beside = self.parent_path() / "assay-engine"; usable(beside)) return beside;
  if (const char* named = std::getenv("ASSAY_ENGINE"); named && usable(named)) return named;
  if (const char* path = std::getenv("PATH")) {
    for (const auto folder : split(path, ':')) {
      if (auto candidate = std::filesystem::path(folder) / "assay-engine"; !folder.empty() && usable(candidate)) {
        return candidate;
      }
    }
  }
  return {};
}

Error no_engine_error() {
  return {.kind = ErrorKind::no_engine,
          .message = "assay-engine was not found beside assay, in ASSAY_ENGINE or on the PATH",
          .hint = "Build it with `cmake --preset release && cmake --build --preset release`, or set ASSAY_ENGINE."};
}

}  // namespace assay
