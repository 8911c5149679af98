#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "http/api_check.h"
#include "http/api_routes.h"
#include "leader/readable.h"
#include "watch/watch_rules.h"

namespace assay {
namespace {

using In = ApiParameter::In;

Result<HttpResponse> list_alerts(Leader& leader, const HttpRequest& request) {
  AlertDesk::Query query{.open_only = request.query_value("all") != "true",
                         .node = std::string(request.query_value("node").value_or("")),
                         .before = std::string(request.query_value("before").value_or(""))};
  ASSAY_TRY(query.limit, limit_of(request, query.limit, query.limit));
  ASSAY_TRY(const auto records, leader.alerts().list(query));
  json::array list;
  for (const auto& record : records) list.push_back(to_json(record));
  return json_response(json::object{{"alerts", std::move(list)}});
}

Result<HttpResponse> acknowledge(Leader& leader, const HttpRequest& request, const Principal& caller) {
  ASSAY_TRY(auto body, body_object(request));
  const json::value value(std::move(body));
  JsonFields fields(value, "body");
  const std::string note = fields.text_or("note", "");
  ASSAY_CHECK(fields.finish());
  ASSAY_TRY(const auto record, leader.alerts().acknowledge(request.capture("id"), caller.name, shortened(note, 1024)));
  return json_response(to_json(record));
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

Result<HttpResponse> make_silence(Leader& leader, const HttpRequest& request, const Principal& caller) {
  ASSAY_TRY(auto body, body_object(request));
  const json::value value(std::move(body));
  JsonFields fields(value, "body");
  Silence silence{.rule = shortened(fields.text_or("rule", ""), 256),
                  .node = shortened(fields.text_or("node", ""), 256),
                  .about = shortened(fields.text_or("about", ""), 256),
                  .by = caller.name,
                  .reason = shortened(fields.text_or("reason", ""), 1024)};
  const std::string length = fields.text("for");
  const bool everything = fields.boolean_or("everything", false);
  ASSAY_CHECK(fields.finish());
  if ((silence.rule + silence.node + silence.about).empty() != everything) {
    return Error{.kind = ErrorKind::usage,
                 .message = everything ? "'everything' cannot stand beside a rule, a node or a thing"
                                       : "this would silence every alert of the cluster",
                 .hint = "Name 'rule', 'node' or 'about'; or say 'everything', and nothing else, if you mean it."};
  }
  ASSAY_CHECK(check_names(leader, silence));
  auto duration = parse_duration(length);
  if (!duration) return Error{.kind = ErrorKind::usage, .message = "'for' " + duration.error().message};
  // Added to now, a longer one would not fit into the clock; the desk refuses it as too long.
  silence.until = leader.clock().wall() + std::min<Nanos>(*duration, std::chrono::hours(24 * 365 * 10));
  ASSAY_TRY(const auto made, leader.alerts().silence(std::move(silence)));
  return json_response(to_json(made));
}

}  // namespace

void add_alert_endpoints(ApiTable& table, Leader& leader) {
  table.add(
      {.path = "/api/v1/alerts",
       .summary = "What needs attention: what, where, since when, the values and what to do",
       .parameters = {{.name = "all", .description = "true: resolved ones, too", .type = "boolean"},
                      {.name = "node", .description = "Of this node only"},
                      {.name = "before", .description = "What follows the alert of this id: the next page"},
                      {.name = "limit", .description = "At most so many (1000)", .type = "integer"}},
       .fields = {{"alerts", "array"}},
       .handle = [&leader](const HttpRequest& request, const Principal&) { return list_alerts(leader, request); }});
  table.add({.method = "POST",
             .path = "/api/v1/alerts/{id}/acknowledge",
             .scope = Scope::alerts,
             .summary = "Say that somebody takes care of it",
             .parameters = {{.name = "id", .in = In::path, .description = "The id of the alert, or its beginning"},
                            {.name = "note", .in = In::body, .description = "For the others"}},
             .handle = [&leader](const HttpRequest& request, const Principal& caller) {
               return acknowledge(leader, request, caller);
             }});
  table.add({.path = "/api/v1/silences",
             .summary = "What nobody is told about for a while",
             .fields = {{"silences", "array"}},
             .handle = [&leader](const HttpRequest&, const Principal&) -> Result<HttpResponse> {
               json::array list;
               for (const auto& silence : leader.alerts().silences()) list.push_back(to_json(silence));
               return json_response(json::object{{"silences", std::move(list)}});
             }});
  table.add({.method = "POST",
             .path = "/api/v1/silences",
             .scope = Scope::alerts,
             .summary = "Tell nobody about some alerts for a while: those that fit all of rule, node and about",
             .parameters = {{.name = "rule", .in = In::body, .description = "The name of a rule"},
                            {.name = "node", .in = In::body, .description = "The name of a node"},
                            {.name = "about", .in = In::body, .description = "A GPU, a file system"},
                            {.name = "everything",
                             .in = In::body,
                             .description = "true: every alert of the cluster, instead of a rule, a node or a thing",
                             .type = "boolean"},
                            {.name = "for", .in = In::body, .description = "How long: 2h", .required = true},
                            {.name = "reason", .in = In::body, .description = "For the others"}},
             .handle = [&leader](const HttpRequest& request, const Principal& caller) {
               return make_silence(leader, request, caller);
             }});
  table.add({.method = "DELETE",
             .path = "/api/v1/silences/{id}",
             .scope = Scope::alerts,
             .summary = "End a silence",
             .parameters = {{.name = "id", .in = In::path, .description = "The id of the silence"}},
             .handle = [&leader](const HttpRequest& request, const Principal&) -> Result<HttpResponse> {
               ASSAY_CHECK(leader.alerts().end_silence(request.capture("id")));
               return json_response(json::object{});
             }});
}

}  // namespace assay
