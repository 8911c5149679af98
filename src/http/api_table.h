#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "access/scopes.h"
#include "api/api_type.h"
#include "api/error_types.h"
#include "base/json.h"
#include "base/result.h"
#include "http/gatekeeper.h"
#include "net/http_message.h"
#include "net/route_options.h"

namespace assay {

class Router;

/// A value in the path or query that an endpoint takes: for its documentation, and for `check_request`.
struct ApiParameter {
  std::string name;
  enum class In { path, query } in = In::query;
  std::string description;
  std::string type = "string";  ///< of JSON Schema: string, boolean, integer
  bool required = false;
};

/// What an endpoint does, with the types of what it takes and gives. `answering` and `taking` make it.
struct ApiHandler {
  using Function = std::function<Result<HttpResponse>(const HttpRequest&, const Principal&)>;
  Function call;
  const ApiTypeInfo* takes = nullptr;  ///< what the body is; null: there is none, or it is no JSON
  const ApiTypeInfo* gives = nullptr;  ///< what the answer is, or the data of each event; null: no JSON
  std::string media = "application/json";
};

/// One endpoint of the API: what the router needs and what the documentation says.
struct ApiEndpoint {
  std::string method = "GET";
  std::string path;                          ///< as the router takes it: "/api/v1/nodes/{node}"
  std::optional<Scope> scope = Scope::read;  ///< what a caller must have; nothing: open to all
  bool nodes_too = false;                    ///< a node may ask as well; what it may see is for the handler to say
  std::string summary;
  std::vector<ApiParameter> parameters;
  enum class Body {
    json,     ///< an object of the type that `handle` takes
    bytes,    ///< whatever it is, in `HttpRequest::body`
    streamed  ///< the same, in `HttpRequest::body_source`: of any size, read while it arrives
  } body = Body::json;
  RouteOptions route = {};  ///< limits and threads
  enum class Audit {
    by_scope,  ///< a line in the audit log unless it is a GET, or needs no more than to read
    always,    ///< also where everybody may change what is theirs
    never      ///< part of recording a run, many times over; or it writes its own line
  } audit = Audit::by_scope;
  ApiHandler handle;
};

/// `{"error": {"kind", "message", "hint"}}` with the status that fits the kind.
HttpResponse error_response(const Error& error);
HttpResponse error_response(int status, const Error& error);
int status_of(ErrorKind kind);
/// What the server itself refuses a request with, as an error.
Error refusal_error(int status, std::string_view message);
HttpResponse json_response(const json::value& value, int status = 200);

/// The object in a request's body; an empty body is an empty object.
Result<json::object> body_object(const HttpRequest& request);

/// What was wrong with a value of ours in a request is the caller's mistake, not a damaged file.
template <typename T>
Result<T> as_usage(Result<T> value) {
  if (!value && value.error().kind == ErrorKind::bad_file) value.error().kind = ErrorKind::usage;
  return value;
}

/// Answers with what `handle(request, caller)` gives: a `Result` of a described type.
template <typename Handle>
ApiHandler answering(Handle handle) {
  using Answer = std::decay_t<decltype(*handle(std::declval<const HttpRequest&>(), std::declval<const Principal&>()))>;
  return {.call = [handle = std::move(handle)](const HttpRequest& request,
                                               const Principal& caller) -> Result<HttpResponse> {
            ASSAY_TRY(const auto answer, handle(request, caller));
            return json_response(write_api(answer));
          },
          .gives = &api_type<Answer>().info()};
}

/// The same for `handle(body, request, caller)`, with a body of a described type.
template <typename Body, typename Handle>
ApiHandler taking(Handle handle) {
  auto made = answering(
      [handle = std::move(handle)](const HttpRequest& request,
                                   const Principal& caller) -> decltype(handle(std::declval<Body>(), request, caller)) {
        ASSAY_TRY(auto object, body_object(request));
        ASSAY_TRY(auto body, as_usage(read_api<Body>(json::value(std::move(object)))));
        return handle(std::move(body), request, caller);
      });
  made.takes = &api_type<Body>().info();
  return made;
}

/// What writes its answer itself: bytes, a stream of events, text that would cost too much as values. `Answer`: what
/// JSON in it is.
template <typename Answer = void>
ApiHandler writing(std::string media, ApiHandler::Function call) {
  ApiHandler made{.call = std::move(call), .media = std::move(media)};
  if constexpr (!std::is_void_v<Answer>) made.gives = &api_type<Answer>().info();
  return made;
}

/// What all endpoints of an API have in common: our own, or one that other people's programs speak.
struct ApiStyle {
  std::string base = "/api/v1";  ///< below here also what the server itself refuses has the shape of this API
  std::string title = "Assay leader";
  std::string description;
  /// Query parameters and keys of bodies that an endpoint does not name: refused, since what is misspelt must not be
  /// passed over, or ignored, where clients are written for more than we know.
  bool ignores_unknown = false;
  /// How an error looks; `Retry-After` and `WWW-Authenticate` are added. Any thread.
  std::function<HttpResponse(int status, const Error& error)> make_error = [](int status, const Error& error) {
    return error_response(status, error);
  };
  const ApiTypeInfo* error_type = &api_type<ErrorAnswer>().info();  ///< what `make_error` answers with
};

/// The endpoints of an API: routes, and the OpenAPI document that describes them.
class ApiTable {
 public:
  explicit ApiTable(ApiStyle style = {}) : style_(std::move(style)) {}

  void add(ApiEndpoint endpoint) { endpoints_.push_back(std::move(endpoint)); }
  const std::vector<ApiEndpoint>& endpoints() const { return endpoints_; }
  /// For rules that hold for many of them.
  void change_each(const std::function<void(ApiEndpoint&)>& change) {
    for (auto& endpoint : endpoints_) change(endpoint);
  }
  /// Routes every endpoint through the gatekeeper, which must outlive the router, and `check_request`. Of who may not
  /// ask the body is not read.
  void route(Router& router, Gatekeeper& gatekeeper) const;
  /// OpenAPI 3.1.
  json::object document() const;

 private:
  json::object schemas() const;

  ApiStyle style_;
  std::vector<ApiEndpoint> endpoints_;
};

}  // namespace assay
