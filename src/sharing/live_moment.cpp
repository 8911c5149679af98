#include "sharing/live_moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay {
namespace {

json::object values_json(const LiveValues& values) {
  return {{"count", values.count}, {"ns", json::value_from(values.ns)}};
}

std::uint64_t count_of(JsonFields& fields, std::string_view key) {
  const std::int64_t count = fields.integer(key);
  if (count < 0) fields.fail(key, "is below 0");
  return count < 0 ? 0 : static_cast<std::uint64_t>(count);
}

LiveValues values_in(JsonFields& outer, std::string_view key) {
  LiveValues values;
  const json::value* found = outer.find(key);
  if (!found) return values;
  JsonFields fields(*found, std::string(key));
  values.count = count_of(fields, "count");
  const json::array& list = fields.array_or_empty("ns");
  if (list.size() > LiveValues::kMost || list.size() > values.count) fields.fail("ns", "is too long");
  for (const auto& item : list) {
    json::error_code code;
    values.ns.push_back(item.to_number<std::int64_t>(code));
    if (code) fields.fail("ns", "holds something that is no number of nanoseconds");
  }
  if (const auto finished = fields.finish(); !finished) outer.fail(key, finished.error().message);
  return values;
}

/// A client's values stand for as many as it had, however few it sent.
void put_percentiles(json::object& metrics, std::string_view what, std::span<const LiveMoment> moments,
                     LiveValues LiveMoment::* which) {
  std::vector<std::pair<std::int64_t, double>> weighted;
  double all = 0;
  for (const auto& moment : moments) {
    const LiveValues& values = moment.*which;
    for (const std::int64_t ns : values.ns) {
      weighted.emplace_back(ns, static_cast<double>(values.count) / static_cast<double>(values.ns.size()));
      all += weighted.back().second;
    }
  }
  if (weighted.empty()) return;
  std::sort(weighted.begin(), weighted.end());
  const auto put = [&](const std::string& name, double percentile) {
    double below = 0;
    for (const auto& [ns, weight] : weighted) {
      below += weight;
      if (below <= all * percentile && ns != weighted.back().first) continue;
      metrics[name] = static_cast<double>(ns) * 1e-9;
      return;
    }
  };
  put(fmt::format("{}_seconds", what), 0.5);
  put(fmt::format("{}_live_p99_seconds", what), 0.99);
}

}  // namespace

LiveValues live_values(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  LiveValues live{.count = values.size()};
  const std::size_t kept = std::min(values.size(), LiveValues::kMost);
  for (std::size_t i = 0; i < kept; ++i) live.ns.push_back(values[(2 * i + 1) * values.size() / (2 * kept)]);
  return live;
}

json::object to_json(const LiveMoment& moment) {
  return {{"sent", moment.sent},
          {"ok", moment.ok},
          {"failed", moment.failed},
          {"tokens", moment.tokens},
          {"over", moment.over},
          {"in_flight", moment.in_flight},
          {"latency", values_json(moment.latency)},
          {"first_token", values_json(moment.first_token)},
          {"per_token", values_json(moment.per_token)}};
}

Result<LiveMoment> live_moment_from_json(const json::value& value) {
  JsonFields fields(value, "live figures");
  LiveMoment moment{.sent = count_of(fields, "sent"),
                    .ok = count_of(fields, "ok"),
                    .failed = count_of(fields, "failed"),
                    .tokens = count_of(fields, "tokens"),
                    .over = count_of(fields, "over"),
                    .in_flight = static_cast<std::uint32_t>(count_of(fields, "in_flight")),
                    .latency = values_in(fields, "latency"),
                    .first_token = values_in(fields, "first_token"),
                    .per_token = values_in(fields, "per_token")};
  ASSAY_CHECK(fields.finish());
  return moment;
}

json::object live_metrics(std::span<const LiveMoment> moments, Nanos lasted) {
  LiveMoment sum;
  for (const auto& moment : moments) {
    sum.sent += moment.sent;
    sum.ok += moment.ok;
    sum.failed += moment.failed;
    sum.tokens += moment.tokens;
    sum.in_flight += moment.in_flight;
  }
  json::object metrics;
  if (const double seconds = seconds_of(lasted); seconds > 0) {
    metrics["requests_sent_per_second"] = static_cast<double>(sum.sent) / seconds;
    metrics["requests_done_per_second"] = static_cast<double>(sum.ok) / seconds;
    metrics["requests_failed_per_second"] = static_cast<double>(sum.failed) / seconds;
    if (sum.tokens > 0) metrics["tokens_per_second"] = static_cast<double>(sum.tokens) / seconds;
  }
  metrics["requests_in_flight"] = sum.in_flight;
  put_percentiles(metrics, "latency", moments, &LiveMoment::latency);
  put_percentiles(metrics, "ttft", moments, &LiveMoment::first_token);
  put_percentiles(metrics, "tpot", moments, &LiveMoment::per_token);
  return metrics;
}

}  // namespace assay
