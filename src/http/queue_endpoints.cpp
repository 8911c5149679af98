#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/cost.h"
#include "api/queue_types.h"
#include "api/run_types.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "http/run_orders.h"
#include "http/start_rules.h"
#include "leader/leader.h"
#include "leader/run_desk.h"
#include "spec/spec.h"
#include "store/run_store.h"

namespace assay {
namespace {

const ApiParameter& run_parameter() {
  static const ApiParameter run{.name = "run", .in = ApiParameter::In::path, .description = "The id of the run"};
  return run;
}

std::optional<Price> price_in(const json::object& spec) {
  const auto text = [&](std::string_view key) {
    const auto* value = find_setting(spec, key);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
  };
  const auto* amount = find_setting(spec, "price.amount");
  if (!amount || !amount->is_number()) return std::nullopt;
  return Price{amount->to_number<double>(), text("price.currency"), text("price.per")};
}

/// Nothing for a run without GPUs where GPU hours are what is paid for.
std::optional<Money> cost_of_run(const PlannedRun& planned, const PreviewedRun& run) {
  const auto price = price_in(planned.spec);
  if (!price || (price->per == "GPUh" && run.gpus == 0)) return std::nullopt;
  const auto hour = hourly_cost(*price, {.gpus = run.gpus, .nodes = run.nodes});
  return Money{hour.amount * run.length.seconds / 3600, hour.currency};
}

Result<OrderPreview> preview(Leader& leader, const RunRequest& wanted) {
  ASSAY_TRY(auto runs, leader.run_desk().preview(wanted));
  OrderPreview answer{.name = wanted.name, .runs = {}};
  double cost = 0;
  bool all_priced = true;
  bool all_start = true;
  WallTime end{};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto money = cost_of_run(wanted.plan[i], runs[i]);
    PricedRun priced{.run = std::move(runs[i]), .cost = {}};
    if (money) {
      priced.cost = money->amount;
      cost += money->amount;
      answer.currency = money->currency;
    }
    all_priced = all_priced && money;
    all_start = all_start && priced.run.expected_start;
    if (all_start) {
      const Nanos length(static_cast<std::int64_t>(priced.run.length.seconds * 1e9));
      end = std::max(end, *priced.run.expected_start + length);
    }
    answer.runs.push_back(std::move(priced));
  }
  if (all_priced) answer.cost = cost;
  if (all_start) answer.expected_end = end;
  return answer;
}

constexpr std::size_t kMostOfQueue = 1000;

/// A queue moves on between two pages: `PLACE.RUN` is behind that run or, where it is gone, what came behind it.
Result<QueueList> queue_page(std::span<const QueuedRun* const> queue, std::string_view after, std::size_t limit) {
  std::size_t first = 0;
  if (!after.empty()) {
    const auto* const end = after.data() + after.size();
    const auto [dot, code] = std::from_chars(after.data(), end, first);
    if (code != std::errc() || dot == end || *dot != '.') {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("'after={}' must be the 'next' of another page of the queue", after)};
    }
    const auto run = after.substr(static_cast<std::size_t>(dot - after.data()) + 1);
    const auto found = std::find_if(queue.begin(), queue.end(), [&](const QueuedRun* one) { return one->run == run; });
    first = found != queue.end() ? static_cast<std::size_t>(found - queue.begin()) + 1
                                 : std::max<std::size_t>(first, 1) - 1;
  }
  QueueList page{.runs = {}, .total = std::ssize(queue), .next = {}};
  for (std::size_t at = first; at < queue.size() && page.runs.size() < limit; ++at) page.runs.push_back(*queue[at]);
  const auto behind = first + page.runs.size();
  if (!page.runs.empty() && behind < queue.size()) page.next = fmt::format("{}.{}", behind, page.runs.back().run);
  return page;
}

void add_looking(ApiTable& table, Leader& leader) {
  RunDesk& desk = leader.run_desk();
  table.add(
      {.path = "/api/v1/queue",
       .summary = "What the cluster was asked for and has not ended: what goes on, then what waits, with the reason",
       .parameters = {{.name = "mine", .description = "Of the caller alone", .type = "boolean"},
                      {.name = "limit", .description = "At most so many", .type = "integer"},
                      {.name = "after", .description = "The 'next' of the page before"}},
       .handle = answering([&desk](const HttpRequest& request, const Principal& caller) -> Result<QueueList> {
         ASSAY_TRY(const auto limit, limit_of(request, kMostOfQueue, kMostOfQueue));
         ASSAY_TRY(const auto queue, desk.queue());
         std::vector<const QueuedRun*> asked_for;
         for (const auto& run : *queue) {
           if (request.query_value("mine") != "true" || run.owner == caller.owner()) asked_for.push_back(&run);
         }
         return queue_page(asked_for, request.query_value("after").value_or(""), limit);
       })});
  table.add({.path = "/api/v1/queue/{run}",
             .summary = "One run of the queue: where it is, or why it waits and until when probably",
             .parameters = {run_parameter()},
             .handle = answering(
                 [&desk](const HttpRequest& request, const Principal&) { return desk.find(request.capture("run")); })});
  table.add({.method = "POST",
             .path = "/api/v1/queue/preview",
             .scope = Scope::run,
             .summary = "What would come of an order: place, expected time and start, cost. Nothing is asked for",
             .audit = ApiEndpoint::Audit::never,
             .handle = taking<RunOrder>(
                 [&leader, &desk](RunOrder order, const HttpRequest&, const Principal& caller) -> Result<OrderPreview> {
                   ASSAY_TRY(const auto wanted, request_in(std::move(order), caller, desk));
                   ASSAY_CHECK(check_may_start(leader, caller, wanted.plan));
                   return preview(leader, wanted);
                 })});
}

void add_changing(ApiTable& table, Leader& leader) {
  RunDesk& desk = leader.run_desk();
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/hold",
             .scope = Scope::run,
             .summary = "Let a run that waits go on waiting until it is released",
             .parameters = {run_parameter()},
             .handle = answering([&desk](const HttpRequest& request, const Principal&) -> Result<QueuedRun> {
               ASSAY_CHECK(desk.hold(request.capture("run")));
               return desk.find(request.capture("run"));
             })});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/release",
             .scope = Scope::run,
             .summary = "Let a run that was held start when it is its turn",
             .parameters = {run_parameter()},
             .handle = answering([&desk](const HttpRequest& request, const Principal&) -> Result<QueuedRun> {
               ASSAY_CHECK(desk.release(request.capture("run")));
               return desk.find(request.capture("run"));
             })});
  table.add({.method = "POST",
             .path = "/api/v1/runs/{run}/priority",
             .scope = Scope::run,
             .summary = "Make a run that waits more or less urgent; above 0 is for administrators",
             .parameters = {run_parameter()},
             .handle = taking<NewPriority>(
                 [&desk](NewPriority wanted, const HttpRequest& request, const Principal& caller) -> Result<QueuedRun> {
                   ASSAY_CHECK(check_priority(caller, wanted.priority));
                   ASSAY_CHECK(desk.set_priority(request.capture("run"), wanted.priority));
                   return desk.find(request.capture("run"));
                 })});
}

}  // namespace

void add_queue_endpoints(ApiTable& table, Leader& leader) {
  add_looking(table, leader);
  add_changing(table, leader);
}

}  // namespace assay
