#include "watch/gpu_track.h"

#include <algorithm>

#include "watch/unknown.h"

namespace assay {
namespace {

/// Less memory than this may be the driver's own.
constexpr double kHeldMemory = 0.05;
/// Fewer have no median worth the name.
constexpr std::size_t kFewestOthers = 3;

/// Utilisation, or, where the driver has none (MIG instances), the share of time in which SMs are at work.
double use_of(const GpuView& gpu) {
  return std::isnan(gpu[GpuField::util]) ? gpu[GpuField::sm_active] : gpu[GpuField::util];
}

bool is_allocated(const GpuView& gpu) {
  return gpu.processes > 0 || gpu[GpuField::memory_used_bytes] > kHeldMemory * gpu[GpuField::memory_total_bytes];
}

/// The median of one figure over the other GPUs of the node that `counts` admits; NaN if they are too few.
template <typename Counts, typename Figure>
double median_of_others(std::span<const GpuTrack> node, std::size_t place, Counts counts, Figure figure) {
  // A node has at most a few dozen devices; more, as MIG instances, are not needed for a median.
  std::array<double, 64> values;
  std::size_t count = 0;
  for (std::size_t i = 0; i < node.size() && count < values.size(); ++i) {
    if (i == place || !counts(node[i])) continue;
    const double value = figure(node[i]);
    if (!std::isnan(value)) values[count++] = value;
  }
  if (count < kFewestOthers) return kUnknown;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(count));
  if (count % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool busy(const GpuTrack& gpu) { return gpu.busy(); }

/// A comparison that cannot be made finds nothing.
double or_nothing(double value) { return std::isnan(value) ? 0 : value; }

double temperature_beyond_others(std::span<const GpuTrack> node, std::size_t place) {
  const GpuTrack& self = node[place];
  const double power = median_of_others(node, place, busy, [](const GpuTrack& gpu) { return gpu.power.value(); });
  if (self.power.value() > kMorePower * power) return 0;
  const double others =
      median_of_others(node, place, busy, [](const GpuTrack& gpu) { return gpu.temperature.value(); });
  return or_nothing(self.temperature.value() - others);
}

double clock_behind_others(std::span<const GpuTrack> node, std::size_t place) {
  const double others = median_of_others(node, place, busy, [](const GpuTrack& gpu) { return gpu.clock.value(); });
  return or_nothing(1 - node[place].clock.value() / others);
}

double use_behind_others(std::span<const GpuTrack> node, std::size_t place) {
  const double others = median_of_others(
      node, place, [](const GpuTrack& gpu) { return gpu.allocated; },
      [](const GpuTrack& gpu) { return gpu.steady_use.value(); });
  return others >= GpuTrack::kBusy ? or_nothing(others - node[place].steady_use.value()) : 0;
}

}  // namespace

void GpuTrack::add(const GpuView& gpu, const Smoothing& smoothing, WallTime now) {
  const double utilisation = use_of(gpu);
  use.add(utilisation, smoothing.minute);
  steady_use.add(utilisation, smoothing.five_minutes);
  temperature.add(gpu[GpuField::temperature_c], smoothing.minute);
  power.add(gpu[GpuField::power_w], smoothing.minute);
  clock.add(gpu[GpuField::sm_clock_mhz], smoothing.minute);
  thermal.add(gpu[GpuField::throttle_thermal], smoothing.share);
  capped.add(gpu[GpuField::throttle_power], smoothing.share);
  // The bit of the hardware is also set when it slows because of temperature, which has a rule of its own.
  const bool by_heat = gpu[GpuField::throttle_thermal] > 0;
  hardware.add(by_heat ? 0 : gpu[GpuField::throttle_hardware], smoothing.share);
  memory.add(gpu[GpuField::memory_used_bytes], gpu[GpuField::memory_total_bytes], now);
  allocated = is_allocated(gpu);
}

void GpuTrack::pause() {
  for (RuleCondition& condition : conditions) condition.pause();
}

GpuLevels gpu_levels(const GpuView& gpu, std::span<const GpuTrack> node, std::size_t place, double idle_level) {
  const GpuTrack& self = node[place];
  GpuLevels levels{};
  const auto set = [&](RuleId rule, double value) { levels[static_cast<std::size_t>(rule)] = value; };
  set(RuleId::overheating, gpu[GpuField::temperature_c]);
  set(RuleId::memory_overheating, gpu[GpuField::memory_temperature_c]);
  set(RuleId::thermal_throttling, self.thermal.value());
  set(RuleId::hardware_throttling, self.hardware.value());
  set(RuleId::power_capping, self.capped.value());
  const bool use_known = !std::isnan(self.use.value());
  const auto when_busy = [&](auto compare) { return self.busy() ? compare(node, place) : use_known ? 0.0 : kUnknown; };
  set(RuleId::gpu_temperature_imbalance, when_busy(temperature_beyond_others));
  set(RuleId::gpu_clock_imbalance, when_busy(clock_behind_others));
  set(RuleId::gpu_use_imbalance, self.allocated ? use_behind_others(node, place) : 0);
  const double steady = self.steady_use.value();
  const bool only_little = self.allocated && !(steady < idle_level);
  set(RuleId::under_use, only_little ? steady : kInfinity);
  set(RuleId::allocated_but_idle, self.allocated ? self.use.value() : kInfinity);
  set(RuleId::gpu_memory_leak, self.memory.seconds_to_full());
  return levels;
}

}  // namespace assay
