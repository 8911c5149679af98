#include "analysis/scaling_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "analysis/statistics.h"
#include "base/portable_math.h"
#include "base/random.h"

namespace assay {
namespace {

bool tells_something(const SpeedupPoint& point) {
  return point.ranks > 1 && point.speedup > 0 && std::isfinite(point.speedup);
}

template <typename Fit>
double relative_error(const Fit& fit, std::span<const SpeedupPoint> points) {
  double squares = 0;
  double count = 0;
  for (const auto& point : points) {
    if (!tells_something(point)) continue;
    const double error = fit.predict(point.ranks) / point.speedup - 1;
    squares += error * error;
    ++count;
  }
  return std::sqrt(squares / count);
}

/// Sums for the least squares of n/speedup − 1 = σ·u + κ·v with u = n−1 and v = n(n−1). Dividing each equation by
/// n/speedup makes the error relative.
struct NormalEquations {
  double uu = 0, uv = 0, vv = 0, uy = 0, vy = 0, yy = 0;
  void add(const SpeedupPoint& point) {
    const double scale = point.speedup / point.ranks;
    const double u = (point.ranks - 1) * scale;
    const double v = point.ranks * u;
    const double y = 1 - scale;
    uu += u * u;
    uv += u * v;
    vv += v * v;
    uy += u * y;
    vy += v * y;
    yy += y * y;
  }
  double cost(double sigma, double kappa) const {
    return yy - 2 * (sigma * uy + kappa * vy) + sigma * sigma * uu + 2 * sigma * kappa * uv + kappa * kappa * vv;
  }
};

/// The best (σ, κ) with 0 ≤ σ ≤ 1 and κ ≥ 0: the free optimum if it is allowed, else the best one on an edge.
std::array<double, 2> constrained_optimum(const NormalEquations& e) {
  const double determinant = e.uu * e.vv - e.uv * e.uv;
  const double sigma = (e.uy * e.vv - e.vy * e.uv) / determinant;
  const double kappa = (e.vy * e.uu - e.uy * e.uv) / determinant;
  if (sigma >= 0 && sigma <= 1 && kappa >= 0) return {sigma, kappa};
  const std::array<std::array<double, 2>, 3> edges = {{
      {std::clamp(e.uy / e.uu, 0.0, 1.0), 0},
      {0, std::max(0.0, e.vy / e.vv)},
      {1, std::max(0.0, (e.vy - e.uv) / e.vv)},
  }};
  return *std::min_element(edges.begin(), edges.end(),
                           [&](const auto& x, const auto& y) { return e.cost(x[0], x[1]) < e.cost(y[0], y[1]); });
}

}  // namespace

double AmdahlFit::predict(double ranks) const { return 1 / (serial_share + (1 - serial_share) / ranks); }

double UniversalFit::predict(double ranks) const {
  return ranks / (1 + contention * (ranks - 1) + coherence * ranks * (ranks - 1));
}

std::optional<AmdahlFit> fit_amdahl(std::span<const SpeedupPoint> points) {
  // n/speedup − 1 = s·(n−1), the Universal Scalability Law without its second term.
  NormalEquations equations;
  for (const auto& point : points) {
    if (tells_something(point)) equations.add(point);
  }
  if (equations.uu == 0) return std::nullopt;
  AmdahlFit fit;
  fit.serial_share = std::clamp(equations.uy / equations.uu, 0.0, 1.0);
  if (fit.serial_share > 0) fit.limit = 1 / fit.serial_share;
  fit.relative_error = relative_error(fit, points);
  return fit;
}

std::optional<UniversalFit> fit_universal(std::span<const SpeedupPoint> points) {
  NormalEquations equations;
  std::set<double> sizes;
  for (const auto& point : points) {
    if (!tells_something(point)) continue;
    equations.add(point);
    sizes.insert(point.ranks);
  }
  if (sizes.size() < 2) return std::nullopt;
  UniversalFit fit;
  const auto [sigma, kappa] = constrained_optimum(equations);
  fit.contention = sigma;
  fit.coherence = kappa;
  if (kappa > 0) fit.best_ranks = std::max(1.0, std::sqrt((1 - sigma) / kappa));
  fit.relative_error = relative_error(fit, points);
  fit.exact = sizes.size() == 2;
  return fit;
}

namespace {

/// Enough for the ends of a 95 % interval to stand to about a tenth of its width.
constexpr int kDraws = 1000;
/// A law that is further off describes nothing: sizes that are slower than one rank have no serial share.
constexpr double kWorstFit = 0.25;

/// What the mean of a size might as well have been, as a factor: Student's t on the logarithmic scale.
double drawn_factor(const SpeedupPoint& point, Random& random) {
  const double normal = random.normal(0, 1);
  const double chi_squared = random.gamma(point.degrees / 2, 2);
  return portable_exp(point.relative_error * normal / std::sqrt(chi_squared / point.degrees));
}

Interval spread_of(std::vector<double> values, double confidence) {
  const double tail = (1 - confidence) / 2;
  return {percentile_interpolated(values, tail), percentile_interpolated(values, 1 - tail), confidence};
}

bool has_noise(const SpeedupPoint& point) { return point.degrees > 0; }

void add_intervals(ScalingLaw& law, const SpeedupPoint& baseline, std::span<const SpeedupPoint> points,
                   double confidence) {
  if (!has_noise(baseline) || !std::all_of(points.begin(), points.end(), has_noise)) return;
  Random random(1, "scaling law");
  std::vector<double> serial;
  std::vector<double> contention;
  std::vector<double> coherence;
  for (int i = 0; i < kDraws; ++i) {
    const double base = drawn_factor(baseline, random);
    std::vector<SpeedupPoint> drawn(points.begin(), points.end());
    for (auto& point : drawn) point.speedup *= drawn_factor(point, random) / base;
    serial.push_back(fit_amdahl(drawn)->serial_share);
    if (!law.universal) continue;
    const auto fit = fit_universal(drawn);
    contention.push_back(fit->contention);
    coherence.push_back(fit->coherence);
  }
  law.amdahl->serial_share_interval = spread_of(std::move(serial), confidence);
  if (!law.universal) return;
  law.universal->contention_interval = spread_of(std::move(contention), confidence);
  law.universal->coherence_interval = spread_of(std::move(coherence), confidence);
}

bool falls_beyond_noise(const UniversalFit& fit) {
  if (fit.coherence_interval) return fit.coherence_interval->low > 0;
  return fit.coherence > 0 && !fit.exact;
}

}  // namespace

ScalingLaw fit_scaling_law(const SpeedupPoint& baseline, std::span<const SpeedupPoint> points, double confidence) {
  std::vector<SpeedupPoint> telling;
  std::copy_if(points.begin(), points.end(), std::back_inserter(telling), tells_something);
  ScalingLaw law{fit_amdahl(telling), fit_universal(telling)};
  if (!law.amdahl) return law;
  add_intervals(law, baseline, telling, confidence);
  if (law.universal && falls_beyond_noise(*law.universal)) {
    law.amdahl.reset();
  } else {
    law.universal.reset();
  }
  const double error = law.universal ? law.universal->relative_error : law.amdahl->relative_error;
  if (error > kWorstFit) return {};
  return law;
}

}  // namespace assay
