#include "http/api_table.h"

#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "http/api_check.h"

namespace assay {
namespace {

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::bad_spec:
    case ErrorKind::bad_file:
    case ErrorKind::unsupported: return 400;
    case ErrorKind::denied: return 403;
    case ErrorKind::not_found:
    case ErrorKind::missing_file: return 404;
    case ErrorKind::busy: return 409;
    case ErrorKind::timeout: return 504;
    case ErrorKind::io:
    case ErrorKind::unreachable: return 503;
    default: return 500;
  }
}

std::string_view bearer_of(const HttpRequest& request) {
  const auto field = request.headers.find("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (!field || field->size() <= kScheme.size() || !equal_ignoring_case(field->substr(0, kScheme.size()), kScheme)) {
    return {};
  }
  return trim(field->substr(kScheme.size()));
}

/// What a gatekeeper looks at.
HttpRequest without_body(const HttpRequest& request) {
  return {.method = request.method, .path = request.path, .headers = request.headers, .peer = request.peer};
}

json::object parameter_object(const ApiParameter& parameter) {
  return {{"name", parameter.name},
          {"in", parameter.in == ApiParameter::In::path ? "path" : "query"},
          {"required", parameter.required || parameter.in == ApiParameter::In::path},
          {"description", parameter.description},
          {"schema", json::object{{"type", parameter.type}}}};
}

/// `get_nodes_node_trend`: what generated clients call it.
std::string operation_id(const ApiEndpoint& endpoint) {
  std::string id = lower_case(endpoint.method);
  std::string_view path = endpoint.path;
  constexpr std::string_view kBase = "/api/v1";
  if (path.starts_with(kBase)) path.remove_prefix(kBase.size());
  for (const char c : path) {
    if (c != '{' && c != '}') id += c == '/' ? '_' : c;
  }
  return id;
}

json::object answer_content(const ApiEndpoint& endpoint) {
  json::object content;
  json::object properties;
  for (const auto& [name, type] : endpoint.fields) properties[name] = json::object{{"type", type}};
  if (!properties.empty()) {
    content["schema"] = json::object{{"type", "object"}, {"properties", std::move(properties)}};
  }
  return {{endpoint.answer, std::move(content)}};
}

