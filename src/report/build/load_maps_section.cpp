#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/build/sections.h"

namespace assay {

std::optional<Section> load_maps_section(const Answers& answers) {
  constexpr std::array kMapped = {"samples_per_second", "tokens_per_second", "latency_p99_seconds", "ttft_p99_seconds",
                                  "goodput_per_second"};
  std::vector<const Arm*> loads;
  for (const auto& arm : answers.arms) {
    if (arm.any().kind == "serve") loads.push_back(&arm);
  }
  Section section;
  for (const auto* metric : kMapped) {
    const auto has = [&](const Arm* arm) { return mean_metric(*arm, metric).has_value(); };
    if (std::none_of(loads.begin(), loads.end(), has)) continue;
    if (auto chart = heat_chart(loads, metric, fmt::format("load_map_{}", metric)))
      section.blocks.emplace_back(std::move(*chart));
  }
  return section.blocks.empty() ? std::nullopt : std::optional(std::move(section));
}

}  // namespace assay
