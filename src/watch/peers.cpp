#include "watch/peers.h"

#include <cmath>
#include <limits>

#include "analysis/statistics.h"
#include "watch/unknown.h"

namespace assay {
namespace {

/// Robust standard deviations that belong to the usual spread.
constexpr double kUsualSpread = 4;
/// From this share of the time at the power limit on, the limit explains a low clock.
constexpr double kOftenCapped = 0.5;

struct Mean {
  double sum = 0;
  int count = 0;
  void add(double value) {
    if (std::isnan(value)) return;
    sum += value;
    ++count;
  }
  double value() const { return count == 0 ? kUnknown : sum / count; }
};

std::string key_of(const PeerFigures& node) { return std::string(node.model) + (node.simulated ? "\nsimulated" : ""); }

}  // namespace

PeerFigures figures_of(const NodeView& node, std::span<const GpuTrack> gpus) {
  Mean temperature, clock, power, capped;
  for (const GpuTrack& gpu : gpus) {
    if (!gpu.busy()) continue;
    temperature.add(gpu.temperature.value());
    clock.add(gpu.clock.value());
    power.add(gpu.power.value());
    capped.add(gpu.capped.value());
  }
  return {.model = node.gpus.empty() ? std::string_view() : std::string_view(node.gpus.front().model),
          .simulated = node.simulated,
          .temperature = temperature.value(),
          .clock = clock.value(),
          .power = power.value(),
          .capped = capped.value()};
}

void Peers::Figure::add(double value) {
  if (!std::isnan(value)) values.push_back(value);
}

void Peers::Figure::finish() {
  median = values.size() < kFewest ? kUnknown : assay::median(values);
  spread = values.size() < kFewest ? kUnknown : kMadToSigma * median_absolute_deviation(values);
}

void Peers::add(const PeerFigures& node) {
  if (node.model.empty()) return;
  Group& group = groups_[key_of(node)];
  group.temperature.add(node.temperature);
  group.clock.add(node.clock);
  group.power.add(node.power);
}

void Peers::finish() {
  for (auto& [key, group] : groups_) {
    group.temperature.finish();
    group.clock.finish();
    group.power.finish();
  }
}

const Peers::Group* Peers::group_of(const PeerFigures& node) const {
  const auto group = groups_.find(key_of(node));
  return group == groups_.end() ? nullptr : &group->second;
}

double Peers::temperature_beyond(const PeerFigures& node) const {
  const Group* group = group_of(node);
  if (group == nullptr || node.power > kMorePower * group->power.median) return 0;
  const double beyond = node.temperature - group->temperature.median;
  return beyond > kUsualSpread * group->temperature.spread ? beyond : 0;
}

double Peers::clock_behind(const PeerFigures& node) const {
  const Group* group = group_of(node);
  if (group == nullptr || node.capped > kOftenCapped) return 0;
  const double behind = group->clock.median - node.clock;
  return behind > kUsualSpread * group->clock.spread ? behind / group->clock.median : 0;
}

}  // namespace assay
