#include "serving/serve_profile.h"

#include <algorithm>

#include "loadgen/percentiles.h"

namespace assay {
namespace {

TimeDistribution distribution_of(const LatencySummary& summary) {
  return {.count = summary.count, .mean_ns = summary.mean, .quantiles_ns = summary.quantiles};
}

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// One endpoint while its requests are gone over.
struct EndpointTally {
  EndpointLoad load;
  std::vector<std::int64_t> latencies;
  std::vector<std::int64_t> first_tokens;

  void take(const QueryRecord& record) {
    ++load.requests;
    if (!record.ok()) return;
    ++load.ok;
    load.output_tokens += record.output_tokens;
    latencies.push_back(record.latency_ns());
    if (const auto first = measured(record, LatencyMeasure::first_token)) first_tokens.push_back(*first);
  }
  EndpointLoad finish() {
    if (const auto summary = summarise_latencies(latencies); summary.count > 0) {
      load.mean_latency_s = summary.mean * 1e-9;
      load.latency_p50_s = seconds(summary.p50);
      load.latency_p99_s = seconds(summary.p99);
    }
    if (const auto summary = summarise_latencies(first_tokens); summary.count > 0) {
      load.ttft_p50_s = seconds(summary.p50);
      load.ttft_p99_s = seconds(summary.p99);
    }
    return std::move(load);
  }
};

void take_answer(const QueryRecord& record, AnswerProfile& answers) {
  if (record.outcome() == RequestOutcome::error && record.error == RequestError::empty) ++answers.without_tokens;
  if (!record.ok()) return;
  answers.fewest_tokens =
      answers.answers == 0 ? record.output_tokens : std::min(answers.fewest_tokens, record.output_tokens);
  answers.most_tokens = std::max(answers.most_tokens, record.output_tokens);
  ++answers.answers;
  answers.mean_tokens += record.output_tokens;
}

void take_reasons(const json::object& facts, AnswerProfile& answers) {
  const auto* reasons = facts.if_contains("finish_reasons");
  if (reasons == nullptr || !reasons->is_object()) return;
  for (const auto& [reason, count] : reasons->get_object()) {
    json::error_code code;
    const auto times = count.to_number<std::uint64_t>(code);
    if (!code) answers.finish_reasons[reason] = times;
  }
}

ClientLoad load_of_client(const ClientAccount& client) {
  ClientLoad load{.name = client.name,
                  .requests = client.requests,
                  .ok = client.ok,
                  .lost = client.lost,
                  .waited_share = client.usage.waited_share,
                  .stolen_share = client.usage.stolen_share,
                  .clock_bound_s = seconds_of(client.clock_bound),
                  .lost_reason = client.lost_reason};
  if (client.lateness.count > 0) load.lateness_p99_s = seconds(client.lateness.p99);
  return load;
}

}  // namespace

LoadProfile profile_of(const LoadPlan& plan, const LoadResult& result, const QueryRecorder& recorder,
                       const ProfiledTarget& target) {
  LoadProfile profile{.latency = distribution_of(result.end_to_end),
                      .first_token = distribution_of(result.first_token),
                      .per_output_token = distribution_of(result.per_output_token),
                      .inter_token = distribution_of(result.inter_token)};
  std::vector<EndpointTally> endpoints(std::min(target.endpoints.size(), kMostEndpoints));
  for (std::size_t i = 0; i < endpoints.size(); ++i) endpoints[i].load.address = target.endpoints[i];
  profile.endpoints_left_out = target.endpoints.size() - endpoints.size();
  for (std::uint64_t id = 0; id < recorder.issued(); ++id) {
    const QueryRecord& record = recorder.record(id);
    if (record.scheduled_ns < plan.warmup.count()) continue;
    if (record.endpoint < endpoints.size()) endpoints[record.endpoint].take(record);
    take_answer(record, profile.answers);
  }
  if (profile.answers.answers > 0) profile.answers.mean_tokens /= static_cast<double>(profile.answers.answers);
  take_reasons(target.facts, profile.answers);
  for (const auto& client : result.clients) profile.clients.push_back(load_of_client(client));
  for (auto& endpoint : endpoints) profile.endpoints.push_back(endpoint.finish());
  return profile;
}

}  // namespace assay
