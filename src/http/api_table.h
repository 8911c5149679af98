#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/token_book.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "net/router.h"

namespace assay {

/// Who asks, as the token says.
struct Caller {
  std::string name;
  Role role = Role::viewer;
  /// Asks again, for answers that go on for long: the token may be revoked or expire meanwhile. Good for as long as the
  /// gatekeeper; any thread.
  std::function<bool()> still_allowed{};
};

/// A value that an endpoint takes: for its documentation, and for `check_request`.
struct ApiParameter {
  std::string name;
  enum class In { path, query, body } in = In::query;
  std::string description;
  std::string type = "string";  ///< of JSON Schema: string, boolean, integer (in queries), object (in bodies)
  bool required = false;
};

/// One endpoint of the API: what the router needs and what the documentation says.
struct ApiEndpoint {
  std::string method = "GET";
  std::string path;                         ///< as the router takes it: "/api/v1/nodes/{node}"
  std::optional<Role> role = Role::viewer;  ///< the least that a caller must have; nothing: open to all
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
  std::function<Result<HttpResponse>(const HttpRequest&, const Caller&)> handle;
};

/// Decides who may speak. Refusals are logged, never the secret.
class Gatekeeper {
 public:
  explicit Gatekeeper(TokenBook& book) : book_(book) {}

  /// The caller, or the response that refuses: 401 without a good token, 403 with one that is not enough, 503 where
  /// nobody can tell.
  std::variant<Caller, HttpResponse> admit(const HttpRequest& request, Role least);
  /// The node that an agent speaks for, or the refusal.
  std::variant<std::string, HttpResponse> admit_node(const HttpRequest& request);
  /// Makes an agent's key good for its node.
  HttpResponse join(const HttpRequest& request);

 private:
  HttpResponse refuse(const HttpRequest& request, int status, std::string_view why);
  /// 401 for a secret that is not good; 503 where the book itself cannot be read, which is not the caller's fault.
  HttpResponse refuse(const HttpRequest& request, const Error& error);

  /// At most so many lines in so long: whoever guesses tokens must not fill the disk with our log.
  static constexpr std::size_t kLoggedPerPeriod = 100;
  static constexpr Nanos kLogPeriod = std::chrono::minutes(1);
  void log_refusal(const std::string& line);

  TokenBook& book_;
  std::mutex log_mutex_;
  SteadyTime logged_since_;
  std::size_t logged_ = 0;
  std::size_t unlogged_ = 0;
};

/// `{"error": {"kind", "message", "hint"}}` with the status that fits the kind.
HttpResponse error_response(const Error& error);
HttpResponse error_response(int status, const Error& error);
HttpResponse json_response(const json::value& value, int status = 200);

/// The object in a request's body; an empty body is an empty object.
Result<json::object> body_object(const HttpRequest& request);

/// The endpoints of an API: routes, and the OpenAPI document that describes them.
class ApiTable {
 public:
  void add(ApiEndpoint endpoint) { endpoints_.push_back(std::move(endpoint)); }
  /// Routes every endpoint through the gatekeeper, which must outlive the router, and `check_request`.
  void route(Router& router, Gatekeeper& gatekeeper) const;
  /// OpenAPI 3.1.
  json::object document() const;

 private:
  std::vector<ApiEndpoint> endpoints_;
};

}  // namespace assay
