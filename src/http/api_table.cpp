#include "http/api_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/version.h"
#include "http/api_check.h"
#include "http/client_address.h"
#include "net/router.h"
#include "protocol/paths.h"

namespace assay {
namespace {

/// What clients must know about a refusal before they ask again.
HttpResponse with_advice(HttpResponse response) {
  const auto add = [&](const char* name, const char* value) {
    if (!response.headers.find(name)) response.headers.add(name, value);
  };
  if (response.status == 503 || response.status == 429) add("Retry-After", "5");
  if (response.status == 401) add("WWW-Authenticate", "Bearer realm=\"assay\"");
  return response;
}

json::object parameter_object(const ApiParameter& parameter) {
  return {{"name", parameter.name},
          {"in", parameter.in == ApiParameter::In::path ? "path" : "query"},
          {"required", parameter.required || parameter.in == ApiParameter::In::path},
          {"description", parameter.description},
          {"schema", json::object{{"type", parameter.type}}}};
}

/// `get_nodes_node_trend`: what generated clients call it.
std::string operation_id(const ApiEndpoint& endpoint, std::string_view base) {
  std::string id = lower_case(endpoint.method);
  std::string_view path = endpoint.path;
  if (is_below(path, base)) path.remove_prefix(base.size());
  for (const char c : path) {
    if (c != '{' && c != '}') id += c == '/' ? '_' : c;
  }
  return id;
}

json::object content_of(const std::string& media, const ApiTypeInfo* type) {
  json::object content;
  if (type) content["schema"] = reference_to(*type).schema;
  return {{media, std::move(content)}};
}

/// Whether anything must stand in a body of this type.
bool is_needed(const ApiTypeInfo& type) {
  return std::any_of(type.fields.begin(), type.fields.end(), [](const ApiFieldInfo& field) { return field.always; });
}

json::object operation_of(const ApiEndpoint& endpoint, const ApiStyle& style) {
  json::array parameters;
  for (const auto& parameter : endpoint.parameters) parameters.push_back(parameter_object(parameter));
  json::object good{{"description", "OK"}, {"content", content_of(endpoint.handle.media, endpoint.handle.gives)}};
  json::object operation{
      {"operationId", operation_id(endpoint, style.base)},
      {"summary", endpoint.summary},
      {"parameters", std::move(parameters)},
      {"responses",
       json::object{{"200", std::move(good)}, {"default", json::object{{"$ref", "#/components/responses/Error"}}}}}};
  if (endpoint.body != ApiEndpoint::Body::json) {
    operation["requestBody"] = json::object{{"content", content_of("application/octet-stream", nullptr)}};
  } else if (const auto* body = endpoint.handle.takes) {
    operation["requestBody"] =
        json::object{{"required", is_needed(*body)}, {"content", content_of("application/json", body)}};
  }
  if (endpoint.scope) {
    std::vector<std::string> roles;
    for (const Role role : roles_with(*endpoint.scope)) roles.emplace_back(name_of(role));
    operation["security"] = json::array{json::object{{"token", json::array{name_of(*endpoint.scope)}}},
                                        json::object{{"session", json::array{name_of(*endpoint.scope)}}}};
    operation["description"] = fmt::format("Needs the scope {}: a token or an account of role {}.",
                                           name_of(*endpoint.scope), join(roles, " or "));
  } else {
    operation["security"] = json::array{};
    operation["description"] = "Open to everybody.";
  }
  return operation;
}

/// Of a refusal in the audit log.
constexpr std::size_t kLongestDetail = 500;

/// What nobody but the caller is to see must not stay in a cache, nor be taken for a page.
HttpResponse kept_private(HttpResponse response) {
  if (!response.headers.find("Cache-Control")) response.headers.add("Cache-Control", "no-store");
  if (!response.headers.find("X-Content-Type-Options")) response.headers.add("X-Content-Type-Options", "nosniff");
  return response;
}

/// Whether it is written down who asked: for what changes something, by people and their programs. What takes a body
/// and needs no more than to read usually just asks with many words.
bool is_noted(const ApiEndpoint& endpoint, const Principal& caller) {
  if (!endpoint.scope || caller.kind != Principal::Kind::user) return false;
  if (endpoint.audit != ApiEndpoint::Audit::by_scope) return endpoint.audit == ApiEndpoint::Audit::always;
  return endpoint.method != "GET" && *endpoint.scope != Scope::read;
}

void note(const Gatekeeper& gatekeeper, const ApiEndpoint& endpoint, const HttpRequest& request,
          const Principal& caller, int status, const std::string& detail) {
  gatekeeper.note_change(request, caller, endpoint.method + " " + endpoint.path, status,
                         detail.substr(0, kLongestDetail));
}

Result<HttpResponse> answer_of(const ApiEndpoint& endpoint, const HttpRequest& request, const Principal& caller,
                               bool ignores_unknown) {
  if (caller.may_see) {
    ASSAY_CHECK(caller.may_see({.endpoint = endpoint.path,
                                .run = std::string(request.capture("run")),
                                .study = std::string(request.capture("study")),
                                .of = std::string(request.query_value("of").value_or("")),
                                .filter = std::string(request.query_value("filter").value_or(""))}));
  }
  ASSAY_CHECK(check_request(endpoint, request, ignores_unknown));
  return endpoint.handle.call(request, caller);
}

/// An endpoint as the router has it.
struct RoutedEndpoint {
  ApiEndpoint endpoint;
  ApiStyle style;
  Gatekeeper& gatekeeper;

