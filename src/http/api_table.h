#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/scopes.h"
#include "base/json.h"
#include "base/result.h"
#include "http/gatekeeper.h"
#include "net/router.h"

namespace assay {

/// A value that an endpoint takes: for its documentation, and for `check_request`.
struct ApiParameter {
  std::string name;
  enum class In { path, query, body } in = In::query;
  std::string description;
  std::string type = "string";  ///< of JSON Schema: string, boolean, integer; in bodies also number, array, object
  bool required = false;
};

/// One endpoint of the API: what the router needs and what the documentation says.
struct ApiEndpoint {
  std::string method = "GET";
  std::string path;                          ///< as the router takes it: "/api/v1/nodes/{node}"
  std::optional<Scope> scope = Scope::read;  ///< what a caller must have; nothing: open to all
  bool nodes_too = false;                    ///< a node may ask as well; what it may see is for the handler to say
  std::string summary;
  std::vector<ApiParameter> parameters;
  std::string answer = "application/json";
  enum class Body {
    json,     ///< an object of the parameters that stand in the body
    bytes,    ///< whatever it is, in `HttpRequest::body`
    streamed  ///< the same, in `HttpRequest::body_source`: of any size, read while it arrives
  } body = Body::json;
  /// What stands in the object that it answers with: names and JSON Schema's types. Empty: not described.
  std::vector<std::pair<std::string, std::string>> fields = {};
  RouteOptions route = {};  ///< limits and threads
  std::function<Result<HttpResponse>(const HttpRequest&, const Principal&)> handle;
};

/// `{"error": {"kind", "message", "hint"}}` with the status that fits the kind.
HttpResponse error_response(const Error& error);
HttpResponse error_response(int status, const Error& error);
int status_of(ErrorKind kind);
/// The JSON Schema of what `error_response` answers.
json::object own_error_schema();
/// What the server itself refuses a request with, as an error.
Error refusal_error(int status, std::string_view message);
HttpResponse json_response(const json::value& value, int status = 200);

/// The object in a request's body; an empty body is an empty object.
Result<json::object> body_object(const HttpRequest& request);

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
  json::object error_schema = own_error_schema();  ///< for the document
};

/// The endpoints of an API: routes, and the OpenAPI document that describes them.
class ApiTable {
 public:
  explicit ApiTable(ApiStyle style = {}) : style_(std::move(style)) {}

  void add(ApiEndpoint endpoint) { endpoints_.push_back(std::move(endpoint)); }
  /// Routes every endpoint through the gatekeeper, which must outlive the router, and `check_request`.
  void route(Router& router, Gatekeeper& gatekeeper) const;
  /// For `Router::before_body`: keeps whom nobody knows from filling the memory with bodies. Nothing for who is known,
  /// whatever they may do.
  std::optional<HttpResponse> refuse_stranger(Gatekeeper& gatekeeper, const HttpRequest& head) const;
  /// OpenAPI 3.1.
  json::object document() const;

 private:
  ApiStyle style_;
  std::vector<ApiEndpoint> endpoints_;
};

}  // namespace assay
