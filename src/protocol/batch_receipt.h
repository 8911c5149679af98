#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace assay {

/// What the leader answers to batches that it takes.
struct BatchReceipt {
  std::uint64_t sequence = 0;   ///< up to which all is taken
  std::int64_t now_ns = 0;      ///< the leader's clock
  Nanos pause{};                ///< before the next request
  std::optional<Nanos> period;  ///< between two readings from now on
  bool operator==(const BatchReceipt&) const = default;
};

json::object to_json(const BatchReceipt& receipt);
/// Any bytes. A pause is at most 60 s and a period one that can be sampled at, whatever it says.
Result<BatchReceipt> parse_batch_receipt(std::string_view body);

}  // namespace assay
