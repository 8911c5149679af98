// libFuzzer entry: whatever a server answers, the client's parser ends with a response or with an error, and the body
// is the same however the bytes were cut into pieces.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/input_buffer.h"
#include "net/response_parser.h"

namespace {

constexpr std::size_t kLongestInput = 4096;

/// The body, or nothing where the answer is not valid.
std::string read_response(std::string_view text, std::size_t piece, bool& valid) {
  assay::ResponseParser parser(false, kLongestInput);
  assay::InputBuffer input;
  std::string body;
  while (!text.empty() && !parser.complete()) {
    const auto part = text.substr(0, piece);
    text.remove_prefix(part.size());
    std::ranges::copy(part, input.prepare(part.size()).begin());
    input.commit(part.size());
    const auto taken = parser.take(input.view());
    if (!taken) {
      valid = false;
      return "";
    }
    if (*taken > input.size()) std::abort();
    input.consume(*taken);
    if (parser.head_complete()) body += parser.take_content();
  }
  valid = parser.complete() || parser.end_of_input().ok();
  return valid ? body : "";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kLongestInput) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  bool whole_valid = false;
  bool cut_valid = false;
  const std::string whole = read_response(text, kLongestInput, whole_valid);
  const std::string cut = read_response(text, 1, cut_valid);
  if (whole_valid != cut_valid || whole != cut) std::abort();
  return 0;
}
