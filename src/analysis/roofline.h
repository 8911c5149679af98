#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

// Where a workload stands between memory bandwidth and arithmetic. Pure. Ceilings are measured on the device at hand
// (by its own micro-benchmarks), so that a share of the roof says what this device could do, not a data sheet.

struct RooflineCeiling {
  std::string name;  ///< "bf16", "memory"
  double value = 0;  ///< FLOP/s, or bytes/s; > 0
};
struct Roofline {
  std::vector<RooflineCeiling> compute;    ///< one per precision
  std::vector<RooflineCeiling> bandwidth;  ///< GPU memory, cache, PCIe
};

/// One run or kernel: what it did, and how long it took.
struct RooflineWork {
  std::string name;
  double flops = 0;
  double bytes = 0;  ///< moved through the bandwidth ceiling it is held against
  double seconds = 0;
};

enum class BoundBy { memory, compute };

struct RooflinePoint {
  std::string name;
  double intensity = 0;   ///< FLOP per byte
  double achieved = 0;    ///< FLOP/s
  double attainable = 0;  ///< FLOP/s: the lower of both ceilings at this intensity
  double share = 0;       ///< achieved / attainable; above 1, a ceiling or a count is wrong
  BoundBy bound = BoundBy::memory;
};

/// The intensity at which memory stops being the limit.
double ridge_intensity(const RooflineCeiling& compute, const RooflineCeiling& bandwidth);

/// None where a figure is not positive.
std::optional<RooflinePoint> place_on_roofline(const RooflineWork& work, const RooflineCeiling& compute,
                                               const RooflineCeiling& bandwidth);

}  // namespace assay
