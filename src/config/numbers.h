#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/setting.h"

namespace assay {

/// A finite decimal number as YAML 1.2 and JSON write it; nothing for all else (`0x10`, `1_000`, `nan`, `1e999`).
std::optional<double> parse_number(std::string_view text);

/// The shortest text that reads back as the same number.
std::string number_text(double number);

/// "must be at least 1", "must be less than 1"; nothing if the value keeps to the range. `type` decides how the limit
/// is written (`5min`, `4KiB`, `10/s`).
std::optional<std::string> broken_limit(const Range& range, double value, SettingType type);

/// A limit as a user would write it for a setting of this type.
std::string limit_text(double limit, SettingType type);

}  // namespace assay
