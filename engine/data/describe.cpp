#include "data/describe.h"

#include <array>
#include <charconv>

namespace assay::engine {

std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  const std::ptrdiff_t first_digit = number < 0 ? 1 : 0;
  for (auto at = std::ssize(text) - 3; at > first_digit; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string shortest(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

}  // namespace assay::engine
