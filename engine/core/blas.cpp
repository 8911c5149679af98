#include "core/blas.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace assay::engine {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

/// Empty unless the path is that of a BLAS.
std::string blas_named_by(std::string_view path) {
  // Debian keeps each implementation as <name>-pthread/libblas.so.3, so the folder counts as well as the file.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kByPart = {{
      {"openblas", "OpenBLAS"},
      {"blis", "BLIS"},
      {"atlas", "ATLAS"},
      {"libmkl_", "MKL"},
  }};
  const std::string lower = lower_case(path);
  const std::string_view file = std::string_view(lower).substr(lower.rfind('/') + 1);
  if (!file.starts_with("libblas.so") && !file.starts_with("libopenblas") && !file.starts_with("libblis") &&
      !file.starts_with("libmkl_") && !file.starts_with("libnvpl_blas")) {
    return {};
  }
  for (const auto& [part, name] : kByPart) {
    if (lower.find(part) != std::string::npos) return std::string(name);
  }
  return file.starts_with("libnvpl_blas") ? "NVPL" : "reference";
}

}  // namespace

Blas blas_from(std::string_view maps, std::string_view built_in) {
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const auto path = line.find('/');
    if (path == std::string_view::npos) continue;
    const std::string name = blas_named_by(line.substr(path));
    if (!name.empty()) return {.name = name, .library = std::string(line.substr(path))};
  }
  const std::string lower = lower_case(built_in);
  if (lower.empty()) return {.name = "unknown"};
  if (lower.find("mkl") != std::string::npos) return {.name = "MKL"};
  if (lower.find("open") != std::string::npos) return {.name = "OpenBLAS"};
  if (lower == "none" || lower == "eigen") return {.name = "none"};
  return {.name = std::string(built_in)};
}

void set_blas_threads(int threads) {
  using SetThreads = void (*)(int);
  if (const auto set = reinterpret_cast<SetThreads>(dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))) set(threads);
}

}  // namespace assay::engine
