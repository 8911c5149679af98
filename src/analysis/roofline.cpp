#include "analysis/roofline.h"

#include <algorithm>
#include <cmath>

namespace assay {

double ridge_intensity(const RooflineCeiling& compute, const RooflineCeiling& bandwidth) {
  return compute.value / bandwidth.value;
}

std::optional<RooflinePoint> place_on_roofline(const RooflineWork& work, const RooflineCeiling& compute,
                                               const RooflineCeiling& bandwidth) {
  const auto usable = [](double value) { return value > 0 && std::isfinite(value); };
  if (!usable(work.flops) || !usable(work.bytes) || !usable(work.seconds) || !usable(compute.value) ||
      !usable(bandwidth.value)) {
    return std::nullopt;
  }
  RooflinePoint point{.name = work.name};
  point.intensity = work.flops / work.bytes;
  point.achieved = work.flops / work.seconds;
  point.attainable = std::min(compute.value, point.intensity * bandwidth.value);
  point.share = point.achieved / point.attainable;
  point.bound = point.intensity < ridge_intensity(compute, bandwidth) ? BoundBy::memory : BoundBy::compute;
  return point;
}

}  // namespace assay
