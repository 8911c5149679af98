#include "report/text/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

namespace assay {
namespace {

constexpr std::array<std::string_view, 8> kEighths = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kPlain = {"_", ".", ",", "-", "~", "=", "^", "#"};

std::vector<double> slice_means(std::span<const double> values, std::size_t width) {
  std::vector<double> means;
  for (std::size_t i = 0; i < width; ++i) {
    double sum = 0;
    std::size_t count = 0;
    for (std::size_t j = i * values.size() / width; j < (i + 1) * values.size() / width; ++j) {
      if (!std::isfinite(values[j])) continue;
      sum += values[j];
      ++count;
    }
    means.push_back(count ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN());
  }
  return means;
}

}  // namespace

std::string sparkline(std::span<const double> values, std::size_t width, const TerminalStyle& style) {
  const auto means = slice_means(values, std::min(width, values.size()));
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double mean : means) {
    if (!std::isfinite(mean)) continue;
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
  std::string line;
  for (const double mean : means) {
    if (!std::isfinite(mean)) {
      line += ' ';
      continue;
    }
    const double height = high > low ? (mean - low) / (high - low) : 0.5;
    const auto level = static_cast<std::size_t>(std::lround(height * 7));
    line += style.pick(kEighths[level], kPlain[level]);
  }
  return line;
}

}  // namespace assay
