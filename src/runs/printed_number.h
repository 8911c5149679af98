#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace assay {

/// A number as programs print it for people, with what stands around it: `1,234.5`, `1.2M`, `123ms`, `98 %`,
/// `9847/10000`, `6.91 (7.02)`, `155,123 tok/s`, `tensor(0.25, device='cuda:0')`.
struct PrintedNumber {
  double value = 0;   ///< with k, M, G … applied; units of time are not
  double factor = 1;  ///< to seconds, for `Unit::time`
  enum class Unit { none, percent, time, samples_rate, tokens_rate, step_time, rate, unknown } unit = Unit::none;
  std::optional<double> of;       ///< the other side of `9847/10000`
  std::optional<double> average;  ///< the number in brackets behind it, as meters of a running average print it
  bool whole = false;             ///< written without point and exponent
  bool doubtful = false;          ///< `0,25`: a decimal comma, or two numbers
  std::size_t used = 0;           ///< how much of the text it took
};

/// The number at the start of `text`; nothing where there is none, or where it is part of something else (`1.2.3`,
/// `3rd`, `0x1f`). Looks at a bounded part of the text.
std::optional<PrintedNumber> printed_number_at(std::string_view text);

/// The unit that a word stands for, as in `time (ms)`. `Unit::unknown` for none.
PrintedNumber::Unit unit_named(std::string_view word, double& factor);

}  // namespace assay
