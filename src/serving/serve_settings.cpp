#include "serving/serve_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "loadgen/early_stopping.h"
#include "requests/request_settings.h"
#include "spec/spec.h"

namespace assay {
namespace {

/// Values at dotted keys; what is not there keeps its default.
class SettingsView {
 public:
  explicit SettingsView(const json::object& settings) : settings_(settings) {}

  void read(std::string_view key, std::string& into) const {
    if (const auto* value = find_setting(settings_, key); value && value->is_string()) into = value->get_string();
  }
  void read(std::string_view key, bool& into) const {
    if (const auto* value = find_setting(settings_, key); value && value->is_bool()) into = value->get_bool();
  }
  void read(std::string_view key, double& into) const {
    if (const auto number = this->number(key)) into = *number;
  }
  void read(std::string_view key, std::uint32_t& into) const {
    if (const auto number = this->number(key)) into = static_cast<std::uint32_t>(*number);
  }
  void read(std::string_view key, Nanos& into) const {
    if (const auto number = this->number(key)) into = Nanos(static_cast<Nanos::rep>(*number * 1e9));
  }
  void read_large(std::string_view key, std::uint64_t& into) const {
    const auto* value = find_setting(settings_, key);
    if (!value || !value->is_number()) return;
    json::error_code code;
    const auto whole = value->to_number<std::uint64_t>(code);
    if (!code) into = whole;
  }
  const json::object* object(std::string_view key) const {
    const auto* value = find_setting(settings_, key);
    return value ? value->if_object() : nullptr;
  }

