// libFuzzer entry: whatever the bytes, the events are the same however they were cut, stay within the limits, and come
// back from our own writer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/sse.h"

namespace {

using namespace assay;

constexpr SseLimits kSmall{.line_bytes = 200, .event_bytes = 500};

std::optional<std::vector<ServerEvent>> read_events(std::string_view text, std::size_t piece, SseLimits limits) {
  SseParser parser(limits);
  std::vector<ServerEvent> events;
  while (!text.empty()) {
    std::string_view part = text.substr(0, piece);
    text.remove_prefix(part.size());
    while (!part.empty()) {
      auto event = parser.next(part);
      if (!event) return std::nullopt;
      if (*event) events.push_back(std::move(**event));
    }
  }
  return events;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = read_events(text, size + 1, kSmall);
  if (whole != read_events(text, 1, kSmall)) std::abort();
  if (!whole) return 0;
  for (const auto& event : *whole) {
    if (event.data.size() > 500) std::abort();
    if (event.event.find('\0') != std::string::npos) continue;
    const auto again = read_events(format_event(event), 1000, {});
    if (!again || again->size() != 1 || again->front() != event) std::abort();
  }
  return 0;
}
