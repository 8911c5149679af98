#include "base/units.h"
#include "http/api_routes.h"
#include "leader/readable.h"

namespace assay {
namespace {

using In = ApiParameter::In;

Result<HttpResponse> list_alerts(Leader& leader, const HttpRequest& request) {
  ASSAY_TRY(const auto records, leader.alerts().list({.open_only = request.query_value("all") != "true",
                                                      .node = std::string(request.query_value("node").value_or(""))}));
  json::array list;
  for (const auto& record : records) list.push_back(to_json(record));
  return json_response(json::object{{"alerts", std::move(list)}});
}

Result<HttpResponse> acknowledge(Leader& leader, const HttpRequest& request, const Caller& caller) {
  ASSAY_TRY(auto body, body_object(request));
  const json::value value(std::move(body));
  JsonFields fields(value, "body");
  const std::string note = fields.text_or("note", "");
  ASSAY_CHECK(fields.finish());
  ASSAY_TRY(const auto record, leader.alerts().acknowledge(request.capture("id"), caller.name, shortened(note, 1024)));
  return json_response(to_json(record));
}

Result<HttpResponse> make_silence(Leader& leader, const HttpRequest& request, const Caller& caller) {
  ASSAY_TRY(auto body, body_object(request));
  const json::value value(std::move(body));
  JsonFields fields(value, "body");
  Silence silence{.rule = shortened(fields.text_or("rule", ""), 256),
                  .node = shortened(fields.text_or("node", ""), 256),
                  .about = shortened(fields.text_or("about", ""), 256),
                  .by = caller.name,
                  .reason = shortened(fields.text_or("reason", ""), 1024)};
  const std::string length = fields.text("for");
  ASSAY_CHECK(fields.finish());
  auto duration = parse_duration(length);
  if (!duration) return Error{.kind = ErrorKind::usage, .message = "'for' " + duration.error().message};
  // Added to now, a longer one would not fit into the clock; the desk refuses it as too long.
  silence.until = leader.clock().wall() + std::min<Nanos>(*duration, std::chrono::hours(24 * 365 * 10));
  ASSAY_TRY(const auto made, leader.alerts().silence(std::move(silence)));
  return json_response(to_json(made));
}

}  // namespace

void add_alert_endpoints(ApiTable& table, Leader& leader) {
  table.add({.path = "/api/v1/alerts",
             .summary = "What needs attention: what, where, since when, the values and what to do",
             .parameters = {{.name = "all", .description = "true: resolved ones, too", .type = "boolean"},
                            {.name = "node", .description = "Of this node only"}},
             .handle = [&leader](const HttpRequest& request, const Caller&) { return list_alerts(leader, request); }});
  table.add({.method = "POST",
             .path = "/api/v1/alerts/{id}/acknowledge",
             .role = Role::user,
             .summary = "Say that somebody takes care of it",
             .parameters = {{.name = "id", .in = In::path, .description = "The id of the alert, or its beginning"},
                            {.name = "note", .in = In::body, .description = "For the others"}},
             .handle = [&leader](const HttpRequest& request, const Caller& caller) {
               return acknowledge(leader, request, caller);
             }});
  table.add({.path = "/api/v1/silences",
             .summary = "What nobody is told about for a while",
             .handle = [&leader](const HttpRequest&, const Caller&) -> Result<HttpResponse> {
               json::array list;
               for (const auto& silence : leader.alerts().silences()) list.push_back(to_json(silence));
               return json_response(json::object{{"silences", std::move(list)}});
             }});
  table.add({.method = "POST",
             .path = "/api/v1/silences",
             .role = Role::user,
             .summary = "Tell nobody about some alerts for a while; what is left out covers everything",
             .parameters = {{.name = "rule", .in = In::body, .description = "The name of a rule"},
                            {.name = "node", .in = In::body, .description = "The name of a node"},
                            {.name = "about", .in = In::body, .description = "A GPU, a file system"},
                            {.name = "for", .in = In::body, .description = "How long: 2h", .required = true},
                            {.name = "reason", .in = In::body, .description = "For the others"}},
             .handle = [&leader](const HttpRequest& request, const Caller& caller) {
               return make_silence(leader, request, caller);
             }});
  table.add({.method = "DELETE",
             .path = "/api/v1/silences/{id}",
             .role = Role::user,
             .summary = "End a silence",
             .parameters = {{.name = "id", .in = In::path, .description = "The id of the silence"}},
             .handle = [&leader](const HttpRequest& request, const Caller&) -> Result<HttpResponse> {
               ASSAY_CHECK(leader.alerts().end_silence(request.capture("id")));
               return json_response(json::object{});
             }});
}

}  // namespace assay