 private:
  std::optional<double> number(std::string_view key) const {
    const auto* value = find_setting(settings_, key);
    if (!value || !value->is_number()) return std::nullopt;
    return value->to_number<double>();
  }
  const json::object& settings_;
};

Result<std::vector<LatencyLimit>> read_limits(const json::object& names) {
  std::vector<LatencyLimit> limits;
  for (const auto& member : names) {
    const Nanos at_most(static_cast<Nanos::rep>(member.value().to_number<double>() * 1e9));
    ASSAY_TRY(auto limit, latency_limit(member.key(), at_most));
    limits.push_back(limit);
  }
  return limits;
}

void read_target(const SettingsView& view, ServeSettings& into) {
  view.read("target.name", into.target);
  view.read("target.service_time", into.service_time);
  view.read("target.slots", into.slots);
  view.read("model.name", into.model);
}

void read_load(const SettingsView& view, ServeSettings& into) {
  std::string text;
  view.read("scenario", text);
  into.scenario = scenario_from(text).value_or(Scenario::server);
  view.read("rate", into.rate);
  view.read("burst.size", into.unevenness);
  into.ramp.from_per_second = into.rate;
  view.read("ramp.to", into.ramp.to_per_second);
  view.read("ramp.duration", into.ramp.duration);
  view.read("ramp.steps", into.ramp.steps);
  view.read("concurrency", into.concurrency);
  view.read("trace", into.trace_file);
  view.read("speed_up", into.speed_up);
  std::string mode;
  view.read("mode", mode);
  into.accuracy = mode == "accuracy";
  std::string format;
  view.read("answer_format", format);
  into.answers_in_json = format == "json";
  std::string randomness;
  view.read("randomness", randomness);
  into.loadgen_randomness = randomness.starts_with("loadgen");
  into.loadgen_equal_issue = randomness == "loadgen_equal_issue";
  view.read_large("seed", into.seed);
  view.read_large("samples", into.samples);
  view.read("min_duration", into.min_duration);
  view.read("warmup", into.warmup);
  view.read("request_timeout", into.request_timeout);
  view.read("max_error_share", into.max_error_share);
  view.read("token_times", into.token_times);
}

/// A trace is replayed whole; what is due in the warm-up does not count.
std::uint64_t requests_after(Nanos warmup, std::span<const Nanos> times, double speed_up) {
  TraceArrivals arrivals(times, speed_up);
  std::uint64_t after = 0;
  for (Nanos due = arrivals.next(); due != ArrivalProcess::kNever; due = arrivals.next())
    after += due >= warmup ? 1 : 0;
  return after;
}

/// The target that does nothing needs no prompts; how many samples there are it is told by a file.
bool asks_a_file(const json::object& spec) {
  const auto* dataset = find_setting(spec, "requests.dataset");
  return dataset && dataset->is_string() && std::string_view(dataset->get_string()).starts_with("file:");
}

}  // namespace

Result<ServeSettings> read_serve_settings(const json::object& settings) {
  const SettingsView view(settings);
  ServeSettings into;
  into.spec = settings;
  read_target(view, into);
  read_load(view, into);
  view.read("clients", into.clients);
  view.read("requests.input_tokens", into.input_tokens);
  view.read("requests.output_tokens", into.output_tokens);
  if (const auto* limits = view.object("limits")) {
    ASSAY_TRY(into.limits, read_limits(*limits));
  }
  if (const auto* peak = view.object("find_peak")) {
    ASSAY_TRY(into.limits, read_limits(*peak));
    into.find_peak = true;
  }
  return into;
}

Result<ServeRequests> make_serve_requests(const ServeSettings& settings, const std::string& cell) {
  ServeRequests requests;
  const RequestSeed seed{.seed = settings.seed, .cell = cell};
  if (settings.scenario == Scenario::trace) {
    ASSAY_TRY(auto trace, read_trace_file(settings.trace_file));
    for (const auto& entry : trace.entries) requests.times.push_back(entry.at);
    requests.set = requests_of_trace(std::move(trace), seed);
  } else if (settings.target != "null" || asks_a_file(settings.spec)) {
    const auto* group = find_setting(settings.spec, "requests");
    ASSAY_TRY(requests.set, requests_of_settings(group ? group->as_object() : json::object(), seed));
  }
  if (requests.set && requests.set->size() > 0) {
    requests.samples = static_cast<std::uint32_t>(std::min<std::uint64_t>(requests.set->size(), 0xFFFFFFFFu));
    requests.endless = false;
  }
  if (settings.accuracy && requests.endless) {
    return Error{.kind = ErrorKind::bad_spec,
                 .message = "'mode: accuracy' asks for every sample once, and generated prompts have no end",
                 .hint = "Add 'requests: {dataset: \"file:prompts.jsonl\"}'."};
  }
  return requests;
}

Result<std::string> hash_of_files(const ServeSettings& settings) {
  constexpr std::size_t kMostBytes = std::size_t{4} << 30;
  std::string all;
  const SettingsView view(settings.spec);
  for (const std::string_view key : {"trace", "requests.dataset", "requests.lengths_from"}) {
    std::string name;
    view.read(key, name);
    if (key == "requests.dataset") name = asks_a_file(settings.spec) ? name.substr(5) : "";
    if (name.empty()) continue;
    ASSAY_TRY(const auto text, read_file(name, kMostBytes));
    all += fmt::format("{} {}\n", key, content_hash(text));
  }
  return content_hash(all);
}

LoadPlan plan_of(const ServeSettings& settings, const ServeRequests& requests, const LoadShare& share) {
  LoadPlan plan{.scenario = settings.scenario,
                .samples_per_query = settings.scenario == Scenario::multi_stream ? settings.concurrency : 1,
                .concurrency = settings.concurrency,
                .min_queries = settings.samples,
                .min_duration = settings.min_duration,
                .warmup = settings.warmup,
                .share = share,
                .wishes = {.request_timeout = settings.request_timeout,
                           .token_times = settings.token_times,
                           .texts = settings.accuracy}};
  if (settings.scenario == Scenario::closed) {
    plan.wishes.most_in_flight = static_cast<std::uint32_t>(share_of(settings.concurrency, share));
  }
  if (settings.scenario == Scenario::ramp) {
    // Climbed to its end, however short a load is asked for.
    plan.min_duration = std::max(plan.min_duration, settings.ramp.duration - settings.warmup);
  }
  if (settings.scenario == Scenario::trace) {
    plan.min_queries = requests_after(settings.warmup, requests.times, settings.speed_up);
    plan.min_duration = Nanos(0);
  }
  if (settings.accuracy) {
    plan.min_queries = plan.max_queries = requests.samples;
    plan.min_duration = plan.warmup = Nanos(0);
  }
  if (settings.find_peak) {
    for (const auto& limit : settings.limits) {
      // Twice the least number of requests that can show it: a few may be over the limit.
      plan.min_queries = std::max(plan.min_queries, 2 * min_queries_for_estimate(limit.percentile));
    }
  }
  return plan;
}

}  // namespace assay
