// What the load generator costs, with a target that answers at once: queries a second it can dispatch and record, the
// cost of one, and how late it is. See bench/README.md.

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "loadgen/load_result.h"
#include "target/null/null_target.h"

namespace {

using namespace assay;

struct Figures {
  LoadResult result;
  LoadEnding ending;
  double seconds = 0;
  double bytes_per_query = 0;
};

Figures run(const LoadPlan& plan, double rate, std::uint64_t expected, bool token_times = false) {
  QueryRecorder recorder({.expected = expected, .token_times = token_times});
  NullTarget target;
  SpinningClock clock;
  PoissonArrivals arrivals(rate > 0 ? rate : 1, 1);
  ShuffledSamples shuffled(24'576, 1);
  RepeatedShuffle repeated(24'576, 1);
  SampleOrder& order = plan.scenario == Scenario::offline ? static_cast<SampleOrder&>(repeated) : shuffled;
  const auto began = clock.now();
  auto ending = run_load(plan, {&arrivals, order, target, recorder, clock}, {});
  if (!ending) std::exit(1);
  Figures figures;
  figures.ending = *ending;
  figures.seconds = seconds_of(ending->issuing > Nanos(0) ? ending->issuing : clock.now() - began);
  figures.result = evaluate_load(plan, {.asked_per_second = rate}, recorder, *ending);
  figures.bytes_per_query = static_cast<double>(recorder.bytes()) / static_cast<double>(figures.result.issued);
  return figures;
}

double qps(const Figures& figures) { return static_cast<double>(figures.result.issued) / figures.seconds; }
/// By the CPU time of the dispatching thread: what it would be on a core of its own.
double own_qps(const Figures& figures) {
  return static_cast<double>(figures.result.issued) / seconds_of(figures.ending.client.cpu);
}

bool missed = false;
void judge(bool met) {
  missed |= !met;
  fmt::print("   {}\n", met ? "met" : "MISSED");
}

void server_throughput(double seconds) {
  // Asked for more than it can: what it delivers flat out. Then the rate of the goal.
  const auto all_out = run({.scenario = Scenario::server,
                            .min_queries = 0,
                            .max_queries = 4'000'000,
                            .min_duration = std::chrono::seconds(60)},
                           1e9, 4'000'000);
  fmt::print("server, flat out           {:8.2f} M queries/s  ({:6.2f} by CPU time)  goal  2", qps(all_out) / 1e6,
             own_qps(all_out) / 1e6);
  judge(own_qps(all_out) >= 2e6);
  const auto tokens = run({.scenario = Scenario::server,
                           .min_queries = 0,
                           .max_queries = 2'000'000,
                           .min_duration = std::chrono::seconds(60),
                           .wishes = {.token_times = true}},
                          1e9, 2'000'000, true);
  fmt::print("server with token times    {:8.2f} M queries/s  ({:6.2f} by CPU time)  goal  1", qps(tokens) / 1e6,
             own_qps(tokens) / 1e6);
  judge(own_qps(tokens) >= 1e6);
  const auto paced = run(
      {.scenario = Scenario::server, .min_queries = 0, .min_duration = Nanos(static_cast<Nanos::rep>(seconds * 1e9))},
      2e6, static_cast<std::uint64_t>(2e6 * seconds * 1.1));
  fmt::print("server, 2 M/s asked        {:8.2f} M delivered/s, p99 late {:.1f} us\n",
             paced.result.delivered_per_second / 1e6, static_cast<double>(paced.result.lateness.p99) / 1e3);
}

void single_and_offline() {
  const auto single = run({.scenario = Scenario::single_stream, .min_queries = 3'000'000}, 0, 3'000'000);
  fmt::print("single stream              {:8.0f} ns a query   ({:6.0f} by CPU time)  goal 300", 1e9 / qps(single),
             1e9 / own_qps(single));
  judge(own_qps(single) >= 1e9 / 300);
  const auto offline = run({.scenario = Scenario::offline, .min_queries = 4'000'000}, 0, 4'000'000);
  fmt::print("offline                    {:8.1f} M samples/s  ({:6.1f} by CPU time)  goal 50", qps(offline) / 1e6,
             own_qps(offline) / 1e6);
  judge(own_qps(offline) >= 50e6);
  fmt::print("memory                     {:8.1f} B a query, none for the schedule    goal 64", offline.bytes_per_query);
  judge(offline.bytes_per_query <= 64);
}

void lateness(double seconds) {
  fmt::print(
      "\nlateness at          p50        p99        max    waited for a CPU   goal on a core of its own: p50 2 us, p99 "
      "20 us\n");
  for (const double rate : {1e3, 1e4, 1e5}) {
    const auto figures = run(
        {.scenario = Scenario::server, .min_queries = 0, .min_duration = Nanos(static_cast<Nanos::rep>(seconds * 1e9))},
        rate, static_cast<std::uint64_t>(rate * seconds * 1.1));
    const LatencySummary& late = figures.result.lateness;
    fmt::print("{:8.0f}/s  {:8.2f} us {:8.2f} us {:8.1f} us   {:8.2f} %\n", rate, static_cast<double>(late.p50) / 1e3,
               static_cast<double>(late.p99) / 1e3, static_cast<double>(late.max) / 1e3,
               figures.result.client.waited_share * 100);
  }
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 3;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seconds") == 0) seconds = std::atof(argv[i + 1]);
  }
  server_throughput(seconds);
  single_and_offline();
  lateness(seconds);
  return missed ? 1 : 0;
}
