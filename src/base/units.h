#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// A number of bytes. `24GiB` is 24·2³⁰, `20GB` is 20·10⁹.
struct Bytes {
  std::int64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

struct Watts {
  double value = 0;
  auto operator<=>(const Watts&) const = default;
};

/// A price as users write it: `0.60 USD/GPUh`, `1.20 EUR/h` (per node hour).
struct Price {
  double amount = 0;
  std::string currency;  ///< ISO 4217
  std::string per;       ///< "GPUh" or "h"
  bool operator==(const Price&) const = default;
};

// Readers of what users write. A missing unit is an error that says what to write: 'has no unit. Write '10s' or
// '10ms'.' The message is the rule alone; the caller adds key, file and line.
Result<Nanos> parse_duration(std::string_view text);  ///< ns us µs ms s min h d, also `1h30min`
Result<Bytes> parse_bytes(std::string_view text);     ///< B kB MB GB TB KiB MiB GiB TiB
Result<double> parse_rate(std::string_view text);     ///< `20/s`, `90/min`, `5Hz` → per second
Result<Price> parse_price(std::string_view text);

// Writers for people; three significant digits, a narrow unit.
std::string format_duration(Nanos duration);  ///< `1.23 s`, `4 min 05 s`, `2 h 03 min`, `870 µs`
std::string format_bytes(Bytes bytes);        ///< `1.46 GiB`
std::string format_count(double number);      ///< `1,379`, `0.119`, `1.23e-05`
/// A value with its unit as tables show it: ("B" → bytes, "s" → duration, "1" → percent for ratios named so, …).
std::string format_value(double value, std::string_view unit);

}  // namespace assay
