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

// Readers of what users write. The message of an error is the rule alone, whole sentences that follow the quoted
// value: "has no unit. Write '10s' or '10ms'." The caller adds key, file and line. The kind is always bad_spec.
// Blanks around number and unit do not matter; exponents (`1e3s`) are read; nothing is negative.
Result<Nanos> parse_duration(std::string_view text);  ///< ns us µs ms s min h d, also `1h30min`
Result<Bytes> parse_bytes(std::string_view text);     ///< B kB MB GB TB KiB MiB GiB TiB
Result<double> parse_rate(std::string_view text);     ///< `20/s`, `90/min`, `5/h`, `5Hz`, `2kHz` → per second
Result<Price> parse_price(std::string_view text);

// Writers for people; three significant digits, a narrow unit.
std::string format_duration(Nanos duration);  ///< `1.23 s`, `4 min 05 s`, `2 h 03 min`, `3 d 04 h`, `870 µs`
std::string format_bytes(Bytes bytes);        ///< `1.46 GiB`
/// `1,379`, `0.119`, `1.23e-05`. Whole numbers are written in full up to 10¹⁵; NaN is `NaN`, infinity `inf`.
std::string format_count(double number);
/// A value with its unit as tables show it: "s" as a duration, "B" and "B/s" as bytes, "ratio" (0…1) and "%" as
/// percent, "1/s" as `20/s`, any other unit behind the number. "" is a plain number.
std::string format_value(double value, std::string_view unit);

}  // namespace assay
