#include "requests/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/portable_math.h"

namespace assay {
namespace {

Error wrong_lengths(std::string message) { return {.kind = ErrorKind::bad_spec, .message = std::move(message)}; }

}  // namespace

Lengths Lengths::fixed(std::uint32_t tokens) {
  Lengths made;
  made.bounds_ = {tokens, tokens};
  made.mean_ = tokens;
  return made;
}

Result<void> Lengths::check(double mean, double deviation, Bounds bounds) {
  if (bounds.least > bounds.most) {
    return wrong_lengths(fmt::format("the least length {} is above the greatest {}", bounds.least, bounds.most));
  }
  if (!(deviation >= 0) || !std::isfinite(deviation)) {
    return wrong_lengths(fmt::format("the deviation {} of lengths must be 0 or more", deviation));
  }
  if (!(mean >= bounds.least && mean <= bounds.most)) {
    return wrong_lengths(fmt::format("the mean length {} is not within {} and {}", mean, bounds.least, bounds.most));
  }
  return {};
}

Result<Lengths> Lengths::uniform(Bounds bounds) {
  const double mean = (static_cast<double>(bounds.least) + bounds.most) / 2;
  ASSAY_CHECK(check(mean, 0, bounds));
  Lengths made;
  made.shape_ = Shape::uniform;
  made.bounds_ = bounds;
  made.mean_ = mean;
  return made;
}

Result<Lengths> Lengths::normal(double mean, double deviation, Bounds bounds) {
  ASSAY_CHECK(check(mean, deviation, bounds));
  Lengths made;
  made.shape_ = Shape::normal;
  made.bounds_ = bounds;
  made.mean_ = mean;
  made.first_ = mean;
  made.second_ = deviation;
  return made;
}

Result<Lengths> Lengths::lognormal(double mean, double deviation, Bounds bounds) {
  ASSAY_CHECK(check(mean, deviation, bounds));
  if (!(mean > 0)) return wrong_lengths(fmt::format("the mean {} of lognormal lengths must be above 0", mean));
  const double ratio = deviation / mean;
  const double variance = portable_log(1 + ratio * ratio);
  Lengths made;
  made.shape_ = Shape::lognormal;
  made.bounds_ = bounds;
  made.mean_ = mean;
  made.first_ = portable_log(mean) - variance / 2;
  made.second_ = std::sqrt(variance);
  return made;
}

Result<Lengths> Lengths::histogram(std::vector<std::uint32_t> seen) {
  if (seen.empty()) return wrong_lengths("there is no length to draw from");
  Lengths made;
  made.shape_ = Shape::histogram;
  const auto [least, most] = std::minmax_element(seen.begin(), seen.end());
  made.bounds_ = {*least, *most};
  double sum = 0;
  for (const std::uint32_t length : seen) sum += length;
  made.mean_ = sum / static_cast<double>(seen.size());
  made.seen_ = std::move(seen);
  return made;
}

std::uint32_t Lengths::draw(Random& random) const {
  double drawn = 0;
  switch (shape_) {
    case Shape::fixed: return bounds_.most;
    case Shape::uniform:
      return bounds_.least + static_cast<std::uint32_t>(random.below(std::uint64_t{bounds_.most} - bounds_.least + 1));
    case Shape::histogram: return seen_[static_cast<std::size_t>(random.below(seen_.size()))];
    case Shape::normal: drawn = random.normal(first_, second_); break;
    case Shape::lognormal: drawn = random.lognormal(first_, second_); break;
  }
  // The sum is below 2^32 after the bounds were kept, and rounds half up the same everywhere.
  return static_cast<std::uint32_t>(
      std::clamp(drawn, static_cast<double>(bounds_.least), static_cast<double>(bounds_.most)) + 0.5);
}

double Lengths::mean() const { return mean_; }

}  // namespace assay
