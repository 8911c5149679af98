#include "serving/carried_load.h"

#include <fmt/format.h>

#include <algorithm>

#include "serving/serve_schedule.h"

namespace assay {
namespace {

/// A server that always has enough to do says what it can complete.
ServeSettings busy_settings(const ServeSettings& settings) {
  constexpr std::uint32_t kEnoughToDo = 64;
  constexpr Nanos kLong = std::chrono::seconds(2);
  ServeSettings busy = settings;
  busy.find_peak = false;
  busy.limits.clear();
  busy.scenario = Scenario::closed;
  busy.concurrency = std::max(kEnoughToDo, settings.clients);
  busy.rate = 0;
  busy.samples = 2 * busy.concurrency;
  busy.min_duration = std::min(settings.min_duration, kLong);
  busy.warmup = Nanos(0);
  return busy;
}

}  // namespace

ServeSettings settings_of_load(const ServeSettings& settings, const LoadOrder& order) {
  switch (order.purpose) {
    case LoadOrder::Purpose::settings: return settings;
    case LoadOrder::Purpose::capacity: return busy_settings(settings);
    case LoadOrder::Purpose::probe: break;
  }
  ServeSettings probe = settings;
  probe.rate = order.rate;
  return probe;
}

Result<CarriedLoad> carry_load(const ServeSettings& settings, const LoadCarrier& carrier, const LoadOrder& order,
                               const std::function<Result<SteadyTime>()>& agree_start, LoadWatch watch,
                               const std::stop_token& stopping) {
  CarriedLoad load;
  ASSAY_TRY(load.requests, make_serve_requests(settings, fmt::format("{}/{}", carrier.run, order.number)));
  load.requests.set = requests_of_share(std::move(load.requests.set), carrier.share.index, carrier.share.count);
  load.plan = plan_of(settings, load.requests, carrier.share);
  ASSAY_TRY(load.target, carrier.make_target(settings, load.requests));
  const LoadSchedule schedule = schedule_of(settings, load.plan, load.requests, order.number);
  load.recorder = std::make_unique<QueryRecorder>(
      QueryRecorderOptions{.expected = expected_requests(settings, load.plan) / carrier.share.count,
                           .token_times = settings.token_times,
                           .texts = settings.accuracy});
  LoadReporter reporter(*load.recorder, settings.limits, std::move(watch));
  // Whoever stops the run stops the load; so does a watch that has seen enough.
  const std::stop_callback hand_on(stopping, [&] { reporter.stop_load.request_stop(); });
  SpinningClock clock;
  LoadParts parts{schedule.arrivals.get(), *schedule.order, *load.target, *load.recorder, clock};
  if (agree_start) {
    parts.agree_start = [&]() -> Result<SteadyTime> {
      ASSAY_TRY(const auto start, agree_start());
      reporter.begin(start);
      return start;
    };
  }
  auto ending = run_load(load.plan, parts, reporter.stop_load.get_token());
  reporter.finish();
  if (!ending) return std::move(ending).error();
  load.ending = std::move(*ending);
  return load;
}

}  // namespace assay
