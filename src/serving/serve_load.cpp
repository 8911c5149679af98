#include "serving/serve_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "base/units.h"
#include "loadgen/early_stopping.h"
#include "loadgen/mlperf_log.h"
#include "serving/answer_quality.h"
#include "serving/live_figures.h"
#include "serving/serve_profile.h"
#include "serving/target_remarks.h"

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

std::uint64_t expected_requests(const ServeSettings& settings, const LoadPlan& plan) {
  const Nanos all = plan.warmup + plan.min_duration;
  double by_time = settings.rate * seconds_of(all);
  if (settings.scenario == Scenario::ramp) by_time = expected_arrivals(settings.ramp, all);
  return std::max<std::uint64_t>(plan.min_queries * plan.samples_per_query, static_cast<std::uint64_t>(by_time * 1.1));
}

/// Speaks of a load once a second until it is destroyed, and ends one whose limits are beyond hope.
class Reporter {
 public:
  Reporter(const ServeSettings& settings, const LoadPlan& plan, std::uint64_t expected, ServeEvents& events,
           QueryRecorder& recorder)
      : figures_(recorder, settings.limits), events_(events), recorder_(recorder), asked_(settings) {
    if (settings.find_peak) {
      double strictest = 0;
      for (const auto& limit : settings.limits) strictest = std::max(strictest, limit.percentile);
      const auto all = static_cast<double>(std::max(expected, plan.min_queries));
      // More than half as many again as may be over the limit, of all that will be asked for.
      hopeless_at_ = static_cast<std::uint64_t>(all * (1 - strictest) * 1.5) + 10;
    }
    thread_ = std::jthread([this](const std::stop_token& ending) { speak(ending); });
  }
  void finish() {
    thread_.request_stop();
    thread_.join();
  }
  std::stop_source stop_load;
  std::atomic<bool> hopeless{false};

 private:
  void speak(const std::stop_token& ending) {
    constexpr auto kTick = std::chrono::seconds(1);
    constexpr auto kNap = std::chrono::milliseconds(20);
    auto next = std::chrono::steady_clock::now() + kTick;
    std::int64_t second = 0;
    while (!ending.stop_requested()) {
      std::this_thread::sleep_for(kNap);
      const auto now = std::chrono::steady_clock::now();
      if (now < next || recorder_.issued() == 0) continue;
      next += kTick;
      const Nanos since = std::chrono::time_point_cast<Nanos>(now) - recorder_.start();
      auto metrics = figures_.since_last(since);
      if (const double asked = asked_rate(since); asked > 0) metrics["requests_asked_per_second"] = asked;
      events_.step(second++, std::move(metrics));
      if (hopeless_at_ > 0 && figures_.over() > hopeless_at_) {
        hopeless = true;
        stop_load.request_stop();
      }
    }
  }
  double asked_rate(Nanos since) const {
    return asked_.scenario == Scenario::ramp ? rate_at(asked_.ramp, since) : asked_.rate;
  }

  LiveFigures figures_;
  ServeEvents& events_;
  QueryRecorder& recorder_;
  ServeSettings asked_;
  std::uint64_t hopeless_at_ = 0;
  std::jthread thread_;
};

MlperfLogFacts log_facts(const ServeSettings& settings, const ServeRequests& requests) {
  MlperfLogFacts facts{.sut_name = settings.target == "null" ? "assay null target" : settings.model,
                       .time = iso8601(SystemClock().wall()),
                       .accuracy = settings.accuracy,
                       .samples = requests.samples};
  if (!settings.loadgen_randomness) facts.seeds = {settings.seed, settings.seed, settings.seed};
  return facts;
}

