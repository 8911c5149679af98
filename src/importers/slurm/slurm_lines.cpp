#include "importers/slurm/slurm_lines.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/ascii.h"

namespace assay {
namespace {

/// More ranks than any cluster has; longer numbers are not labels.
constexpr std::size_t kLongestRank = 6;

std::optional<int> rank_digits(std::string_view digits) {
  int rank = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (digits.empty() || digits.size() > kLongestRank || code != std::errc() || end != digits.data() + digits.size())
    return std::nullopt;
  return rank;
}

}  // namespace

std::optional<int> take_rank_label(std::string_view& line) {
  // srun pads its labels: "  3: text".
  std::size_t start = 0;
  while (start < line.size() && start < kLongestRank && line[start] == ' ') ++start;
  if (start == line.size()) return std::nullopt;
  if (line[start] >= '0' && line[start] <= '9') {
    const std::size_t colon = line.substr(start, kLongestRank + 1).find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view rest = line.substr(start + colon + 1);
    // A time of day has no blank behind its colon.
    if (!rest.empty() && rest.front() != ' ') return std::nullopt;
    const auto rank = rank_digits(line.substr(start, colon));
    if (rank) line = rest.empty() ? rest : rest.substr(1);
    return rank;
  }
  for (const std::string_view opening : {"[rank", "[default"}) {
    if (!line.substr(start).starts_with(opening)) continue;
    const std::string_view rest = line.substr(start + opening.size());
    const std::size_t close = rest.substr(0, kLongestRank + 1).find(']');
    if (close == std::string_view::npos || !rest.substr(close + 1).starts_with(':')) return std::nullopt;
    const auto rank = rank_digits(rest.substr(0, close));
    if (!rank) return std::nullopt;
    line = rest.substr(close + 2);
    if (line.starts_with(' ')) line.remove_prefix(1);
    return rank;
  }
  return std::nullopt;
}

void strip_escapes(std::string_view line, std::string& out) {
  while (!line.empty()) {
    const std::size_t escape = line.find('\x1b');
    out += line.substr(0, escape);
    if (escape == std::string_view::npos) return;
    line.remove_prefix(escape + 1);
    if (line.empty()) return;
    const char kind = line.front();
    line.remove_prefix(1);
    if (kind == '[') {
      // Parameters, then one final byte.
      while (!line.empty() && line.front() >= 0x20 && line.front() <= 0x3F) line.remove_prefix(1);
      if (!line.empty() && line.front() >= 0x40 && line.front() <= 0x7E) line.remove_prefix(1);
    } else if (kind == ']') {
      // A title or link, up to BEL or ESC \.
      const std::size_t end = line.find_first_of("\a\x1b");
      line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
      if (line.starts_with('\\')) line.remove_prefix(1);
    }
  }
}

std::optional<Stated> log_duration_at(std::string_view text, std::size_t& used) {
  struct Unit {
    std::string_view word;
    double seconds;
  };
  static constexpr std::array kUnits = {
      Unit{"seconds", 1},  Unit{"second", 1},  Unit{"secs", 1},  Unit{"sec", 1},  Unit{"s", 1},
      Unit{"minutes", 60}, Unit{"minute", 60}, Unit{"mins", 60}, Unit{"min", 60}, Unit{"m", 60},
      Unit{"hours", 3600}, Unit{"hour", 3600}, Unit{"h", 3600},
  };
  auto number = number_at(text, used);
  if (!number || !std::isfinite(number->value) || number->value < 0) return std::nullopt;
  // 6:02 or 1:06:02: sixty of the right are one of the left.
  for (int parts = 1; parts < 3 && used < text.size() && text[used] == ':'; ++parts) {
    std::size_t part_used = 0;
    const std::string_view digits = text.substr(used + 1);
    if (digits.empty() || !is_digit(digits.front())) break;
    const auto part = number_at(digits, part_used);
    if (!part || part->value >= 60) return std::nullopt;
    number = Stated{number->value * 60 + part->value, part->half_unit};
    used += 1 + part_used;
  }
  const std::string_view behind = text.substr(used);
  const std::size_t blanks = behind.starts_with(' ') ? 1 : 0;
  for (const Unit& unit : kUnits) {
    const std::string_view word = behind.substr(blanks);
    if (!word.starts_with(unit.word)) continue;
    if (word.size() > unit.word.size() && is_letter(word[unit.word.size()])) continue;
    used += blanks + unit.word.size();
    return Stated{number->value * unit.seconds, number->half_unit * unit.seconds};
  }
  return number;
}

}  // namespace assay
