#include "protocol/retry_after.h"

#include <charconv>

#include "base/text.h"

namespace assay {

std::optional<Nanos> retry_after(const Headers& headers) {
  const auto text = trim(headers.find("Retry-After").value_or(""));
  int seconds = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (problem != std::errc() || end != text.data() + text.size() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(seconds);
}

}  // namespace assay