Result<void> write_logs(const ServeSettings& settings, const ServeRequests& requests, const ServePlace& place,
                        const ServedLoad& load, const QueryRecorder& recorder) {
  if (place.artifacts.empty()) return {};
  const MlperfLogFacts facts = log_facts(settings, requests);
  if (has_mlperf_log(settings.scenario)) {
    ASSAY_CHECK(write_file_atomically(place.artifacts / "mlperf_log_summary.txt",
                                      mlperf_summary(load.plan, load.rules, load.result, facts)));
    ASSAY_CHECK(write_file_atomically(place.artifacts / "mlperf_log_detail.txt",
                                      mlperf_detail(load.plan, load.rules, load.result, facts)));
  }
  if (!load.target_facts.empty()) {
    ASSAY_CHECK(write_file_atomically(place.artifacts / "target.json", pretty_json(load.target_facts)));
  }
  if (settings.accuracy) {
    ASSAY_CHECK(write_file_atomically(place.artifacts / "mlperf_log_accuracy.json", mlperf_accuracy(recorder)));
  }
  return {};
}

Result<void> write_profile(const ServePlace& place, const LoadProfile& profile) {
  if (place.artifacts.empty()) return {};
  // On one line: a thousand numbers below each other help nobody.
  return write_file_atomically(place.artifacts / kLoadProfileFile, json::serialize(to_json(profile)) + "\n");
}

void put_latencies(json::object& metrics, std::string_view name, const LatencySummary& summary) {
  if (summary.count == 0) return;
  const auto put = [&](std::string_view which, std::int64_t ns) {
    metrics[fmt::format("{}_{}_seconds", name, which)] = static_cast<double>(ns) * 1e-9;
  };
  metrics[fmt::format("mean_{}_seconds", name)] = summary.mean * 1e-9;
  put("p50", summary.p50);
  put("p90", summary.p90);
  put("p99", summary.p99);
  put("max", summary.max);
  if (name != "latency") return;
  put("min", summary.min);
  put("p95", summary.p95);
  put("p97", summary.p97);
  put("p99_9", summary.p999);
}

void put_tokens(const LoadResult& result, json::object& metrics) {
  const auto ok = static_cast<double>(result.outcomes[static_cast<std::size_t>(RequestOutcome::ok)]);
  if (result.output_tokens_per_second > 0) {
    const double tokens = std::round(result.output_tokens_per_second * result.window_seconds);
    metrics["tokens_per_second"] = result.output_tokens_per_second;
    metrics["tokens_done"] = tokens;
    metrics["mean_output_tokens"] = tokens / ok;
  }
  if (result.input_tokens_per_second > 0) {
    metrics["input_tokens_per_second"] = result.input_tokens_per_second;
    metrics["mean_input_tokens"] = std::round(result.input_tokens_per_second * result.window_seconds) / ok;
  }
}

ProbeVerdict verdict_of(const ServedLoad& load) {
  for (const auto& flag : load.result.flags) {
    if (flag.kind == "client_late" || flag.kind == "load_not_delivered") return ProbeVerdict::client_limited;
  }
  if (load.hopeless) return ProbeVerdict::missed;
  return load.result.limits_met && load.result.early_stopping_met ? ProbeVerdict::kept : ProbeVerdict::missed;
}

/// Where the search begins: half of what a server completes when it always has enough to do. A probe at a rate that is
/// far too low would take as long as its thousand requests, and tell little.
Result<double> first_rate(const ServeSettings& settings, const ServePlace& place, const std::stop_token& stopping) {
  constexpr std::uint32_t kEnoughToDo = 64;
  constexpr Nanos kLong = std::chrono::seconds(2);
  ServeSettings busy = settings;
  busy.find_peak = false;
  busy.limits.clear();
  busy.scenario = Scenario::closed;
  busy.concurrency = kEnoughToDo;
  busy.rate = 0;
  busy.samples = 2 * kEnoughToDo;
  busy.min_duration = std::min(settings.min_duration, kLong);
  busy.warmup = Nanos(0);
  place.events.phase("capacity");
  ASSAY_TRY(const auto load, serve_load(busy, place, 0, stopping));
  return std::max(load.result.completed_per_second / 2, 0.01);
}

