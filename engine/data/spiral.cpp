#include "data/spiral.h"

#include <array>
#include <cmath>

#include "data/batch_rows.h"
#include "data/describe.h"

namespace assay::engine {
namespace {

constexpr double kStartRadius = 0.5;
constexpr double kRadiusGrowth = 3.5;
constexpr double kTurns = 1.25;
// Three 64-bit numbers per sample are one and a half blocks of the generator.
constexpr std::uint64_t kBlocksPerSample = 2;

struct Direction {
  double cosine;
  double sine;
};

/// Only additions and products, since the sine of libm is not the same on every CPU.
Direction direction(double turns) {
  const double quarters = std::floor(turns * 4 + 0.5);
  constexpr double kQuarterTurn = 1.5707963267948966;
  const double angle = (turns * 4 - quarters) * kQuarterTurn;  // within ± 1/8 turn
  const double square = angle * angle;
  double cosine = 0;
  double sine = 0;
  for (int i = 8; i >= 0; --i) {  // Taylor series, from the smallest term
    cosine = 1 - cosine * square / ((2 * i + 1) * (2 * i + 2));
    sine = 1 - sine * square / ((2 * i + 2) * (2 * i + 3));
  }
  sine *= angle;
  const auto quadrant = static_cast<unsigned>(static_cast<std::int64_t>(quarters) & 3);
  const std::array<Direction, 4> rotated = {{{cosine, sine}, {-sine, cosine}, {-cosine, -sine}, {sine, -cosine}}};
  return rotated[quadrant];
}

}  // namespace

Spiral::Spiral(const Options& options)
    : options_(options),
      shape_{.kind = DataShape::Kind::vectors, .features = 2, .classes = options.arms},
      random_(options.seed, "data.spiral") {}

void Spiral::fill(std::span<const std::int64_t> indices, Batch& batch) const {
  BatchRows<float> rows(shape_, batch, indices.size());
  Random random = random_;
  for (std::size_t row = 0; row < indices.size(); ++row) {
    const std::int64_t arm = indices[row] % options_.arms;
    random.skip_to(static_cast<std::uint64_t>(indices[row]) * kBlocksPerSample);
    const double way = random.uniform();
    const double radius = kStartRadius + kRadiusGrowth * way;
    const Direction at = direction(kTurns * way + static_cast<double>(arm) / static_cast<double>(options_.arms));
    const double x = radius * at.cosine + random.normal(0, options_.noise);
    const double y = radius * at.sine + random.normal(0, options_.noise);
    rows.inputs(row)[0] = static_cast<float>(x);
    rows.inputs(row)[1] = static_cast<float>(y);
    rows.targets(row)[0] = arm;
  }
}

std::string Spiral::description() const {
  return "spiral, " + grouped(options_.samples) + " samples, " + grouped(options_.arms) + " arms, noise " +
         shortest(options_.noise);
}

}  // namespace assay::engine
