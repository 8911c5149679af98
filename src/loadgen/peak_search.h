#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

// The highest rate that keeps the limits, in few probes. Pure: it says which rate to try next and is told what came of
// it.
//
// It doubles the rate until a probe fails, then halves the interval on a logarithmic scale. A probe that the server
// could not keep up with tells its capacity, which bounds the search from above at once, however far beyond it was. The
// rate that is left is probed once more: a passing rate was chosen among several, and the last probe is one that was
// not chosen.

enum class ProbeVerdict {
  kept,            ///< every limit was kept, with 99 % confidence
  missed,          ///< a limit was not kept, or not shown to be
  client_limited,  ///< the client could not deliver that rate: nothing is known about the server
};

struct LoadProbe {
  double rate = 0;                  ///< asked for
  double completed_per_second = 0;  ///< that ended well
  ProbeVerdict verdict = ProbeVerdict::missed;
};

struct PeakSearchOptions {
  double first = 1;      ///< rate of the first probe; > 0
  double lowest = 1e-3;  ///< below this there is no peak
  double highest = 1e7;
  double precision = 0.05;  ///< the peak lies within this share above the rate that is named
  std::uint32_t most_probes = 24;
};

struct PeakFinding {
  std::optional<double> rate;       ///< the highest that kept the limits and did so again; none: no rate did
  std::optional<double> next_rate;  ///< the lowest above it that did not; none: the search ended before one was found
  std::optional<double> capacity;   ///< what the server completed when it could not keep up
  double confidence = 0;            ///< that each limit is kept at `rate`: 0.99, or 0 where there is none
  bool client_limited = false;      ///< the client gave out first: the true peak is not below `rate`
  bool precise = false;             ///< found to the precision asked for, within the number of probes
  std::uint32_t probes = 0;
};

class PeakSearch {
 public:
  explicit PeakSearch(const PeakSearchOptions& options);
  /// The rate to probe next; none: `finding` is final. Probes must differ in their random numbers.
  std::optional<double> next() const;
  void take(const LoadProbe& probe);
  PeakFinding finding() const;
  std::span<const LoadProbe> probes() const { return probes_; }

 private:
  bool narrow() const;

  PeakSearchOptions options_;
  std::vector<LoadProbe> probes_;
  std::vector<double> kept_;      ///< ascending
  std::optional<double> missed_;  ///< lowest
  std::optional<double> capacity_;
  std::optional<double> again_;  ///< a rate that the client did not deliver, once so far
  bool confirmed_ = false;
  bool client_limited_ = false;
};

/// Where a server stops to keep up.
struct SaturationKnee {
  double rate = 0;      ///< offered, at which 95 % of it are completed; between two probes by interpolation
  double capacity = 0;  ///< most that was completed
  bool operator==(const SaturationKnee&) const = default;
};
/// None: it kept up with every probe, or with none. Any order; probes that the client limited are left out.
std::optional<SaturationKnee> find_knee(std::span<const LoadProbe> probes);

}  // namespace assay