/// What a search found, as flags.
void flag_finding(const PeakFinding& finding, std::vector<Flag>& flags) {
  if (finding.client_limited) {
    flags.push_back({"client_limited", "find_peak",
                     finding.rate ? fmt::format("The client gave out before the server: the peak is at least {:.6g}/s.",
                                                *finding.rate)
                                  : "The client could not send requests in time at the first rate already."});
  } else if (!finding.rate) {
    flags.push_back({"no_peak", "find_peak", fmt::format("No rate kept the limits in {} probes.", finding.probes)});
  } else if (!finding.precise) {
    flags.push_back(
        {"peak_imprecise", "find_peak",
         fmt::format("After {} probes the peak is known to lie above {:.6g}/s only.", finding.probes, *finding.rate)});
  }
}

ProbedLoad probed_load(double rate, const ServedLoad& load, ProbeVerdict verdict) {
  ProbedLoad probe{.offered = rate,
                   .completed = load.result.completed_per_second,
                   .kept = verdict == ProbeVerdict::kept,
                   .client_limited = verdict == ProbeVerdict::client_limited};
  if (load.result.end_to_end.count > 0) probe.latency_p99_s = static_cast<double>(load.result.end_to_end.p99) * 1e-9;
  return probe;
}

Result<void> serve_peak(const ServeSettings& settings, const ServePlace& place, const std::stop_token& stopping) {
  ASSAY_TRY(const double first, first_rate(settings, place, stopping));
  PeakSearch search({.first = first});
  ServedLoad best;
  std::vector<ProbedLoad> probes;
  while (const auto rate = search.next()) {
    const auto number = static_cast<std::uint32_t>(search.probes().size() + 1);
    place.events.phase(fmt::format("probe {}: {:.4g}/s", number, *rate));
    ServeSettings probe = settings;
    probe.rate = *rate;
    ASSAY_TRY(auto load, serve_load(probe, place, number, stopping));
    if (stopping.stop_requested()) return Error{.kind = ErrorKind::interrupted, .message = "the search was stopped"};
    const ProbeVerdict verdict = verdict_of(load);
    search.take({.rate = *rate, .completed_per_second = load.result.completed_per_second, .verdict = verdict});
    probes.push_back(probed_load(*rate, load, verdict));
    if (verdict == ProbeVerdict::kept || best.result.issued == 0) best = std::move(load);
  }
  const PeakFinding finding = search.finding();
  best.profile.probes = std::move(probes);
  ASSAY_CHECK(write_profile(place, best.profile));
  json::object metrics = metrics_of(best.result);
  put_target_metrics(best.target_facts, metrics);
  if (finding.rate) metrics["peak_requests_per_second"] = *finding.rate;
  if (finding.capacity) metrics["capacity_requests_per_second"] = *finding.capacity;
  if (const auto knee = find_knee(search.probes())) metrics["knee_requests_per_second"] = knee->rate;
  metrics["peak_confidence"] = finding.confidence;
  metrics["peak_probes"] = finding.probes;
  std::vector<Flag> flags = best.result.flags;
  flag_finding(finding, flags);
  place.events.result(std::move(metrics), flags);
  return {};
}

}  // namespace

