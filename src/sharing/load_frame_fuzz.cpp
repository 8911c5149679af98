#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sharing/client_part.h"
#include "sharing/live_moment.h"
#include "sharing/load_frame.h"
#include "sharing/load_messages.h"

// Everything that another client, or somebody who takes the place of one, can send. The first byte chooses what the
// rest is read as.

namespace assay {
namespace {

void read_as_connection(std::string_view bytes) {
  FrameReader reader(LinkEnd::client);
  reader.feed(bytes);
  const auto nonce = reader.nonce();
  if (!nonce || !*nonce) return;
  reader.use({});
  while (true) {
    const auto frame = reader.next();
    if (!frame || !*frame) return;
  }
}

void read_as_part(std::string_view bytes) {
  PartReader reader;
  while (bytes.size() > 3) {
    const auto type = static_cast<FrameType>(static_cast<unsigned char>(bytes[0]) % 18);
    const std::size_t length = static_cast<unsigned char>(bytes[1]) + 256u * static_cast<unsigned char>(bytes[2]);
    const auto taken = reader.take({type, std::string(bytes.substr(3, length))});
    if (!taken || *taken) return;
    bytes.remove_prefix(std::min(bytes.size(), 3 + length));
  }
}

void read_as_message(std::string_view text) {
  static_cast<void>(client_hello_from(text).ok());
  static_cast<void>(load_order_from(text).ok());
  static_cast<void>(time_from(text).ok());
  static_cast<void>(error_from(text).text());
  json::error_code code;
  const json::value value = json::parse(text, code);
  if (code) return;
  if (const auto moment = live_moment_from_json(value)) {
    static_cast<void>(live_metrics(std::span(&*moment, 1), std::chrono::seconds(1)));
  }
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0: assay::read_as_connection(rest); break;
    case 1: assay::read_as_part(rest); break;
    default: assay::read_as_message(rest); break;
  }
  return 0;
}
