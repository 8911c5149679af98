#include "importers/csv/csv_numbers.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.h"
#include "base/text.h"
#include "importers/text/figure.h"

namespace assay {
namespace {

/// Longer cells are texts.
constexpr std::size_t kLongestNumber = 400;

/// Digits before the first comma and in the groups behind it; a point ends the groups.
struct Groups {
  bool numeric = false;  ///< digits, commas, at most one point and a sign, nothing else
  bool point = false;
  bool leading_zero = false;
  std::size_t first = 0;
  std::size_t commas = 0;
  bool all_of_three = true;
};

Groups groups_of(std::string_view cell) {
  Groups groups;
  if (!cell.empty() && (cell.front() == '+' || cell.front() == '-')) cell.remove_prefix(1);
  const std::size_t exponent = cell.find_first_of("eE");
  if (exponent != std::string_view::npos && exponent > 0) cell = cell.substr(0, exponent);
  if (cell.empty() || !is_digit(cell.front())) return groups;
  groups.leading_zero = cell.front() == '0';
  std::size_t length = 0;
  for (const char character : cell) {
    if (is_digit(character)) {
      ++length;
      continue;
    }
    if (groups.point || (character != ',' && character != '.')) return groups;
    if (groups.commas == 0) groups.first = length;
    if (groups.commas > 0 && length != 3) groups.all_of_three = false;
    if (character == '.') groups.point = true;
    if (character == ',') ++groups.commas;
    length = 0;
  }
  if (!groups.point && groups.commas > 0 && length != 3) groups.all_of_three = false;
  groups.numeric = true;
  return groups;
}

}  // namespace

bool is_missing(std::string_view cell) {
  static constexpr std::array<std::string_view, 8> kWords = {"", "null", "None", "NA", "N/A", "-", "none", "undefined"};
  return std::find(kWords.begin(), kWords.end(), trim(cell)) != kWords.end();
}

void NumberStyle::look_at(std::string_view cell) {
  cell = trim(cell);
  if (cell.size() > kLongestNumber || cell.find_first_of(",.") == std::string_view::npos) return;
  const Groups groups = groups_of(cell);
  if (!groups.numeric) return;
  if (groups.point) ++points_;
  if (groups.commas == 0) return;
  const bool may_be_thousands = groups.all_of_three && groups.first <= 3 && !groups.leading_zero;
  if (groups.point || groups.commas > 1) {
    if (may_be_thousands) ++thousands_;
  } else if (may_be_thousands) {
    ++either_;
  } else {
    ++commas_;
  }
}

std::optional<double> NumberStyle::read(std::string_view cell) const {
  cell = trim(cell);
  if (cell.size() > kLongestNumber || is_missing(cell)) return std::nullopt;
  double scale = 1;
  if (cell.ends_with('%')) {
    cell = trim(cell.substr(0, cell.size() - 1));
    scale = 100;
  }
  if (cell.find(',') == std::string_view::npos) {
    const auto number = sole_number(cell);
    return number ? std::optional(number->value / scale) : std::nullopt;
  }
  const Groups groups = groups_of(cell);
  if (!groups.numeric) return std::nullopt;
  std::string plain(cell);
  if (decimal_comma() && groups.commas == 1) {
    std::replace(plain.begin(), plain.end(), ',', '.');
  } else if (thousands() && groups.all_of_three && groups.first <= 3) {
    std::erase(plain, ',');
  } else {
    return std::nullopt;
  }
  const auto number = sole_number(plain);
  return number ? std::optional(number->value / scale) : std::nullopt;
}

}  // namespace assay
