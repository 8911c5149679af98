#pragma once

namespace assay {

/// Prints the broken assumption and aborts. For programmer errors only: no input may reach it.
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);

}  // namespace assay

#define ASSAY_ASSERT(expression) \
  (static_cast<bool>(expression) ? void() : ::assay::assertion_failed(#expression, __FILE__, __LINE__))
