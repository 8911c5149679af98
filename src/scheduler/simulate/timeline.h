#pragma once

#include <string>

#include "scheduler/simulate/simulation.h"

namespace assay {

/// GPUs that a picture has room for.
inline constexpr std::size_t kTimelineRows = 64;

/// Who had which GPU when, as an SVG file: a row per GPU that was kept, a colour per user (the eight with most jobs;
/// others are grey). Of more spans than a picture can show, those shorter than a pixel are drawn as one.
std::string timeline_svg(const std::string& title, const Trace& trace, const std::vector<NodeOffer>& nodes,
                         const SimulatedRun& run);

}  // namespace assay
