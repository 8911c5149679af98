// Ours beside MLPerf's LoadGen, in one process, with the same seeds and a target that answers at once: whether both ask
// for the same samples at the same times and come to the same conclusions, and what each costs. See bench/README.md.
//
//   bench_beside_loadgen [--seconds 3]
//
// Ends with 1 where they disagree, or where ours is not ahead. Times are of the thread that issues queries: wall, and
// its own CPU time, which a busy machine does not change.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <set>

#include "loadgen/early_stopping.h"
#include "loadgen/load_result.h"
#include "loadgen/mlperf_log.h"
#include "loadgen/mlperf_schedule.h"
#include "peer_loadgen.h"
#include "target/null/null_target.h"

namespace {

using namespace assay;

constexpr std::uint32_t kSamples = 24'576;

bool failed = false;
const char* judged(bool good) {
  failed |= !good;
  return good ? "yes" : "NO";
}

struct Ours {
  LoadResult result;
  double seconds = 0;
  double cpu_seconds = 0;
};

MlperfSampleOrder order_of(const PeerPlan& plan) {
  return MlperfSampleOrder({.scenario = plan.scenario,
                            .performance_samples = plan.samples,
                            .samples_per_query = plan.samples_per_query,
                            .min_queries = plan.queries,
                            .equal_issue = plan.equal_issue});
}

Ours run_ours(const PeerPlan& asked) {
  const LoadPlan plan{.scenario = asked.scenario,
                      .samples_per_query = asked.samples_per_query,
                      .min_queries = asked.queries,
                      .max_queries = asked.scenario == Scenario::offline ? 0 : asked.queries};
  QueryRecorder recorder({.expected = asked.queries});
  NullTarget target;
  SpinningClock clock;
  MlperfServerArrivals arrivals(asked.rate > 0 ? asked.rate : 1, MlperfSeeds().schedule);
  MlperfSampleOrder order = order_of(asked);
  const auto ending = run_load(plan, {&arrivals, order, target, recorder, clock}, {});
  if (!ending) std::exit(1);
  return {.result = evaluate_load(plan, {.asked_per_second = asked.rate}, recorder, *ending),
          .seconds = seconds_of(ending->issuing),
          .cpu_seconds = seconds_of(ending->client.cpu)};
}

/// The same samples at the same times.
void compare_order(const PeerPlan& plan, const PeerFigures& peer, std::string_view name) {
  MlperfServerArrivals arrivals(plan.rate > 0 ? plan.rate : 1, MlperfSeeds().schedule);
  MlperfSampleOrder order = order_of(plan);
  const std::uint64_t asked = plan.queries * plan.samples_per_query;
  std::uint64_t samples = 0;
  std::uint64_t times = 0;
  for (const auto& query : peer.queries) {
    samples += order.next() == query.sample ? 1 : 0;
    times += plan.scenario != Scenario::server || arrivals.next().count() == query.scheduled_ns ? 1 : 0;
  }
  fmt::print("{:<14} same samples in the same order {:>6} of {}: {}\n", name, samples, asked, judged(samples == asked));
  if (plan.scenario != Scenario::server) return;
  fmt::print("{:<14} same arrival times, to 1 ns    {:>6} of {}: {}\n", name, times, asked, judged(times == asked));
}

/// Our percentiles and our estimate, from the latencies that LoadGen measured, against its own.
void compare_figures(const PeerPlan& plan, const PeerFigures& peer, std::string_view name, double stated) {
  const bool of_queries = plan.scenario == Scenario::multi_stream;
  std::vector<std::int64_t> latencies;
  for (std::size_t i = 0; i < peer.queries.size(); ++i) {
    if (i % plan.samples_per_query == 0) latencies.push_back(0);
    latencies.back() = std::max(latencies.back(), peer.queries[i].latency_ns);
  }
  const LatencySummary summary = summarise_latencies(latencies);
  int same = 0;
  constexpr std::pair<const char*, std::int64_t LatencySummary::*> kAll[] = {
      {"50.00", &LatencySummary::p50}, {"90.00", &LatencySummary::p90}, {"95.00", &LatencySummary::p95},
      {"97.00", &LatencySummary::p97}, {"99.00", &LatencySummary::p99}, {"99.90", &LatencySummary::p999}};
  for (const auto& [label, member] : kAll) {
    const auto value =
        peer.value(fmt::format("result_{}_percentile_{}latency_ns", label, of_queries ? "per_query_" : ""));
    same += value && std::llround(*value) == summary.*member ? 1 : 0;
  }
  fmt::print("{:<14} same percentiles of its latencies   {} of 6: {}\n", name, same, judged(same == 6));
  if (stated == 0) return;
  const auto ours = early_stopping_estimate(latencies, stated);
  const auto theirs = peer.value(of_queries ? "early_stopping_latency_ms" : "early_stopping_latency_ss");
  const bool agree = ours && theirs && std::llround(*theirs) == ours->latency_ns;
  fmt::print("{:<14} same early-stopping estimate: {} ns and {} ns: {}\n", name, ours ? ours->latency_ns : 0,
             theirs ? std::llround(*theirs) : 0, judged(agree));
}

void compare_early_stopping() {
  std::uint64_t all = 0;
  std::uint64_t same = 0;
  for (const double percentile : {0.9, 0.95, 0.97, 0.99, 0.999}) {
    for (const std::uint64_t over : {0, 1, 2, 3, 5, 10, 31, 100, 316, 1000, 3162, 10'000}) {
      ++all;
      same += min_passing_queries(over, percentile) == peer_min_passing(over, percentile) ? 1 : 0;
    }
  }
  fmt::print("{:<14} same decisions                 {:>6} of {}: {}\n", "early stopping", same, all,
             judged(same == all));
}

/// The keys of a detail log.
std::set<std::string> keys_of(const std::string& detail) {
  constexpr std::string_view kKey = "\"key\": \"";
  std::set<std::string> keys;
  for (auto at = detail.find(kKey); at != std::string::npos; at = detail.find(kKey, at)) {
    at += kKey.size();
    keys.insert(detail.substr(at, detail.find('"', at) - at));
  }
  return keys;
}

/// What LoadGen's detail log says of a run that ours does not, but for what is about LoadGen itself, and for why a
/// result is invalid where ours is valid.
void compare_log(const PeerPlan& asked, const PeerFigures& peer, std::string_view name) {
  const Ours ours = run_ours(asked);
  LoadPlan plan{.scenario = asked.scenario, .samples_per_query = asked.samples_per_query, .min_queries = asked.queries};
  const std::set<std::string> known =
      keys_of(mlperf_detail(plan, {.asked_per_second = asked.rate}, ours.result, {.samples = asked.samples}));
  std::vector<std::string> missing;
  for (const std::string& key : keys_of(peer.detail)) {
    constexpr std::string_view kOwn[] = {"loadgen_",       "logger_",      "power_",
                                         "generic_",       "warning_",     "error_",
                                         "loaded_qsl_set", "get_sut_name", "requested_server_find_peak"};
    const bool own = std::any_of(std::begin(kOwn), std::end(kOwn), [&](auto start) { return key.starts_with(start); });
    const bool reason = key == "result_invalid_reason" && ours.result.valid;
    if (!own && !reason && !known.contains(key)) missing.push_back(key);
  }
  fmt::print("{:<14} everything that its detail log says: {}{}\n", name, judged(missing.empty()),
             missing.empty() ? "" : fmt::format(", but {}", fmt::join(missing, ", ")));
}

void agreement() {
  const PeerPlan server{.scenario = Scenario::server, .rate = 5000, .queries = 10'000, .samples = 1024, .trace = true};
  const PeerFigures by_the_clock = run_peer_loadgen(server);
  compare_order(server, by_the_clock, "server");
  compare_figures(server, by_the_clock, "server", 0);
  compare_log(server, by_the_clock, "server");
  PeerPlan equal = server;
  equal.equal_issue = true;
  compare_order(equal, run_peer_loadgen(equal), "equal issue");
  const PeerPlan stream{.scenario = Scenario::single_stream, .queries = 5000, .samples = 1024, .trace = true};
  const PeerFigures one_by_one = run_peer_loadgen(stream);
  compare_order(stream, one_by_one, "single stream");
  compare_figures(stream, one_by_one, "single stream", 0.9);
  compare_log(stream, one_by_one, "single stream");
  const PeerPlan multi{
      .scenario = Scenario::multi_stream, .queries = 1000, .samples_per_query = 8, .samples = 1024, .trace = true};
  const PeerFigures eight_by_eight = run_peer_loadgen(multi);
  compare_order(multi, eight_by_eight, "multi stream");
  compare_figures(multi, eight_by_eight, "multi stream", 0.99);
  compare_log(multi, eight_by_eight, "multi stream");
  const PeerPlan offline{.scenario = Scenario::offline, .queries = 20'000, .samples = 1024, .trace = true};
  const PeerFigures at_once = run_peer_loadgen(offline);
  compare_order(offline, at_once, "offline");
  compare_log(offline, at_once, "offline");
  compare_early_stopping();
}

void row(std::string_view what, double ours, double ours_cpu, double peer, double peer_cpu, bool more_is_better) {
  const double ratio = more_is_better ? ours_cpu / peer_cpu : peer_cpu / ours_cpu;
  fmt::print("{:<32} {:>8.2f} ({:>7.2f})   {:>8.2f} ({:>7.2f})   {:>6.1f}  {}\n", what, ours, ours_cpu, peer, peer_cpu,
             ratio, judged(ratio > 1));
}

void cost() {
  fmt::print("\n{:<32} {:>18}   {:>18}   ratio  ahead\n", "wall (CPU time of the thread)", "ours", "LoadGen");
  // Asked for more than either can: what it delivers flat out.
  const PeerPlan server{.scenario = Scenario::server, .rate = 1e8, .queries = 1'000'000, .samples = kSamples};
  const Ours our_server = run_ours(server);
  const PeerFigures peer_server = run_peer_loadgen(server);
  const auto millions = static_cast<double>(server.queries) / 1e6;
  row("server, M queries/s", millions / our_server.seconds, millions / our_server.cpu_seconds,
      millions / peer_server.seconds, millions / peer_server.cpu_seconds, true);
  const PeerPlan stream{.scenario = Scenario::single_stream, .queries = 300'000, .samples = kSamples};
  const Ours our_stream = run_ours(stream);
  const PeerFigures peer_stream = run_peer_loadgen(stream);
  const double each = 1e6 / static_cast<double>(stream.queries);
  row("single stream, us a query", our_stream.seconds * each, our_stream.cpu_seconds * each, peer_stream.seconds * each,
      peer_stream.cpu_seconds * each, false);
  const PeerPlan offline{.scenario = Scenario::offline, .queries = 4'000'000, .samples = kSamples};
  const Ours our_offline = run_ours(offline);
  const PeerFigures peer_offline = run_peer_loadgen(offline);
  const double samples = static_cast<double>(offline.queries) / 1e6;
  row("offline, M samples/s", samples / our_offline.seconds, samples / our_offline.cpu_seconds,
      samples / peer_offline.seconds, samples / peer_offline.cpu_seconds, true);
}

/// With a target that answers at once, latency is how late a query was issued, and little else: for both alike.
void lateness(double seconds) {
  fmt::print("\n{:<32} {:>18}   {:>18}\n", "late, p50 / p99 in us", "ours", "LoadGen");
  for (const double rate : {1e3, 1e4, 1e5}) {
    const PeerPlan plan{.scenario = Scenario::server,
                        .rate = rate,
                        .queries = static_cast<std::uint64_t>(rate * seconds),
                        .samples = kSamples};
    const LatencySummary ours = run_ours(plan).result.end_to_end;
    const PeerFigures peer = run_peer_loadgen(plan);
    fmt::print("{:<32} {:>8.2f} /{:>8.2f}   {:>8.2f} /{:>8.2f}\n", fmt::format("server at {:.0f}/s", rate),
               static_cast<double>(ours.p50) / 1e3, static_cast<double>(ours.p99) / 1e3,
               peer.value("result_50.00_percentile_latency_ns").value_or(0) / 1e3,
               peer.value("result_99.00_percentile_latency_ns").value_or(0) / 1e3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 3;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::atof(argv[i + 1]);
  }
  agreement();
  cost();
  lateness(seconds);
  return failed ? 1 : 0;
}
