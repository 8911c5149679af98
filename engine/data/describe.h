#pragma once

#include <cstdint>
#include <string>

namespace assay::engine {

/// 1234567 → "1,234,567".
std::string grouped(std::int64_t number);

/// 0.1 → "0.1": the shortest text that reads back as the same number.
std::string shortest(double number);

}  // namespace assay::engine
