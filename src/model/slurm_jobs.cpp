#include "model/slurm_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace assay {
namespace {

/// Of a list within brackets: `3` or `007-012`.
struct NumberRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  int width = 0;  ///< with zeros in front
};

std::optional<std::uint64_t> whole_number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Longer ones are no numbers of nodes.
constexpr std::size_t kMostDigits = 19;
/// Brackets of one name: Slurm itself knows five dimensions.
constexpr int kMostBrackets = 5;

std::optional<NumberRange> range_in(std::string_view text) {
  if (text.size() > 2 * kMostDigits + 1) return std::nullopt;
  const auto dash = text.find('-');
  const auto first = whole_number_in(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : whole_number_in(text.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return NumberRange{.first = *first, .last = *last, .width = static_cast<int>(std::min(dash, text.size()))};
}

/// Up to a comma outside of brackets; taken off the list.
std::string_view take_item(std::string_view& list) {
  bool within = false;
  std::size_t end = 0;
  for (; end < list.size() && (within || list[end] != ','); ++end) {
    if (list[end] == '[') within = true;
    if (list[end] == ']') within = false;
  }
  const auto item = list.substr(0, end);
  list.remove_prefix(std::min(end + 1, list.size()));
  return item;
}

/// Every name that `begin` becomes with each number of the first brackets in `item`, and so on with what follows them.
void expand(const std::string& begin, std::string_view item, std::size_t most, std::vector<std::string>& names,
            int brackets = 0) {
  const auto open = item.find('[');
  const auto close = item.find(']', open);
  if (open == std::string_view::npos || close == std::string_view::npos) {
    if (names.size() < most && !(begin.empty() && item.empty())) names.push_back(begin + std::string(item));
    return;
  }
  auto ranges = item.substr(open + 1, close - open - 1);
  while (!ranges.empty() && brackets < kMostBrackets) {
    const auto range = range_in(take_item(ranges));
    if (!range) continue;
    for (auto number = range->first; names.size() < most; ++number) {
      const std::size_t before = names.size();
      expand(begin + std::string(item.substr(0, open)) + fmt::format("{:0{}}", number, range->width),
             item.substr(close + 1), most, names, brackets + 1);
      // Where the rest makes no name, it makes none with any other number either.
      if (names.size() == before) return;
      if (number == range->last) break;
    }
  }
}

}  // namespace

std::vector<std::string> names_in_node_list(std::string_view list, std::size_t most) {
  std::vector<std::string> names;
  while (!list.empty() && names.size() < most) expand({}, take_item(list), most, names);
  return names;
}

}  // namespace assay
