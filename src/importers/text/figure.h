#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

// Figures as files state them, and whether they agree with what the file's other figures give. A stated figure is
// doubted only when it lies outside what the rounding of its inputs allows.

/// A number as it was written: 1.46 stands for anything from 1.455 to 1.465.
struct Stated {
  double value = 0;
  double half_unit = 0;  ///< half of the last written digit; 0: exact, a count
  bool operator==(const Stated&) const = default;
};

/// Everything a figure may be.
struct FigureRange {
  double low = 0;
  double high = 0;
};

FigureRange range_of(const Stated& figure);
inline FigureRange exactly(double value) { return {value, value}; }
// Factors and divisors are never negative here: counts, times, prices, rates.
FigureRange operator+(const FigureRange& a, const FigureRange& b);
FigureRange operator*(const FigureRange& a, const FigureRange& b);
/// A divisor that may be 0 gives an open end, which agrees with everything above the lower one.
FigureRange operator/(const FigureRange& a, const FigureRange& b);
/// False only if the two cannot be the same number. NaN agrees with nothing.
bool agree(const FigureRange& stated, const FigureRange& computed);

/// The number at the start of `text` and, in `used`, its length: 0.12, -1e-3, +5, nan, inf; no leading blanks.
/// Nothing where there is none. Beyond a double's range is infinity.
std::optional<Stated> number_at(std::string_view text, std::size_t& used);
/// The number that is all of `text`, blanks around it aside.
std::optional<Stated> sole_number(std::string_view text);
/// A whole number ≥ 0 at the start of `text`, thousands separators allowed (`10,000`). Nothing beyond 2⁵³.
std::optional<std::int64_t> count_at(std::string_view text, std::size_t& used);
/// What a JSON number was probably written as: its shortest form.
Stated stated_from(double value);

/// `1379.5`, `0.1142`, `362.45`: four or five significant digits, for messages.
std::string plain_figure(double value);

}  // namespace assay
