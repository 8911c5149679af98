#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

// For the messages of this folder.

namespace assay {

/// The same as a mistake of whoever sent it.
template <typename T>
Result<T> as_usage(Result<T> result) {
  if (result) return result;
  Error error = std::move(result).error();
  error.kind = ErrorKind::usage;
  return error;
}

inline std::int64_t whole_milliseconds(Nanos time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

/// A duration within bounds; the fallback where it is absent or none.
Nanos milliseconds_in(JsonFields& fields, std::string_view key, Nanos fallback, Nanos shortest, Nanos longest);

}  // namespace assay
