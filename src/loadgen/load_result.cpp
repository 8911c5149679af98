#include "loadgen/load_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "loadgen/early_stopping.h"

namespace assay {
namespace {

constexpr double kLatenessShare = 0.01;           // of the latency limit
constexpr std::int64_t kLatenessFloor = 100'000;  // ns; below this nothing that is served by a network can tell
// An answer that comes while its thread waits is read late. What comes at any time does so with this probability, so
// that the 99th percentile, the strictest that every result states, is the server's own up to here (measured: ADR 13).
constexpr double kMostWaited = 0.01;
constexpr double kMostStolen = 0.01;
// A thread that reads answers for more of the time than this has no room left for more of them: what limits the load
// may be the client.
constexpr double kMostBusy = 0.9;
constexpr double kLeastDelivered = 0.99;
constexpr std::string_view kOnlyClient = "client";

bool is_stream(Scenario scenario) { return scenario == Scenario::single_stream || scenario == Scenario::multi_stream; }

double per_second(double count, double seconds) { return seconds > 0 ? count / seconds : 0; }

/// Goes over the records once.
class Tally {
 public:
  Tally(const LoadPlan& plan, const LoadRules& rules, LoadResult& result)
      : plan_(plan), rules_(rules), result_(result) {}

  void take(const QueryRecord& record);
  void finish(const QueryRecorder& recorder);

 private:
  bool is_good(const QueryRecord& record) const;
  void take_query(const QueryRecord& record);
  void inter_token(const QueryRecorder& recorder);
  void rates();
  void steady_rates(const QueryRecorder& recorder);
  void check_limits();

