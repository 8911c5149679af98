#include "model/run_label.h"

#include <fmt/format.h>

namespace assay {

std::string run_label(std::string_view variant, int repeat) {
  return variant.empty() ? std::string() : fmt::format("{} #{}", variant, repeat + 1);
}

}  // namespace assay
