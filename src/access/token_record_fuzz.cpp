// libFuzzer entry: whatever the bytes, a line of the token book is a record or an error, and a record that was read is
// written so that it reads back the same. Join tokens likewise.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "access/secrets.h"
#include "access/token_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto record = assay::parse_token_line(text); record.ok()) {
    const std::string line = assay::line_of(*record);
    const auto again = assay::parse_token_line(std::string_view(line).substr(0, line.size() - 1));
    if (!again.ok() || !(*again == *record)) std::abort();
  }
  if (const auto token = assay::parse_join_token(text); token.ok()) {
    const auto again = assay::parse_join_token(assay::join_token_text(token->secret, token->fingerprint));
    if (!again.ok() || !(*again == *token)) std::abort();
  }
  return 0;
}
