// libFuzzer entry: whatever an agent sends is a join or a hello within the limits, or its own mistake, and comes back
// as it was; whatever a leader answers, nobody is silenced by it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/batch_receipt.h"
#include "protocol/hello.h"
#include "protocol/join.h"

namespace {

using namespace assay;

void must(bool good) {
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto hello = parse_hello(text)) {
    must(!hello->stream.empty() && hello->stream.size() <= 64 && hello->facts.size() <= 64 && hello->period_ms >= 1);
    must(parse_hello(json::serialize(to_json(*hello))).value() == *hello);
  } else {
    must(hello.error().kind == ErrorKind::usage);
  }
  if (const auto join = parse_join(text)) {
    must(parse_join(json::serialize(to_json(*join))).value() == *join);
  } else {
    must(join.error().kind == ErrorKind::usage);
  }
  if (const auto answer = parse_hello_answer(text)) {
    must(answer->heartbeat >= std::chrono::milliseconds(100) && answer->heartbeat <= std::chrono::minutes(1));
    must(parse_hello_answer(json::serialize(to_json(*answer))).value() == *answer);
  }
  if (const auto receipt = parse_batch_receipt(text)) {
    must(receipt->pause >= Nanos(0) && receipt->pause <= std::chrono::minutes(1));
    must(parse_batch_receipt(json::serialize(to_json(*receipt))).value() == *receipt);
  }
  return 0;
}