json::object metrics_of(const LoadResult& result) {
  const auto ok = result.outcomes[static_cast<std::size_t>(RequestOutcome::ok)];
  json::object metrics{{"samples_asked", result.measured},
                       {"samples_done", ok},
                       {"samples_lost", result.measured - ok},
                       {"success_rate", result.success_rate},
                       {"samples_per_second", result.completed_per_second},
                       {"wall_seconds", result.window_seconds},
                       {"client_waited_share", result.client.waited_share},
                       {"client_stolen_share", result.client.stolen_share}};
  if (has_mlperf_log(result.scenario)) metrics["mlperf_official"] = result.official ? 1 : 0;
  if (is_open_loop(result.scenario)) {
    metrics["scheduled_samples_per_second"] = result.scheduled_per_second;
    metrics["delivered_samples_per_second"] = result.delivered_per_second;
    put_latencies(metrics, "lateness", result.lateness);
  }
  put_tokens(result, metrics);
  if (!result.limits.empty()) {
    metrics["goodput_per_second"] = result.goodput_per_second;
    metrics["goodput_tokens_per_second"] = result.goodput_tokens_per_second;
  }
  for (std::size_t i = 1; i < kRequestErrors; ++i) {
    if (result.errors[i] > 0)
      metrics[fmt::format("errors_{}", name_of(static_cast<RequestError>(i)))] = result.errors[i];
  }
  for (const auto outcome : {RequestOutcome::timeout, RequestOutcome::cancelled, RequestOutcome::lost}) {
    const auto count = result.outcomes[static_cast<std::size_t>(outcome)];
    if (count > 0) metrics[fmt::format("requests_{}", name_of(outcome))] = count;
  }
  put_latencies(metrics, "latency", result.end_to_end);
  put_latencies(metrics, "ttft", result.first_token);
  put_latencies(metrics, "tpot", result.per_output_token);
  put_latencies(metrics, "itl", result.inter_token);
  return metrics;
}

Result<ServedLoad> serve_load(const ServeSettings& settings, const ServePlace& place, std::uint32_t number,
                              const std::stop_token& stopping) {
  ASSAY_TRY(const auto requests, make_serve_requests(settings, fmt::format("{}/{}", place.run, number)));
  ServedLoad load{.plan = plan_of(settings, requests)};
  load.rules = {.asked_per_second = settings.rate, .limits = settings.limits};
  ASSAY_TRY(const auto target, place.make_target(settings, requests));
  const std::uint64_t seed = seed_of(settings, number);
  const auto arrivals = arrivals_of(settings, requests, seed);
  const auto order = order_of(settings, load.plan, requests, seed);
  const std::uint64_t expected = expected_requests(settings, load.plan);
  QueryRecorder recorder({.expected = expected, .token_times = settings.token_times, .texts = settings.accuracy});
  Reporter reporter(settings, load.plan, expected, place.events, recorder);
  // Whoever stops the run stops the load; so does a reporter without hope.
  const std::stop_callback hand_on(stopping, [&] { reporter.stop_load.request_stop(); });
  SpinningClock clock;
  auto ending = run_load(load.plan, {arrivals.get(), *order, *target, recorder, clock}, reporter.stop_load.get_token());
  reporter.finish();
  if (!ending) return std::move(ending).error();
  load.hopeless = reporter.hopeless;
  load.result = evaluate_load(load.plan, load.rules, recorder, *ending);
  load.target_facts = target->facts();
  load.profile = profile_of(load.plan, load.result, recorder, {target->endpoints(), load.target_facts});
  if (settings.accuracy) load.answer_metrics = answer_quality(settings, requests, recorder);
  ASSAY_CHECK(write_logs(settings, requests, place, load, recorder));
  for (Flag& flag : flags_of_target(load.target_facts)) load.result.flags.push_back(std::move(flag));
  return load;
}

Result<void> serve(const ServeSettings& settings, const ServePlace& place, const std::stop_token& stopping) {
  place.events.hello(
      {{"name", fmt::format("serve {}", name_of(settings.scenario))},
       {"parameters", json::object{{"target", settings.target}, {"scenario", name_of(settings.scenario)}}}});
  if (settings.find_peak) return serve_peak(settings, place, stopping);
  place.events.phase("load");
  ASSAY_TRY(const auto load, serve_load(settings, place, 0, stopping));
  if (stopping.stop_requested()) return Error{.kind = ErrorKind::interrupted, .message = "the load was stopped"};
  ASSAY_CHECK(write_profile(place, load.profile));
  std::vector<Flag> flags = load.result.flags;
  json::object metrics = metrics_of(load.result);
  put_target_metrics(load.target_facts, metrics);
  for (const auto& [name, value] : load.answer_metrics) metrics[name] = value;
  place.events.result(std::move(metrics), flags);
  return {};
}

}  // namespace assay
