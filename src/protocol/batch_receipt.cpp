#include "protocol/batch_receipt.h"

#include "protocol/message.h"
#include "telemetry/sampler.h"

namespace assay {
namespace {

/// A wrong number must not silence a node for days.
constexpr Nanos kLongestPause = std::chrono::seconds(60);

}  // namespace

json::object to_json(const BatchReceipt& receipt) {
  json::object object{
      {"sequence", receipt.sequence}, {"now_ns", receipt.now_ns}, {"pause_ms", whole_milliseconds(receipt.pause)}};
  if (receipt.period) object["period_ms"] = whole_milliseconds(*receipt.period);
  return object;
}

Result<BatchReceipt> parse_batch_receipt(std::string_view body) {
  ASSAY_TRY(const auto value, parse_json(body));
  JsonFields fields(value, "the leader's answer to a batch");
  BatchReceipt receipt;
  const std::int64_t sequence = fields.integer("sequence");
  receipt.sequence = sequence < 0 ? 0 : static_cast<std::uint64_t>(sequence);
  receipt.now_ns = fields.integer_or("now_ns", 0);
  receipt.pause = milliseconds_in(fields, "pause_ms", Nanos(0), Nanos(0), kLongestPause);
  if (fields.integer_or("period_ms", 0) > 0) {
    receipt.period = milliseconds_in(fields, "period_ms", Nanos(0), kShortestPeriod, kLongestPeriod);
  }
  ASSAY_CHECK(fields.finish());
  return receipt;
}

}  // namespace assay
