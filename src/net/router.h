#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/headers.h"
#include "net/route_options.h"

namespace assay {

struct HttpRequest;
struct HttpResponse;
struct RequestTarget;

/// Which handler answers which request. Patterns are paths with `{name}` for one segment and, at the end, `{name...}`
/// for all that remain: `/runs/{run}/artifacts/{file...}`. Literal text wins over `{name}`, which wins over
/// `{name...}`. Filled first, then only read (by any number of threads).
class Router {
 public:
  /// A pattern that is not well-formed, or the same method and pattern twice, is a programmer error. A GET route
  /// answers HEAD too; OPTIONS is answered from the table.
  void add(std::string method, std::string_view pattern, Handler handler, RouteOptions options = {});
  void get(std::string_view pattern, Handler handler, RouteOptions options = {});
  void post(std::string_view pattern, Handler handler, RouteOptions options = {});

  /// Changes the options of every route at this path and below it; that there is none is a programmer error.
  void change_below(std::string_view path, const std::function<void(RouteOptions&)>& change);

  /// How the server's own refusals look (404, 413, 500 …). The default is a line of plain text. Called on any thread.
  using MakeRefusal = std::function<HttpResponse(int status, std::string_view message)>;
  void on_refusal(MakeRefusal make) { on_refusal_below("/", std::move(make)); }
  /// How they look at this path and below it; the longest path counts.
  void on_refusal_below(std::string path, MakeRefusal make);
  /// `path` as far as it is known.
  HttpResponse refusal(int status, std::string_view message, std::string_view path = "/") const;

  struct Match {
    const Handler* handler = nullptr;  ///< null: answer with `status`
    RouteOptions options;
    NamedValues captured;
    int status = 200;
    std::string allow;  ///< for the Allow header, with 405 and with the 204 that answers OPTIONS
  };
  Match match(std::string_view method, const RequestTarget& target) const;

 private:
  struct Segment {
    enum class Kind { literal, capture, rest } kind = Kind::literal;
    std::string text;
    bool operator==(const Segment&) const = default;
  };
  struct Route {
    std::string method;
    std::vector<Segment> segments;
    Handler handler;
    RouteOptions options;
  };
  static std::vector<Segment> parse_pattern(std::string_view pattern);
  static bool matches(const Route& route, const std::vector<std::string>& segments);
  static bool more_literal(const Route& a, const Route& b);
  static NamedValues captured_by(const Route& route, const std::vector<std::string>& segments);
  std::string allowed_methods(const std::vector<std::string>& segments) const;

  std::vector<Route> routes_;
  std::vector<std::pair<std::string, MakeRefusal>> refusals_;  ///< by path
};

}  // namespace assay
