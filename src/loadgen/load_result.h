#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "loadgen/dispatcher.h"
#include "loadgen/limits.h"
#include "loadgen/percentiles.h"
#include "model/flag.h"

namespace assay {

/// How a load is judged.
struct LoadRules {
  double asked_per_second = 0;  ///< 0: the scenario asks for no rate
  std::vector<LatencyLimit> limits;
  /// What an official MLPerf run asks for; less is labelled unofficial.
  Nanos official_duration = std::chrono::minutes(10);
  std::uint64_t official_offline_samples = 24'576;
};

/// What a load was, and what it is worth. Rates are per second over the time after the warm-up; latencies count from
/// the scheduled time; requests due in the warm-up are in none of the figures but `issued`.
struct LoadResult {
  Scenario scenario = Scenario::server;
  std::uint64_t issued = 0;
  std::uint64_t measured = 0;
  std::uint64_t queries = 0;                               ///< multi_stream: groups of samples; else as `measured`
  std::array<std::uint64_t, kRequestOutcomes> outcomes{};  ///< of those measured; their sum is `measured`
  std::array<std::uint64_t, kRequestErrors> errors{};

  double window_seconds = 0;        ///< from the end of the warm-up to the last answer
  double asked_per_second = 0;      ///< the nominal rate
  double scheduled_per_second = 0;  ///< as the schedule turned out
  double delivered_per_second = 0;  ///< as requests really left
  double completed_per_second = 0;  ///< that ended well
  double success_rate = 0;          ///< ok / measured
  double input_tokens_per_second = 0;
  double output_tokens_per_second = 0;
  /// Over the steady state alone, from the end of the warm-up to the last request that was sent, of whatever ended in
  /// it: neither filling up nor running dry. 0: all requests were sent at once.
  double steady_per_second = 0;          ///< that ended well
  double steady_tokens_per_second = 0;   ///< their output tokens
  double goodput_per_second = 0;         ///< that ended well and, each by itself, within every limit
  double goodput_tokens_per_second = 0;  ///< their output tokens

  // Of requests that ended well.
  LatencySummary end_to_end;  ///< multi_stream: of queries
  LatencySummary per_sample;  ///< multi_stream: of samples, each by itself; else none
  LatencySummary first_token;
  LatencySummary per_output_token;
  LatencySummary inter_token;
  std::uint64_t without_per_token = 0;  ///< ended well with fewer than two tokens, or none that was seen first
  LatencySummary lateness;  ///< of all: sent − scheduled. What makes a client late where requests are due by the clock
  std::int64_t lateness_allowed_ns = 0;
  ClientUsage client;                  ///< of several clients: the worst
  std::vector<ClientAccount> clients;  ///< that carried the load together; empty: one did

  std::vector<std::int64_t> sorted_latencies;  ///< that `end_to_end` sums up
  std::vector<LimitCheck> limits;
  bool min_duration_met = false;
  bool min_queries_met = false;
  bool limits_met = true;          ///< each at its percentile
  bool early_stopping_met = true;  ///< single and multi stream: enough for an estimate
  bool official = false;           ///< as long and as many as MLPerf asks for
  std::vector<Flag> flags;         ///< what a reader must know; kinds in docs/reference/verdicts.md
  bool valid = false;              ///< none of the flags forbids to use the figures
};

/// Flags that make a load invalid rather than noteworthy.
bool invalidates_load(const Flag& flag);

/// A flag says that the client sent late or less than it should, or had no CPU to spare: what the load shows is not
/// what the server can do.
bool limited_by_client(const LoadResult& result);

/// Judges a load by its records. Pure but for its inputs; sorts copies of all latencies (a second for ten million).
LoadResult evaluate_load(const LoadPlan& plan, const LoadRules& rules, const QueryRecorder& recorder,
                         const LoadEnding& ending);

/// The percentile that MLPerf states for a scenario: 90 % for single_stream, else 99 %.
double stated_percentile(Scenario scenario);

}  // namespace assay
