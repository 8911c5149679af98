#include "serving/serve_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"
#include "loadgen/mlperf_log.h"
#include "serving/answer_quality.h"
#include "serving/failure_watch.h"
#include "serving/serve_profile.h"
#include "serving/serve_schedule.h"
#include "serving/target_remarks.h"
#include "sharing/merged_load.h"

namespace assay {
namespace {

/// Speaks of a load, of all its clients, and ends one whose limits are beyond hope.
class LoadVoice {
 public:
  LoadVoice(const ServeSettings& settings, const ServePlace& place)
      : settings_(settings), place_(place), failures_(settings.max_error_share) {
    if (!settings.find_peak) return;
    double strictest = 0;
    for (const auto& limit : settings.limits) strictest = std::max(strictest, limit.percentile);
    const LoadPlan plan = plan_of(settings, {});
    const auto all = static_cast<double>(std::max(expected_requests(settings, plan), plan.min_queries));
    // More than half as many again as may be over the limit, of all that will be asked for.
    hopeless_at_ = static_cast<std::uint64_t>(all * (1 - strictest) * 1.5) + 10;
  }

  bool speak(const LiveMoment& ours, Nanos since, Nanos lasted) {
    std::vector<LiveMoment> moments = place_.others ? place_.others->moments() : std::vector<LiveMoment>();
    moments.push_back(ours);
    json::object metrics = live_metrics(moments, lasted);
    const double asked = settings_.scenario == Scenario::ramp ? rate_at(settings_.ramp, since) : settings_.rate;
    if (asked > 0) metrics["requests_asked_per_second"] = asked;
    std::uint64_t sent = 0;
    std::uint64_t ok = 0;
    std::uint64_t failed = 0;
    for (const auto& moment : moments) {
      over_ += moment.over;
      sent += moment.sent;
      ok += moment.ok;
      failed += moment.failed;
    }
    failed_ += failed;
    // Whoever sends nothing more only waits for what is left, and ends by itself.
    if (sent > 0) failures_.take(ok, failed, lasted);
    metrics["requests_failed"] = failed_;
    place_.events.step(second_++, std::move(metrics));
    return !hopeless() && !failures_.verdict();
  }
  bool hopeless() const { return hopeless_at_ > 0 && over_ > hopeless_at_; }
  /// Of a search, a load without hope tells of its rate first.
  std::optional<Error> failing() const {
    if (hopeless() || !failures_.verdict()) return std::nullopt;
    return Error{.kind = ErrorKind::lost_peer,
                 .message = fmt::format("the target fails: {}", *failures_.verdict()),
                 .hint = "Look at the server; 'max_error_share' says how much may fail."};
  }

