#pragma once

#include <optional>
#include <span>

#include "analysis/interval.h"

namespace assay {

// Laws of scalability, fitted to measured speed-ups by least squares of the relative error. Pure.

struct SpeedupPoint {
  double ranks = 1;
  double speedup = 1;  ///< against one rank; > 0
  /// How well the mean of this size's repeats is known: its relative standard error, and the degrees of freedom.
  /// 0 degrees: not known.
  double relative_error = 0;
  double degrees = 0;
};

/// Amdahl: speed-up = 1 / (s + (1−s)/n).
struct AmdahlFit {
  double serial_share = 0;      ///< s, within [0, 1]
  std::optional<double> limit;  ///< 1/s, the speed-up that no number of ranks exceeds; none where s = 0
  double relative_error = 0;    ///< root mean square over the points that are not one rank
  std::optional<Interval> serial_share_interval;
  double predict(double ranks) const;
};

/// Gunther's Universal Scalability Law: speed-up = n / (1 + σ(n−1) + κ·n(n−1)).
struct UniversalFit {
  double contention = 0;             ///< σ, within [0, 1]
  double coherence = 0;              ///< κ ≥ 0
  std::optional<double> best_ranks;  ///< where speed-up peaks, √((1−σ)/κ); none where it never falls
  double relative_error = 0;
  bool exact = false;  ///< two sizes for two parameters: nothing is left to tell how good the fit is
  std::optional<Interval> contention_interval;
  std::optional<Interval> coherence_interval;
  double predict(double ranks) const;
};

/// Needs a size other than one rank.
std::optional<AmdahlFit> fit_amdahl(std::span<const SpeedupPoint> points);
/// Needs two different sizes other than one rank.
std::optional<UniversalFit> fit_universal(std::span<const SpeedupPoint> points);

/// The law that the points support: the Universal Scalability Law where its fall beyond the peak is more than noise,
/// else Amdahl's, of which it is an extension. Never both, since their bounds contradict each other.
struct ScalingLaw {
  std::optional<AmdahlFit> amdahl;
  std::optional<UniversalFit> universal;
};
/// `baseline` is one rank, whose error all speed-ups share. Intervals come from the noise of the repeats, drawn again
/// and again from a fixed seed; without repeats there are none, and a fall is believed from three sizes on.
ScalingLaw fit_scaling_law(const SpeedupPoint& baseline, std::span<const SpeedupPoint> points,
                           double confidence = 0.95);

}  // namespace assay
