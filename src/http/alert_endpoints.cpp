#include <fmt/format.h>

#include <algorithm>

#include "api/cluster_types.h"
#include "base/shortened.h"
#include "base/text.h"
#include "base/units.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "leader/alert_desk.h"
#include "leader/leader.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "watch/watch_rules.h"

namespace assay {
namespace {

using In = ApiParameter::In;

Result<AlertList> list_alerts(Leader& leader, const HttpRequest& request) {
  AlertDesk::Query query{.open_only = request.query_value("all") != "true",
                         .node = std::string(request.query_value("node").value_or("")),
                         .before = std::string(request.query_value("before").value_or(""))};
  ASSAY_TRY(query.limit, limit_of(request, query.limit, query.limit));
  ASSAY_TRY(query.from, time_of(request, "from"));
  ASSAY_TRY(query.to, time_of(request, "to"));
  ASSAY_TRY(auto page, leader.alerts().list(query));
  return AlertList{.alerts = std::move(page.alerts), .next = std::move(page.next)};
}

/// A silence of what does not exist would silence nothing, and nobody would notice until the alarm.
Result<void> check_names(Leader& leader, const Silence& silence) {
  const auto check = [](std::string_view what, const std::string& name,
                        const std::vector<std::string>& known) -> Result<void> {
    if (name.empty() || std::find(known.begin(), known.end(), name) != known.end()) return {};
    Error error{.kind = ErrorKind::usage, .message = fmt::format("there is no {} '{}'", what, printable(name))};
    if (const auto meant = nearest(name, known)) error.hint = fmt::format("Did you mean '{}'?", *meant);
    return error;
  };
  std::vector<std::string> rules;
  rules.reserve(kRules);
  for (const auto& rule : known_rules()) rules.emplace_back(rule.name);
  ASSAY_CHECK(check("rule", silence.rule, rules));
  std::vector<std::string> nodes;
  for (const auto& node : leader.nodes().all()) nodes.push_back(node->name());
  return check("node", silence.node, nodes);
}

Result<Silence> make_silence(Leader& leader, const SilenceRequest& wanted, const Principal& caller) {
  Silence silence{.rule = shortened(wanted.rule, 256),
                  .node = shortened(wanted.node, 256),
                  .about = shortened(wanted.about, 256),
                  .by = caller.name,
                  .reason = shortened(wanted.reason, 1024)};
  const bool everything = wanted.everything;
  if ((silence.rule + silence.node + silence.about).empty() != everything) {
    return Error{.kind = ErrorKind::usage,
                 .message = everything ? "'everything' cannot stand beside a rule, a node or a thing"
                                       : "this would silence every alert of the cluster",
                 .hint = "Name 'rule', 'node' or 'about'; or say 'everything', and nothing else, if you mean it."};
  }
  ASSAY_CHECK(check_names(leader, silence));
  auto duration = parse_duration(wanted.length);
  if (!duration) return Error{.kind = ErrorKind::usage, .message = "'for' " + duration.error().message};
  // Added to now, a longer one would not fit into the clock; the desk refuses it as too long.
  silence.until = leader.clock().wall() + std::min<Nanos>(*duration, std::chrono::hours(24 * 365 * 10));
  return leader.alerts().silence(std::move(silence));
}

}  // namespace

void add_alert_endpoints(ApiTable& table, Leader& leader) {
  table.add({.path = "/api/v1/alerts",
             .summary =
                 "What needs attention: what, where, since when, the values and what to do. Each answer looks at "
                 "a bounded number of alerts: where there is a 'next', there may be more",
             .parameters = {{.name = "all", .description = "true: resolved ones, too", .type = "boolean"},
                            {.name = "node", .description = "Of this node only"},
                            {.name = "from", .description = "Not those that were over before (ISO 8601)"},
                            {.name = "to", .description = "Not those that began then or later (ISO 8601)"},
                            {.name = "before", .description = "The 'next' of the page before, or the id of an alert"},
                            {.name = "limit", .description = "At most so many (1000)", .type = "integer"}},
             .handle = answering(
                 [&leader](const HttpRequest& request, const Principal&) { return list_alerts(leader, request); })});
  table.add({.method = "POST",
             .path = "/api/v1/alerts/{id}/acknowledge",
             .scope = Scope::alerts,
             .summary = "Say that somebody takes care of it",
             .parameters = {{.name = "id", .in = In::path, .description = "The id of the alert, or its beginning"}},
             .handle = taking<AlertNote>(
                 [&leader](const AlertNote& wanted, const HttpRequest& request, const Principal& caller) {
                   return leader.alerts().acknowledge(request.capture("id"), caller.name, shortened(wanted.note, 1024));
                 })});
  table.add({.path = "/api/v1/silences",
             .summary = "What nobody is told about for a while",
             .handle = answering([&leader](const HttpRequest&, const Principal&) -> Result<SilenceList> {
               return SilenceList{.silences = leader.alerts().silences()};
             })});
  table.add({.method = "POST",
             .path = "/api/v1/silences",
             .scope = Scope::alerts,
             .summary = "Tell nobody about some alerts for a while: those that fit all of rule, node and about",
             .handle = taking<SilenceRequest>(
                 [&leader](const SilenceRequest& wanted, const HttpRequest&, const Principal& caller) {
                   return make_silence(leader, wanted, caller);
                 })});
  table.add({.method = "DELETE",
             .path = "/api/v1/silences/{id}",
             .scope = Scope::alerts,
             .summary = "End a silence",
             .parameters = {{.name = "id", .in = In::path, .description = "The id of the silence"}},
             .handle = answering([&leader](const HttpRequest& request, const Principal&) -> Result<Done> {
               ASSAY_CHECK(leader.alerts().end_silence(request.capture("id")));
               return Done{};
             })});
}

}  // namespace assay