  std::optional<Scope> scope_of(const HttpRequest& request) const {
    if (endpoint.scope && endpoint.nodes_too && request.headers.find(kNodeHeader)) return Scope::node;
    return endpoint.scope;
  }
  HttpResponse refuse(int status, const Error& error) const { return with_advice(style.make_error(status, error)); }
  HttpResponse turn_away(const HttpRequest& request, const TurnedAway& away) const {
    // Of people with an account: guests and strangers must not be able to fill the log.
    if (away.known && !away.known->account.empty() && is_noted(endpoint, *away.known)) {
      note(gatekeeper, endpoint, request, *away.known, away.status, away.error.text());
    }
    return refuse(away.status, away.error);
  }
  Admission look_at(const HttpRequest& head) const {
    return gatekeeper.look_at(head, scope_of(head), [this](const HttpRequest& request, const TurnedAway& away) {
      return turn_away(request, away);
    });
  }
  HttpResponse answer(const HttpRequest& request) const {
    Principal caller;
    if (const auto scope = scope_of(request)) {
      auto admitted = gatekeeper.admit(request, *scope);
      if (const auto* away = std::get_if<TurnedAway>(&admitted)) return turn_away(request, *away);
      caller = std::get<Principal>(std::move(admitted));
    }
    auto response = answer_of(endpoint, request, caller, style.ignores_unknown);
    if (is_noted(endpoint, caller)) {
      note(gatekeeper, endpoint, request, caller, response ? response->status : status_of(response.error().kind),
           response ? "" : response.error().text());
    }
    return kept_private(response ? std::move(*response) : refuse(status_of(response.error().kind), response.error()));
  }
};

}  // namespace

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

Error refusal_error(int status, std::string_view message) {
  const auto kind = [status] {
    switch (status) {
      case 404: return ErrorKind::not_found;
      case 408: return ErrorKind::timeout;
      case 429:
      case 503: return ErrorKind::busy;
      default: return status >= 500 ? ErrorKind::internal : ErrorKind::usage;
    }
  }();
  return {.kind = kind, .message = std::string(message)};
}

HttpResponse json_response(const json::value& value, int status) {
  return HttpResponse::json(status, json::serialize(value) + "\n");
}

HttpResponse error_response(int status, const Error& error) {
  const ErrorAnswer answer{
      .error = {.kind = error.kind, .message = printable(error.text()), .hint = printable(error.hint)}};
  return with_advice(json_response(write_api(answer), status));
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

void ApiTable::route(Router& router, Gatekeeper& gatekeeper) const {
  router.on_refusal_below(style_.base, [shape = style_.make_error](int status, std::string_view message) {
    return with_advice(shape(status, refusal_error(status, message)));
  });
  for (const auto& endpoint : endpoints_) {
    const auto routed = std::make_shared<const RoutedEndpoint>(
        RoutedEndpoint{.endpoint = endpoint, .style = style_, .gatekeeper = gatekeeper});
    RouteOptions options = endpoint.route;
    options.stream_body = endpoint.body == ApiEndpoint::Body::streamed;
    options.admit = [routed](const HttpRequest& head) { return routed->look_at(head); };
    router.add(
        endpoint.method, endpoint.path, [routed](const HttpRequest& request) { return routed->answer(request); },
        std::move(options));
  }
}

json::object ApiTable::schemas() const {
  std::vector<const ApiTypeInfo*> types = {style_.error_type};
  std::set<std::string> closed;  // what a body must be and no more
  for (const auto& endpoint : endpoints_) {
    const auto& [call, takes, gives, media] = endpoint.handle;
    if (gives) types.push_back(gives);
    if (takes) types.push_back(takes);
    if (takes && !takes->open && !style_.ignores_unknown) closed.insert(takes->name);
  }
  json::object schemas;
  for (const auto* type : with_referred(types)) {
    auto schema = schema_of(*type);
    if (closed.contains(type->name)) schema["additionalProperties"] = false;
    schemas[type->name] = std::move(schema);
  }
  return schemas;
}

json::object ApiTable::document() const {
  json::object paths;
  for (const auto& endpoint : endpoints_) {
    auto& path = paths[endpoint.path];
    if (!path.is_object()) path = json::object{};
    path.as_object()[lower_case(endpoint.method)] = operation_of(endpoint, style_);
  }
  json::object error{{"description", "What is wrong, and what to do about it"},
                     {"content", content_of("application/json", style_.error_type)}};
  return {
      {"openapi", "3.1.0"},
      {"info", json::object{{"title", style_.title}, {"version", version()}, {"description", style_.description}}},
      {"paths", std::move(paths)},
      {"components",
       json::object{
           {"schemas", schemas()},
           {"securitySchemes",
            json::object{{"token", json::object{{"type", "http"}, {"scheme", "bearer"}}},
                         {"session", json::object{{"type", "apiKey"}, {"in", "cookie"}, {"name", kSessionCookie}}}}},
           {"responses", json::object{{"Error", std::move(error)}}}}}};
}

}  // namespace assay