  const LoadPlan& plan_;
  const LoadRules& rules_;
  LoadResult& result_;
  std::vector<std::int64_t> end_to_end_;
  std::vector<std::int64_t> per_sample_;
  std::vector<std::int64_t> first_token_;
  std::vector<std::int64_t> per_token_;
  std::vector<std::int64_t> lateness_;
  double input_tokens_ = 0;
  double output_tokens_ = 0;
  double good_ = 0;
  double good_tokens_ = 0;
  std::int64_t last_scheduled_ = 0;
  std::int64_t last_sent_ = 0;
  std::int64_t last_done_ = 0;
  std::uint32_t in_query_ = 0;
  std::int64_t query_latency_ = 0;
  bool query_ok_ = true;
};

bool Tally::is_good(const QueryRecord& record) const {
  if (!record.ok()) return false;
  return std::all_of(rules_.limits.begin(), rules_.limits.end(), [&](const LatencyLimit& limit) {
    const auto value = measured(record, limit.measure);
    return !value || *value <= limit.at_most.count();
  });
}

void Tally::take_query(const QueryRecord& record) {
  query_ok_ &= record.ok();
  query_latency_ = std::max(query_latency_, record.latency_ns());
  if (++in_query_ < plan_.samples_per_query) return;
  ++result_.queries;
  if (query_ok_) end_to_end_.push_back(query_latency_);
  in_query_ = 0;
  query_latency_ = 0;
  query_ok_ = true;
}

void Tally::take(const QueryRecord& record) {
  ++result_.issued;
  if (record.scheduled_ns < plan_.warmup.count()) return;
  ++result_.measured;
  ++result_.outcomes[static_cast<std::size_t>(record.outcome())];
  if (record.outcome() == RequestOutcome::error) ++result_.errors[static_cast<std::size_t>(record.error)];
  last_scheduled_ = std::max(last_scheduled_, record.scheduled_ns);
  last_sent_ = std::max(last_sent_, record.sent_ns);
  last_done_ = std::max(last_done_, record.done_ns);
  lateness_.push_back(record.lateness_ns());
  input_tokens_ += record.ok() ? record.input_tokens : 0;
  output_tokens_ += record.ok() ? record.output_tokens : 0;
  if (is_good(record)) {
    ++good_;
    good_tokens_ += record.output_tokens;
  }
  if (plan_.scenario == Scenario::multi_stream) {
    if (record.ok()) per_sample_.push_back(record.latency_ns());
    take_query(record);
  } else {
    ++result_.queries;
    if (record.ok()) end_to_end_.push_back(record.latency_ns());
  }
  if (const auto value = measured(record, LatencyMeasure::first_token)) first_token_.push_back(*value);
  if (const auto value = measured(record, LatencyMeasure::per_output_token)) {
    per_token_.push_back(*value);
  } else if (record.ok()) {
    ++result_.without_per_token;
  }
}

void Tally::inter_token(const QueryRecorder& recorder) {
  std::vector<std::int64_t> gaps;
  recorder.tokens().for_each([&](std::uint64_t id, std::span<const TokenLog::Gap> of_request) {
    const QueryRecord& record = recorder.record(id);
    if (!record.ok() || record.scheduled_ns < plan_.warmup.count()) return;
    // Tokens that came together share the gap before them evenly.
    for (const auto& gap : of_request) gaps.insert(gaps.end(), gap.tokens, gap.ns / std::max(1u, gap.tokens));
  });
  result_.inter_token = summarise_latencies(gaps);
}

void Tally::rates() {
  const double warmup = seconds_of(plan_.warmup);
  const auto until = [&](std::int64_t ns) { return static_cast<double>(ns) * 1e-9 - warmup; };
  result_.window_seconds = until(last_done_);
  const auto measured_count = static_cast<double>(result_.measured);
  const auto ok = static_cast<double>(result_.outcomes[static_cast<std::size_t>(RequestOutcome::ok)]);
  result_.asked_per_second = rules_.asked_per_second;
  result_.scheduled_per_second = per_second(measured_count, until(last_scheduled_));
  result_.delivered_per_second = per_second(measured_count, until(last_sent_));
  result_.completed_per_second = per_second(ok, result_.window_seconds);
  result_.success_rate = result_.measured > 0 ? ok / measured_count : 0;
  result_.input_tokens_per_second = per_second(input_tokens_, result_.window_seconds);
  result_.output_tokens_per_second = per_second(output_tokens_, result_.window_seconds);
  result_.goodput_per_second = per_second(good_, result_.window_seconds);
  result_.goodput_tokens_per_second = per_second(good_tokens_, result_.window_seconds);
}

void Tally::steady_rates(const QueryRecorder& recorder) {
  const double seconds = seconds_of(Nanos(last_sent_) - plan_.warmup);
  if (plan_.scenario == Scenario::offline || seconds <= 0) return;
  double ok = 0;
  double tokens = 0;
  for (std::uint64_t id = 0; id < recorder.issued(); ++id) {
    const QueryRecord& record = recorder.record(id);
    if (!record.ok() || record.done_ns < plan_.warmup.count() || record.done_ns > last_sent_) continue;
    ++ok;
    tokens += record.output_tokens;
  }
  result_.steady_per_second = ok / seconds;
  result_.steady_tokens_per_second = tokens / seconds;
}

void Tally::check_limits() {
  const auto failed = result_.measured - result_.outcomes[static_cast<std::size_t>(RequestOutcome::ok)];
  for (const auto& limit : rules_.limits) {
    const auto& values = limit.measure == LatencyMeasure::first_token        ? first_token_
                         : limit.measure == LatencyMeasure::per_output_token ? per_token_
                                                                             : end_to_end_;
    result_.limits.push_back(check_limit(limit, values, failed));
    result_.limits_met &= result_.limits.back().met;
    result_.early_stopping_met &= result_.limits.back().shown;
  }
  if (rules_.limits.empty() && is_stream(plan_.scenario)) {
    result_.early_stopping_met = result_.queries >= min_queries_for_estimate(stated_percentile(plan_.scenario));
  }
}

void Tally::finish(const QueryRecorder& recorder) {
  rates();
  steady_rates(recorder);
  result_.end_to_end = summarise_latencies(end_to_end_);
  result_.per_sample = summarise_latencies(per_sample_);
  result_.first_token = summarise_latencies(first_token_);
  result_.per_output_token = summarise_latencies(per_token_);
  result_.lateness = summarise_latencies(lateness_);
  inter_token(recorder);
  check_limits();
  // By max latency (offline), last scheduled time (open loops), last issued time (the rest), as LoadGen judges it.
  const std::int64_t lasted = plan_.scenario == Scenario::offline ? last_done_
                              : is_open_loop(plan_.scenario)      ? last_scheduled_
                                                                  : last_sent_;
  const Nanos measured_time = Nanos(lasted) - plan_.warmup;
  result_.min_duration_met = measured_time >= plan_.min_duration;
  result_.min_queries_met = result_.queries >= plan_.min_queries;
  result_.official = measured_time >= rules_.official_duration &&
                     (plan_.scenario != Scenario::offline || result_.measured >= rules_.official_offline_samples);
  result_.sorted_latencies = std::move(end_to_end_);
}

std::int64_t lateness_allowed(const LoadRules& rules, const LoadResult& result) {
  std::int64_t tightest = 0;
  for (const auto& limit : rules.limits) {
    if (limit.measure == LatencyMeasure::per_output_token) continue;
    tightest = tightest == 0 ? limit.at_most.count() : std::min(tightest, limit.at_most.count());
  }
  if (tightest == 0) tightest = result.first_token.count > 0 ? result.first_token.p99 : result.end_to_end.p99;
  return std::max(kLatenessFloor, static_cast<std::int64_t>(static_cast<double>(tightest) * kLatenessShare));
}

std::string short_time(double ns) { return format_duration(Nanos(static_cast<Nanos::rep>(ns))); }

/// What a client is judged by: the only one, or one of several. Where requests are not due by the clock, one that
/// leaves late has its answer late and nobody else's, and makes the next one later by as much.
void flag_client(const ClientAccount& client, bool by_the_clock, std::int64_t allowed_ns, std::vector<Flag>& flags) {
  const auto flag = [&](std::string kind, std::string message) {
    flags.push_back({std::move(kind), client.name, std::move(message)});
  };
  const auto time = [](Nanos span) { return short_time(static_cast<double>(span.count())); };
  const std::string who = client.name == kOnlyClient ? "The client" : "C" + client.name.substr(1);
  if (!client.lost_reason.empty()) {
    flag("client_lost",
         fmt::format("{} was lost: {}. Its {} requests count as lost.", who, client.lost_reason, client.requests));
    return;
  }
  if (by_the_clock && client.lateness.p99 > allowed_ns) {
    flag("client_late",
         fmt::format("{} sent requests late: {} at the 99th percentile, where {} is allowed (1 % of the latency that "
                     "counts, at least 100 µs).",
                     who, time(Nanos(client.lateness.p99)), time(Nanos(allowed_ns))));
  }
  if (client.began_late.count() > allowed_ns) {
    flag("client_late", fmt::format("{} began {} after the start that was agreed, where {} is allowed.", who,
                                    time(client.began_late), time(Nanos(allowed_ns))));
  }
  if (client.usage.waited_share > kMostWaited) {
    flag("client_starved", fmt::format("{}: a thread of it waited {:.1f} % of the time for a CPU.", who,
                                       client.usage.waited_share * 100));
  }
  if (client.usage.stolen_share > kMostStolen) {
    flag("client_starved", fmt::format("{}: the hypervisor took {:.1f} % of its machine's CPU time.", who,
                                       client.usage.stolen_share * 100));
  }
  if (client.usage.busy_share > kMostBusy) {
    flag("client_saturated",
         fmt::format("{}: a thread of it was busy {:.0f} % of the time; it may be what limits the load. Raise "
                     "'target.threads', or use several 'clients'.",
                     who, client.usage.busy_share * 100));
  }
  if (by_the_clock && client.delivered_per_second < kLeastDelivered * client.scheduled_per_second) {
    flag("load_not_delivered", fmt::format("{} should have sent {:.6g} requests a second, and sent {:.6g}.", who,
                                           client.scheduled_per_second, client.delivered_per_second));
  }
  if (client.clock_bound.count() > allowed_ns) {
    flag(
        "clocks_apart",
        fmt::format("{} may be up to {} ahead of the schedule or behind it: its clock is known no better. Each latency "
                    "is of one clock and right; requests of different clients may be closer together or further apart "
                    "than the schedule has them.",
                    who, time(client.clock_bound)));
  }
}

/// The client of a load that one carried alone.
ClientAccount only_client(const LoadResult& result, const LoadEnding& ending) {
  return {.name = std::string(kOnlyClient),
          .requests = result.measured,
          .lateness = result.lateness,
          .scheduled_per_second = result.scheduled_per_second,
          .delivered_per_second = result.delivered_per_second,
          .usage = ending.client,
          .began_late = ending.began_late};
}

void flag_outcomes(const QueryRecorder& recorder, LoadResult& result) {
  const auto count = [&](RequestOutcome outcome) { return result.outcomes[static_cast<std::size_t>(outcome)]; };
  const std::uint64_t failed = result.measured - count(RequestOutcome::ok);
  if (failed > 0) {
    std::string message = fmt::format("{} of {} requests did not end well:", failed, result.measured);
    for (std::size_t i = 1; i < kRequestErrors; ++i) {
      if (result.errors[i] > 0)
        message += fmt::format(" {} {},", result.errors[i], name_of(static_cast<RequestError>(i)));
    }
    for (const auto outcome : {RequestOutcome::timeout, RequestOutcome::cancelled, RequestOutcome::lost}) {
      if (count(outcome) > 0) message += fmt::format(" {} {},", count(outcome), name_of(outcome));
    }
    message.back() = '.';
    result.flags.push_back({"failed_requests", "target", message});
  }
  if (recorder.faults() > 0) {
    result.flags.push_back(
        {"target_fault", "target",
         fmt::format("The target reported {} requests twice, or ones that were never sent.", recorder.faults())});
  }
}

void flag_rules(const LoadPlan& plan, LoadResult& result) {
  const auto flag = [&](std::string kind, std::string about, std::string message) {
    result.flags.push_back({std::move(kind), std::move(about), std::move(message)});
  };
  if (result.measured == 0) flag("no_requests", "scenario", "No request was due after the warm-up.");
  if (!result.min_duration_met) {
    flag("too_short", "min_duration",
         fmt::format("The load was shorter than {}. Ask for more samples, or for less time.",
                     format_duration(plan.min_duration)));
  }
  if (!result.min_queries_met) {
    flag("too_few", "samples",
         fmt::format("{} requests were measured, and {} are asked for.", result.queries, plan.min_queries));
  }
  if (result.measured == 0) return;
  if (result.limits.empty() && !result.early_stopping_met) {
    const double percentile = stated_percentile(plan.scenario);
    flag("limit_not_shown", "samples",
         fmt::format("{} requests are too few to state the {:.6g}th percentile with 99 % confidence: {} are needed.",
                     result.queries, percentile * 100, min_queries_for_estimate(percentile)));
  }
  for (const auto& check : result.limits) {
    if (check.limit.measure == LatencyMeasure::per_output_token && check.counted > 0 && result.without_per_token > 0) {
      flag("answers_of_one_token", name_of(check.limit),
           fmt::format("{} answers had fewer than two tokens, and so no time per token: {} is of the others. MLPerf "
                       "takes such answers for errors.",
                       result.without_per_token, name_of(check.limit)));
    }
    if (check.counted == 0) {
      flag("limit_missed", name_of(check.limit),
           fmt::format("{} is not known: answers that come whole have no first token, and those of a single token no "
                       "time per token.",
                       name_of(check.limit)));
    } else if (!check.met) {
      flag("limit_missed", name_of(check.limit),
           fmt::format("{} is {}, and the limit is {}.", name_of(check.limit),
                       check.value_ns ? short_time(static_cast<double>(*check.value_ns)) : "beyond every limit",
                       format_duration(check.limit.at_most)));
    } else if (!check.shown) {
      flag("limit_not_shown", name_of(check.limit),
           fmt::format(
               "{} requests, {} of them over the limit, are too few to say with 99 % confidence that {} is kept: "
               "{} are needed.",
               check.counted, check.over, name_of(check.limit),
               min_passing_queries(check.over, check.limit.percentile) + check.over));
    }
  }
}

}  // namespace

double stated_percentile(Scenario scenario) { return scenario == Scenario::single_stream ? 0.90 : 0.99; }

bool invalidates_load(const Flag& flag) { return flag.kind == "interrupted" || invalidates(flag); }

bool limited_by_client(const LoadResult& result) {
  return std::any_of(result.flags.begin(), result.flags.end(), [](const Flag& flag) {
    return flag.kind == "client_late" || flag.kind == "client_starved" || flag.kind == "client_saturated" ||
           flag.kind == "load_not_delivered";
  });
}

LoadResult evaluate_load(const LoadPlan& plan, const LoadRules& rules, const QueryRecorder& recorder,
                         const LoadEnding& ending) {
  LoadResult result{.scenario = plan.scenario};
  Tally tally(plan, rules, result);
  for (std::uint64_t id = 0; id < recorder.issued(); ++id) tally.take(recorder.record(id));
  tally.finish(recorder);
  result.client = ending.client;
  result.clients = ending.clients;
  result.lateness_allowed_ns = lateness_allowed(rules, result);
  const auto clients = ending.clients.empty() ? std::vector{only_client(result, ending)} : ending.clients;
  for (const auto& client : clients) {
    flag_client(client, is_open_loop(plan.scenario), result.lateness_allowed_ns, result.flags);
  }
  flag_outcomes(recorder, result);
  flag_rules(plan, result);
  if (ending.out_of_memory) {
    result.flags.push_back({"recording_incomplete", "client", "There was no memory for the records of more requests."});
  }
  if (ending.interrupted) result.flags.push_back({"interrupted", "client", "The load was stopped before its end."});
  result.valid = std::none_of(result.flags.begin(), result.flags.end(), invalidates_load);
  return result;
}

}  // namespace assay
