#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

/// How the numbers of a CSV file are written, judged by all of its cells together.
class NumberStyle {
 public:
  /// Looks at one cell. Text is ignored.
  void look_at(std::string_view cell);

  /// `0,5` is a half: there are such cells, and none with a point.
  bool decimal_comma() const { return commas_ > 0 && points_ == 0; }
  /// `1,234,567` or `1,234.5`: commas between thousands.
  bool thousands() const { return thousands_ > 0 && !decimal_comma(); }
  /// There are numbers with a comma that may be either, or points and decimal commas side by side; those with a comma
  /// are not read.
  bool ambiguous() const { return !decimal_comma() && !thousands() && (commas_ > 0 || either_ > 0); }

  /// The number in a cell. Absent for an empty one and for null, None, NA and N/A; NaN and infinity are numbers.
  /// `12.5%` is 0.125.
  std::optional<double> read(std::string_view cell) const;

 private:
  std::int64_t points_ = 0;
  std::int64_t commas_ = 0;     ///< `0,5`, `12,34`
  std::int64_t thousands_ = 0;  ///< `1,234,567`
  std::int64_t either_ = 0;     ///< `1,234`
};

/// Whether a cell stands for a value that is not there.
bool is_missing(std::string_view cell);

}  // namespace assay
