#include "model/load_profile.h"

#include <algorithm>

namespace assay {
namespace {

constexpr std::size_t kMostFinishReasons = 64;
constexpr std::size_t kMostProbes = 1000;
constexpr std::size_t kMostClients = 1024;

json::value optional_number(const std::optional<double>& number) {
  return number ? finite(*number) : json::value(nullptr);
}

std::optional<double> optional_number(JsonFields& fields, std::string_view key) {
  const double number = fields.number_or(key, NAN);
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

std::uint64_t count_in(JsonFields& fields, std::string_view key) {
  const std::int64_t count = fields.integer_or(key, 0);
  if (count < 0) fields.fail(key, "is below 0");
  return count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

json::object distribution_json(const TimeDistribution& times) {
  return {{"count", times.count},
          {"mean_ns", finite(times.mean_ns)},
          {"quantiles_ns", json::value_from(times.quantiles_ns)}};
}

TimeDistribution distribution_in(JsonFields& outer, std::string_view key) {
  TimeDistribution times;
  const auto* value = outer.find(key);
  if (value == nullptr || value->is_null()) return times;
  JsonFields fields(*value, std::string(key));
  times.count = count_in(fields, "count");
  times.mean_ns = fields.number_or("mean_ns", 0);
  for (const auto& item : fields.array_or_empty("quantiles_ns")) {
    json::error_code code;
    const auto ns = item.to_number<std::int64_t>(code);
    if (code) fields.fail("quantiles_ns", "holds something that is no number of nanoseconds");
    times.quantiles_ns.push_back(ns);
  }
  if (times.quantiles_ns.size() > kMostQuantiles) fields.fail("quantiles_ns", "is too long");
  if (!std::is_sorted(times.quantiles_ns.begin(), times.quantiles_ns.end()))
    fields.fail("quantiles_ns", "does not ascend");
  if ((times.count == 0) != times.quantiles_ns.empty() || times.quantiles_ns.size() > times.count)
    fields.fail("count", "does not fit the quantiles");
  if (const auto finished = fields.finish(); !finished) outer.fail(key, finished.error().message);
  return times;
}

json::object endpoint_json(const EndpointLoad& endpoint) {
  return {{"address", endpoint.address},
          {"requests", endpoint.requests},
          {"ok", endpoint.ok},
          {"output_tokens", endpoint.output_tokens},
          {"mean_latency_s", optional_number(endpoint.mean_latency_s)},
          {"latency_p50_s", optional_number(endpoint.latency_p50_s)},
          {"latency_p99_s", optional_number(endpoint.latency_p99_s)},
          {"ttft_p50_s", optional_number(endpoint.ttft_p50_s)},
          {"ttft_p99_s", optional_number(endpoint.ttft_p99_s)}};
}

EndpointLoad endpoint_in(const json::value& value, JsonFields& outer) {
  JsonFields fields(value, "endpoint");
  EndpointLoad endpoint;
  endpoint.address = fields.text("address");
  endpoint.requests = count_in(fields, "requests");
  endpoint.ok = count_in(fields, "ok");
  endpoint.output_tokens = count_in(fields, "output_tokens");
  endpoint.mean_latency_s = optional_number(fields, "mean_latency_s");
  endpoint.latency_p50_s = optional_number(fields, "latency_p50_s");
  endpoint.latency_p99_s = optional_number(fields, "latency_p99_s");
  endpoint.ttft_p50_s = optional_number(fields, "ttft_p50_s");
  endpoint.ttft_p99_s = optional_number(fields, "ttft_p99_s");
  if (const auto finished = fields.finish(); !finished) outer.fail("endpoints", finished.error().message);
  return endpoint;
}

json::object answers_json(const AnswerProfile& answers) {
  json::object reasons;
  for (const auto& [reason, count] : answers.finish_reasons) reasons[reason] = count;
  return {{"answers", answers.answers},
          {"without_tokens", answers.without_tokens},
          {"fewest_tokens", answers.fewest_tokens},
          {"most_tokens", answers.most_tokens},
          {"mean_tokens", finite(answers.mean_tokens)},
          {"finish_reasons", std::move(reasons)}};
}

AnswerProfile answers_in(JsonFields& outer) {
  AnswerProfile answers;
  const auto* value = outer.find("answers");
  if (value == nullptr) return answers;
  constexpr std::uint64_t kMostTokens = UINT32_MAX;
  JsonFields fields(*value, "answers");
  answers.answers = count_in(fields, "answers");
  answers.without_tokens = count_in(fields, "without_tokens");
  answers.fewest_tokens = static_cast<std::uint32_t>(std::min(count_in(fields, "fewest_tokens"), kMostTokens));
  answers.most_tokens = static_cast<std::uint32_t>(std::min(count_in(fields, "most_tokens"), kMostTokens));
  answers.mean_tokens = fields.number_or("mean_tokens", 0);
  const json::object& reasons = fields.object_or_empty("finish_reasons");
  if (reasons.size() > kMostFinishReasons) fields.fail("finish_reasons", "has too many");
  for (const auto& [reason, count] : reasons) {
    json::error_code code;
    answers.finish_reasons[reason] = count.to_number<std::uint64_t>(code);
    if (code) fields.fail("finish_reasons", "holds something that is no count");
  }
  if (const auto finished = fields.finish(); !finished) outer.fail("answers", finished.error().message);
  return answers;
}

json::object client_json(const ClientLoad& client) {
  return {{"name", client.name},
          {"requests", client.requests},
          {"ok", client.ok},
          {"lost", client.lost},
          {"lateness_p99_s", optional_number(client.lateness_p99_s)},
          {"waited_share", finite(client.waited_share)},
          {"stolen_share", finite(client.stolen_share)},
          {"clock_bound_s", finite(client.clock_bound_s)},
          {"lost_reason", client.lost_reason}};
}

ClientLoad client_in(const json::value& value, JsonFields& outer) {
  JsonFields fields(value, "client");
  ClientLoad client;
  client.name = fields.text("name");
  client.requests = count_in(fields, "requests");
  client.ok = count_in(fields, "ok");
  client.lost = count_in(fields, "lost");
  client.lateness_p99_s = optional_number(fields, "lateness_p99_s");
  client.waited_share = fields.number_or("waited_share", 0);
  client.stolen_share = fields.number_or("stolen_share", 0);
  client.clock_bound_s = fields.number_or("clock_bound_s", 0);
  client.lost_reason = fields.text_or("lost_reason", "");
  if (const auto finished = fields.finish(); !finished) outer.fail("clients", finished.error().message);
  return client;
}

json::object probe_json(const ProbedLoad& probe) {
  return {{"offered", finite(probe.offered)},
          {"completed", finite(probe.completed)},
          {"latency_p99_s", optional_number(probe.latency_p99_s)},
          {"kept", probe.kept},
          {"client_limited", probe.client_limited}};
}

ProbedLoad probe_in(const json::value& value, JsonFields& outer) {
  JsonFields fields(value, "probe");
  ProbedLoad probe;
  probe.offered = fields.number("offered");
  probe.completed = fields.number("completed");
  probe.latency_p99_s = optional_number(fields, "latency_p99_s");
  probe.kept = fields.boolean_or("kept", false);
  probe.client_limited = fields.boolean_or("client_limited", false);
  if (!std::isfinite(probe.offered) || !std::isfinite(probe.completed)) fields.fail("offered", "is no rate");
  if (const auto finished = fields.finish(); !finished) outer.fail("probes", finished.error().message);
  return probe;
}

}  // namespace

json::object to_json(const LoadProfile& profile) {
  json::object object{{"schema", kLoadProfileSchema},
                      {"latency", distribution_json(profile.latency)},
                      {"first_token", distribution_json(profile.first_token)},
                      {"per_output_token", distribution_json(profile.per_output_token)},
                      {"inter_token", distribution_json(profile.inter_token)}};
  auto& endpoints = object["endpoints"].emplace_array();
  for (const auto& endpoint : profile.endpoints) endpoints.push_back(endpoint_json(endpoint));
  if (profile.endpoints_left_out > 0) object["endpoints_left_out"] = profile.endpoints_left_out;
  object["answers"] = answers_json(profile.answers);
  if (!profile.clients.empty()) {
    auto& clients = object["clients"].emplace_array();
    for (const auto& client : profile.clients) clients.push_back(client_json(client));
  }
  if (profile.probes.empty()) return object;
  auto& probes = object["probes"].emplace_array();
  for (const auto& probe : profile.probes) probes.push_back(probe_json(probe));
  return object;
}

Result<LoadProfile> load_profile_from_json(const json::value& value) {
  ASSAY_CHECK(check_schema(value, kLoadProfileSchema, kLoadProfileFile));
  JsonFields fields(value, std::string(kLoadProfileFile));
  LoadProfile profile;
  profile.latency = distribution_in(fields, "latency");
  profile.first_token = distribution_in(fields, "first_token");
  profile.per_output_token = distribution_in(fields, "per_output_token");
  profile.inter_token = distribution_in(fields, "inter_token");
  const json::array& endpoints = fields.array_or_empty("endpoints");
  if (endpoints.size() > kMostEndpoints) fields.fail("endpoints", "has too many");
  for (const auto& endpoint : endpoints) profile.endpoints.push_back(endpoint_in(endpoint, fields));
  profile.endpoints_left_out = count_in(fields, "endpoints_left_out");
  profile.answers = answers_in(fields);
  const json::array& clients = fields.array_or_empty("clients");
  if (clients.size() > kMostClients) fields.fail("clients", "has too many");
  for (const auto& client : clients) profile.clients.push_back(client_in(client, fields));
  const json::array& probes = fields.array_or_empty("probes");
  if (probes.size() > kMostProbes) fields.fail("probes", "has too many");
  for (const auto& probe : probes) profile.probes.push_back(probe_in(probe, fields));
  ASSAY_CHECK(fields.finish());
  return profile;
}

}  // namespace assay
