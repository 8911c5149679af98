#include "protocol/message.h"

#include <algorithm>

namespace assay {

Nanos milliseconds_in(JsonFields& fields, std::string_view key, Nanos fallback, Nanos shortest, Nanos longest) {
  const std::int64_t number = fields.integer_or(key, whole_milliseconds(fallback));
  if (number < 0) return fallback;
  // A day is longer than anything that is waited for, and its nanoseconds fit.
  return std::clamp<Nanos>(std::chrono::milliseconds(std::min<std::int64_t>(number, 86'400'000)), shortest, longest);
}

}  // namespace assay
