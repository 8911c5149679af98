#pragma once

#include <optional>
#include <span>

namespace assay {

// Laws of scalability, fitted to measured speed-ups by least squares of the relative error. Pure.

struct SpeedupPoint {
  double ranks = 1;
  double speedup = 1;  ///< against one rank; > 0
};

/// Amdahl: speed-up = 1 / (s + (1−s)/n).
struct AmdahlFit {
  double serial_share = 0;      ///< s, within [0, 1]
  std::optional<double> limit;  ///< 1/s, the speed-up that no number of ranks exceeds; none where s = 0
  double relative_error = 0;    ///< root mean square over the points that are not one rank
  double predict(double ranks) const;
};

/// Gunther's Universal Scalability Law: speed-up = n / (1 + σ(n−1) + κ·n(n−1)).
struct UniversalFit {
  double contention = 0;             ///< σ, within [0, 1]
  double coherence = 0;              ///< κ ≥ 0
  std::optional<double> best_ranks;  ///< where speed-up peaks, √((1−σ)/κ); none where it never falls
  double relative_error = 0;
  bool exact = false;  ///< two sizes for two parameters: nothing is left to tell how good the fit is
  double predict(double ranks) const;
};

/// Needs a size other than one rank.
std::optional<AmdahlFit> fit_amdahl(std::span<const SpeedupPoint> points);
/// Needs two different sizes other than one rank.
std::optional<UniversalFit> fit_universal(std::span<const SpeedupPoint> points);

}  // namespace assay