 private:
  const ServeSettings& settings_;
  const ServePlace& place_;
  std::uint64_t hopeless_at_ = 0;  ///< requests over the limit; 0: there is always hope
  std::uint64_t over_ = 0;
  std::uint64_t failed_ = 0;
  FailureWatch failures_;
  std::int64_t second_ = 0;
};

/// What became of the requests of a client that is gone. In a closed loop nobody but itself knew how many there were:
/// as many as it had to send, and as it had said to have sent.
std::vector<QueryRecord> lost_requests(const ServeSettings& settings, const CarriedLoad& load, std::uint32_t number,
                                       const LoadShare& share, std::uint64_t sent) {
  LoadPlan plan = load.plan;
  plan.share = share;
  if (plan.scenario == Scenario::closed) {
    QueryRecord lost;
    lost.scheduled_ns = lost.sent_ns = lost.done_ns = plan.warmup.count();
    lost.state = kEndedState + static_cast<std::uint8_t>(RequestOutcome::lost);
    return std::vector<QueryRecord>(std::max(sent, share_of(plan.min_queries, share)), lost);
  }
  const LoadSchedule schedule = schedule_of(settings, plan, load.requests, number);
  const Nanos until = load.ending.interrupted ? load.ending.issuing : Nanos::max();
  return lost_share(plan, schedule.arrivals.get(), *schedule.order, until);
}

/// Everybody's load in place of our own part of it.
json::object merge_with_others(const ServeSettings& settings, const ServePlace& place, std::uint32_t number,
                               CarriedLoad& load) {
  json::object facts = load.target->facts();
  if (!place.others) return facts;
  std::vector<ClientPart> parts;
  parts.push_back(part_of(*load.recorder, load.ending, std::move(facts)));
  parts.front().host = place.carrier.host;
  for (auto& part : place.others->collect(load.ending.interrupted)) parts.push_back(std::move(part));
  std::vector<std::uint64_t> sent;
  sent.reserve(parts.size());
  for (const auto& part : parts) sent.push_back(part.sent);
  MergedLoad merged = merge_parts(load.plan, std::move(parts), [&](const LoadShare& share) {
    return lost_requests(settings, load, number, share, sent[share.index]);
  });
  load.recorder = std::move(merged.recorder);
  load.ending = std::move(merged.ending);
  return std::move(merged.facts);
}

MlperfLogFacts log_facts(const ServeSettings& settings, const ServedLoad& load) {
  MlperfLogFacts facts{.sut_name = settings.target == "null" ? "assay null target" : settings.model,
                       .time = iso8601(SystemClock().wall()),
                       .accuracy = settings.accuracy,
                       .samples = load.requests.samples,
                       .equal_issue = settings.loadgen_equal_issue};
  if (!settings.loadgen_randomness) facts.seeds = {settings.seed, settings.seed, settings.seed};
  return facts;
}

/// The artifacts of the load whose figures are the run's.
Result<void> write_artifacts(const ServeSettings& settings, const ServePlace& place, const ServedLoad& load) {
  if (place.artifacts.empty()) return {};
  const MlperfLogFacts facts = log_facts(settings, load);
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
    ASSAY_CHECK(write_file_atomically(place.artifacts / "mlperf_log_accuracy.json", mlperf_accuracy(*load.recorder)));
  }
  // On one line: a thousand numbers below each other help nobody.
  return write_file_atomically(place.artifacts / kLoadProfileFile, json::serialize(to_json(load.profile)) + "\n");
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

void put_steady_state(const LoadResult& result, json::object& metrics) {
  if (result.steady_per_second > 0) metrics["steady_samples_per_second"] = result.steady_per_second;
  if (result.steady_tokens_per_second > 0) metrics["steady_tokens_per_second"] = result.steady_tokens_per_second;
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

/// The percentiles that limits are about, where they are none of those that every load tells.
void put_limited(const LoadResult& result, json::object& metrics) {
  constexpr std::pair<std::string_view, std::int64_t LatencySummary::*> kFurther[] = {
      {"p95", &LatencySummary::p95}, {"p97", &LatencySummary::p97}, {"p99.9", &LatencySummary::p999}};
  for (const auto& check : result.limits) {
    const bool first = check.limit.measure == LatencyMeasure::first_token;
    const LatencySummary& summary = first ? result.first_token : result.per_output_token;
    if (check.limit.measure == LatencyMeasure::end_to_end || summary.count == 0) continue;
    std::string name = name_of(check.limit);
    for (const auto& [percentile, value] : kFurther) {
      if (!name.ends_with(fmt::format("_{}", percentile))) continue;
      std::replace(name.begin(), name.end(), '.', '_');
      metrics[name + "_seconds"] = static_cast<double>(summary.*value) * 1e-9;
    }
  }
}

ProbeVerdict verdict_of(const ServedLoad& load) {
  if (limited_by_client(load.result)) return ProbeVerdict::client_limited;
  if (load.hopeless) return ProbeVerdict::missed;
  return load.result.limits_met && load.result.early_stopping_met ? ProbeVerdict::kept : ProbeVerdict::missed;
}

/// Where the search begins: half of what a server completes when it always has enough to do. A probe at a rate that is
/// far too low would take as long as its thousand requests, and tell little.
Result<double> first_rate(const ServeSettings& settings, const ServePlace& place, const std::stop_token& stopping) {
  place.events.phase("capacity");
  ASSAY_TRY(const auto load, serve_load(settings, place, {.purpose = LoadOrder::Purpose::capacity}, stopping));
  if (load.failing) return *load.failing;
  if (load.result.outcomes[static_cast<std::size_t>(RequestOutcome::ok)] == 0 && !stopping.stop_requested()) {
    return Error{.kind = ErrorKind::unreachable,
                 .message = fmt::format("the target fails: none of the {} requests before the search ended well",
                                        load.result.measured),
                 .hint = "Look at the server, and at 'request_timeout'."};
  }
  return std::max(load.result.completed_per_second / 2, 0.01);
}

bool lost_a_client(const LoadResult& result) {
  return std::any_of(result.clients.begin(), result.clients.end(),
                     [](const ClientAccount& client) { return !client.lost_reason.empty(); });
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
    const LoadOrder order{.number = number, .purpose = LoadOrder::Purpose::probe, .rate = *rate};
    ASSAY_TRY(auto load, serve_load(settings, place, order, stopping));
    if (stopping.stop_requested()) return Error{.kind = ErrorKind::interrupted, .message = "the search was stopped"};
    if (load.failing) return *load.failing;
    const ProbeVerdict verdict = verdict_of(load);
    search.take({.rate = *rate, .completed_per_second = load.result.completed_per_second, .verdict = verdict});
    probes.push_back(probed_load(*rate, load, verdict));
    const bool alone = lost_a_client(load.result);
    if (verdict == ProbeVerdict::kept || best.result.issued == 0 || alone) best = std::move(load);
    if (alone) break;  // its share of further loads would be missing
  }
  const PeakFinding finding = search.finding();
  best.profile.probes = std::move(probes);
  ASSAY_CHECK(write_artifacts(settings, place, best));
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
                       {"client_stolen_share", result.client.stolen_share},
                       {"client_busy_share", result.client.busy_share}};
  if (!result.clients.empty()) {
    metrics["clients"] = result.clients.size();
    Nanos bound{0};
    for (const auto& client : result.clients) bound = std::max(bound, client.clock_bound);
    metrics["clock_bound_seconds"] = seconds_of(bound);
  }
  if (has_mlperf_log(result.scenario)) metrics["mlperf_official"] = result.official ? 1 : 0;
  if (is_open_loop(result.scenario)) {
    metrics["scheduled_samples_per_second"] = result.scheduled_per_second;
    metrics["delivered_samples_per_second"] = result.delivered_per_second;
  }
  put_latencies(metrics, "lateness", result.lateness);
  put_tokens(result, metrics);
  put_steady_state(result, metrics);
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
  put_limited(result, metrics);
  return metrics;
}

Result<ServedLoad> serve_load(const ServeSettings& settings, const ServePlace& place, const LoadOrder& order,
                              const std::stop_token& stopping) {
  const ServeSettings by = settings_of_load(settings, order);
  if (place.others) place.others->announce(order);
  LoadVoice voice(by, place);
  const LoadWatch watch{.moment = [&](const LiveMoment& moment, Nanos since, Nanos lasted) {
    return voice.speak(moment, since, lasted);
  }};
  std::function<Result<SteadyTime>()> agree_start;
  if (place.others) agree_start = [&] { return place.others->agree_start(stopping); };
  ASSAY_TRY(auto carried, carry_load(by, place.carrier, order, agree_start, watch, stopping));
  ServedLoad load{.plan = carried.plan};
  load.rules = {.asked_per_second = by.rate, .limits = by.limits};
  // A set that is smaller than what MLPerf asks for is asked whole.
  if (!carried.requests.endless) {
    load.rules.official_offline_samples =
        std::min<std::uint64_t>(load.rules.official_offline_samples, carried.requests.samples);
  }
  load.target_facts = merge_with_others(by, place, order.number, carried);
  load.hopeless = voice.hopeless();
  load.failing = voice.failing();
  load.result = evaluate_load(load.plan, load.rules, *carried.recorder, carried.ending);
  load.profile =
      profile_of(load.plan, load.result, *carried.recorder, {carried.target->endpoints(), load.target_facts});
  if (by.accuracy) load.answer_metrics = answer_quality(by, carried.requests, *carried.recorder);
  for (Flag& flag : flags_of_target(load.target_facts)) load.result.flags.push_back(std::move(flag));
  if (!carried.requests.endless && by.target != "null") {
    auto repeats = flag_of_repeats(load.result.issued, carried.requests.samples, order.number > 0, load.target_facts);
    if (repeats) load.result.flags.push_back(std::move(*repeats));
  }
  load.requests = std::move(carried.requests);
  load.recorder = std::move(carried.recorder);
  return load;
}

Result<void> serve(const ServeSettings& settings, const ServePlace& place, const std::stop_token& stopping) {
  place.events.hello(
      {{"name", fmt::format("serve {}", name_of(settings.scenario))},
       {"parameters", json::object{{"target", settings.target}, {"scenario", name_of(settings.scenario)}}}});
  if (settings.find_peak) return serve_peak(settings, place, stopping);
  place.events.phase("load");
  ASSAY_TRY(const auto load, serve_load(settings, place, {}, stopping));
  if (stopping.stop_requested()) return Error{.kind = ErrorKind::interrupted, .message = "the load was stopped"};
  ASSAY_CHECK(write_artifacts(settings, place, load));
  std::vector<Flag> flags = load.result.flags;
  json::object metrics = metrics_of(load.result);
  put_target_metrics(load.target_facts, metrics);
  for (const auto& [name, value] : load.answer_metrics) metrics[name] = value;
  place.events.result(std::move(metrics), flags);
  if (load.failing) return *load.failing;
  return {};
}

}  // namespace assay
