// libFuzzer entry: whatever the text, URLs, addresses and request targets are read or refused with a message, and what
// was read can be written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/listen_address.h"
#include "net/request_target.h"
#include "net/url.h"
#include "net/url_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto url = parse_url(text)) {
    if (url->target.empty() || url->target.front() != '/') std::abort();
    if (url->scheme != Url::Scheme::unix_socket) {
      const std::string scheme = url->scheme == Url::Scheme::https ? "https://" : "http://";
      const auto again = parse_url(scheme + url->place() + url->target);
      if (!again || *again != *url) std::abort();
    }
  } else if (url.error().message.empty()) {
    std::abort();
  }
  if (const auto address = parse_listen_address(text)) {
    const auto again = parse_listen_address(address->text());
    if (!again || *again != *address) std::abort();
  }
  if (const auto target = parse_request_target(text)) {
    for (const auto& segment : target->segments) {
      if (segment == ".." || segment.find('\0') != std::string::npos) std::abort();
    }
  }
  const auto decoded = percent_decode(percent_encode(text));
  if (decoded.ok() != (text.find('\0') == std::string_view::npos) || (decoded && *decoded != text)) std::abort();
  return 0;
}
