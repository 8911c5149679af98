#include "serving/serve_schedule.h"

#include <algorithm>

#include "loadgen/mlperf_schedule.h"

namespace assay {
namespace {

std::uint64_t seed_of(const ServeSettings& settings, std::uint32_t number) {
  return settings.seed + number * 0x9E3779B97F4A7C15u;  // far apart: neighbouring seeds are other runs'
}

std::unique_ptr<ArrivalProcess> arrivals_of(const ServeSettings& settings, const ServeRequests& requests,
                                            std::uint64_t seed) {
  switch (settings.scenario) {
    case Scenario::server:
      if (settings.loadgen_randomness) {
        return std::make_unique<MlperfServerArrivals>(settings.rate, MlperfSeeds().schedule);
      }
      return std::make_unique<PoissonArrivals>(settings.rate, seed);
    case Scenario::constant: return std::make_unique<ConstantArrivals>(settings.rate);
    case Scenario::burst: return std::make_unique<BurstArrivals>(settings.rate, settings.unevenness, seed);
    case Scenario::ramp: return std::make_unique<RampArrivals>(settings.ramp, seed);
    case Scenario::trace: return std::make_unique<TraceArrivals>(requests.times, settings.speed_up);
    case Scenario::single_stream:
    case Scenario::multi_stream:
    case Scenario::offline:
    case Scenario::closed: return nullptr;
  }
  return nullptr;
}

std::unique_ptr<SampleOrder> order_of(const ServeSettings& settings, const LoadPlan& plan,
                                      const ServeRequests& requests, std::uint64_t seed) {
  if (settings.accuracy || settings.scenario == Scenario::trace) {
    return std::make_unique<SamplesInOrder>(requests.samples);
  }
  if (settings.loadgen_randomness) {
    return std::make_unique<MlperfSampleOrder>(MlperfOrderOptions{.scenario = settings.scenario,
                                                                  .performance_samples = requests.samples,
                                                                  .samples_per_query = plan.samples_per_query,
                                                                  .min_queries = plan.min_queries,
                                                                  .equal_issue = settings.loadgen_equal_issue});
  }
  if (settings.scenario == Scenario::offline) return std::make_unique<RepeatedShuffle>(requests.samples, seed);
  return std::make_unique<ShuffledSamples>(requests.samples, seed);
}

}  // namespace

LoadSchedule schedule_of(const ServeSettings& settings, const LoadPlan& plan, const ServeRequests& requests,
                         std::uint32_t number) {
  const std::uint64_t seed = seed_of(settings, number);
  return {arrivals_of(settings, requests, seed), order_of(settings, plan, requests, seed)};
}

std::uint64_t expected_requests(const ServeSettings& settings, const LoadPlan& plan) {
  const Nanos all = plan.warmup + plan.min_duration;
  double by_time = settings.rate * seconds_of(all);
  if (settings.scenario == Scenario::ramp) by_time = expected_arrivals(settings.ramp, all);
  return std::max<std::uint64_t>(plan.min_queries * plan.samples_per_query, static_cast<std::uint64_t>(by_time * 1.1));
}

}  // namespace assay