json::object operation_of(const ApiEndpoint& endpoint) {
  json::array parameters;
  json::object properties;
  json::array required;
  for (const auto& parameter : endpoint.parameters) {
    if (parameter.in != ApiParameter::In::body) {
      parameters.push_back(parameter_object(parameter));
      continue;
    }
    properties[parameter.name] = json::object{{"type", parameter.type}, {"description", parameter.description}};
    if (parameter.required) required.emplace_back(parameter.name);
  }
  json::object operation{
      {"operationId", operation_id(endpoint)},
      {"summary", endpoint.summary},
      {"parameters", std::move(parameters)},
      {"responses", json::object{{"200", json::object{{"description", "OK"}, {"content", answer_content(endpoint)}}},
                                 {"default", json::object{{"$ref", "#/components/responses/Error"}}}}}};
  if (endpoint.body != ApiEndpoint::Body::json) {
    operation["requestBody"] = json::object{{"content", json::object{{"application/octet-stream", json::object{}}}}};
  } else if (!properties.empty()) {
    json::object schema{{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
    const bool needed = !required.empty();
    if (needed) schema["required"] = std::move(required);
    operation["requestBody"] =
        json::object{{"required", needed},
                     {"content", json::object{{"application/json", json::object{{"schema", std::move(schema)}}}}}};
  }
  if (endpoint.role) {
    operation["security"] = json::array{json::object{{"token", json::array{}}}};
    operation["description"] = fmt::format("Needs a token of role {} or above.", name_of(*endpoint.role));
  } else {
    operation["security"] = json::array{};
  }
  return operation;
}

}  // namespace

HttpResponse json_response(const json::value& value, int status) {
  return HttpResponse::json(status, json::serialize(value) + "\n");
}

HttpResponse error_response(int status, const Error& error) {
  json::object what{{"kind", name_of(error.kind)}};
  what["message"] = printable(error.text());
  what["hint"] = printable(error.hint);
  HttpResponse response = json_response(json::object{{"error", std::move(what)}}, status);
  if (status == 503 || status == 429) response.headers.add("Retry-After", "5");
  if (status == 401) response.headers.add("WWW-Authenticate", "Bearer realm=\"assay\"");
  return response;
}

HttpResponse error_response(const Error& error) { return error_response(status_of(error.kind), error); }

Result<json::object> body_object(const HttpRequest& request) {
  if (trim(request.body).empty()) return json::object{};
  auto value = parse_json_strictly(request.body);
  if (!value || !value->is_object()) {
    return Error{.kind = ErrorKind::usage,
                 .message = value ? "the body is no JSON object" : value.error().text(),
                 .hint = "GET /api/v1/openapi.json describes what it must be."};
  }
  return std::move(value->as_object());
}

void Gatekeeper::log_refusal(const std::string& line) {
  const SteadyTime now = SystemClock().now();
  const std::lock_guard lock(log_mutex_);
  if (now - logged_since_ >= kLogPeriod) {
    if (unlogged_ > 0) log_warning("{} more requests were refused within a minute.", unlogged_);
    logged_since_ = now;
    logged_ = unlogged_ = 0;
  }
  if (logged_ < kLoggedPerPeriod) {
    ++logged_;
    log_warning("{}", line);
  } else {
    ++unlogged_;
  }
}

HttpResponse Gatekeeper::refuse(const HttpRequest& request, int status, std::string_view why) {
  log_refusal(
      fmt::format("Refused {} {} from {}: {}", request.method, printable(request.path), request.peer.host, why));
  const Error error{.kind = ErrorKind::denied,
                    .message = status == 401 ? "this needs a token that is good here" : std::string(why),
                    .hint = status == 401 ? "`assay token create` on the leader's machine makes one." : ""};
  return error_response(status, error);
}

HttpResponse Gatekeeper::refuse(const HttpRequest& request, const Error& error) {
  if (error.kind == ErrorKind::denied) return refuse(request, 401, error.text());
  log_error("Nobody can be let in: {}", error.text());
  return error_response(503, {.kind = ErrorKind::io, .message = "the leader cannot read its tokens"});
}

std::variant<Caller, HttpResponse> Gatekeeper::admit(const HttpRequest& request, Role least) {
  const auto secret = bearer_of(request);
  if (secret.empty()) return refuse(request, 401, "it has no token");
  const auto token = book_.check(secret);
  if (!token) return refuse(request, token.error());
  // An agent's token is for joining alone; the others are in the order of what they may do.
  if (token->role == Role::agent || token->role < least) {
    return refuse(
        request, 403,
        fmt::format("token '{}' has the role {}, this needs {}", token->name, name_of(token->role), name_of(least)));
  }
  return Caller{.name = token->name, .role = token->role};
}

std::variant<std::string, HttpResponse> Gatekeeper::admit_node(const HttpRequest& request) {
  const auto node = request.headers.find("Assay-Node");
  if (!node) return refuse(request, 401, "it names no node");
  const auto checked = book_.check_node(*node, bearer_of(request));
  if (!checked) return refuse(request, checked.error());
  return std::string(*node);
}

HttpResponse Gatekeeper::join(const HttpRequest& request) {
  auto body = body_object(request);
  if (!body) return error_response(body.error());
  const json::value value(std::move(*body));
  JsonFields fields(value, "join");
  const std::string node = fields.text("node");
  const std::string key = fields.text("key");
  if (const auto good = fields.finish(); !good) return error_response(400, good.error());
  const auto joined = book_.join(bearer_of(request), node, key);
  if (joined) {
    log_info("Node {} has joined from {}.", node, request.peer.host);
    return json_response(json::object{{"node", node}});
  }
  if (joined.error().kind == ErrorKind::usage) return error_response(joined.error());
  // Who has a token that is good may know why it does not help.
  if (joined.error().kind == ErrorKind::denied && book_.check(bearer_of(request))) {
    log_refusal(fmt::format("Refused node {} from {}: {}", printable(node), request.peer.host, joined.error().text()));
    return error_response(403, joined.error());
  }
  if (joined.error().kind != ErrorKind::busy) return refuse(request, joined.error());
  log_warning("Refused a second key for node {} from {}.", node, request.peer.host);
  return error_response(joined.error());
}

void ApiTable::route(Router& router, Gatekeeper& gatekeeper) const {
  for (const auto& endpoint : endpoints_) {
    router.add(endpoint.method, endpoint.path,
               [endpoint, &gatekeeper](const HttpRequest& request) {
                 Caller caller;
                 if (const auto role = endpoint.role) {
                   auto admitted = gatekeeper.admit(request, *role);
                   if (auto* refusal = std::get_if<HttpResponse>(&admitted)) return std::move(*refusal);
                   caller = std::get<Caller>(std::move(admitted));
                   caller.still_allowed = [&gatekeeper, least = *role, again = without_body(request)] {
                     return std::holds_alternative<Caller>(gatekeeper.admit(again, least));
                   };
                 }
                 if (const auto fits = check_request(endpoint, request); !fits) return error_response(fits.error());
                 auto response = endpoint.handle(request, caller);
                 return response ? std::move(*response) : error_response(response.error());
               },
               {.stream_body = endpoint.body == ApiEndpoint::Body::streamed});
  }
}

json::object ApiTable::document() const {
  json::object paths;
  for (const auto& endpoint : endpoints_) {
    auto& path = paths[endpoint.path];
    if (!path.is_object()) path = json::object{};
    path.as_object()[lower_case(endpoint.method)] = operation_of(endpoint);
  }
  const json::object error_schema{
      {"type", "object"},
      {"properties",
       json::object{
           {"error", json::object{{"type", "object"},
                                  {"properties", json::object{{"kind", json::object{{"type", "string"}}},
                                                              {"message", json::object{{"type", "string"}}},
                                                              {"hint", json::object{{"type", "string"}}}}}}}}}};
  return {{"openapi", "3.1.0"},
          {"info", json::object{{"title", "Assay leader"},
                                {"version", version()},
                                {"description",
                                 "Nodes, telemetry, events and alerts of a GPU cluster. Times are ISO "
                                 "8601 in UTC, or milliseconds since 1970 where a name ends in _ms."}}},
          {"paths", std::move(paths)},
          {"components",
           json::object{
               {"securitySchemes", json::object{{"token", json::object{{"type", "http"}, {"scheme", "bearer"}}}}},
               {"responses",
                json::object{
                    {"Error", json::object{{"description", "What is wrong, and what to do about it"},
                                           {"content", json::object{{"application/json",
                                                                     json::object{{"schema", error_schema}}}}}}}}}}}};
}

}  // namespace assay
