#include "leader_place.h"

#include <fmt/format.h>

#include <iterator>

#include "access/secrets.h"
#include "api/cluster_types.h"
#include "base/text.h"
#include "client/ask.h"
#include "client/connection_options.h"
#include "logins.h"
#include "net/client_options.h"
#include "net/tls.h"
#include "net/url.h"
#include "net/url_text.h"
#include "report/text/style.h"

namespace assay {
namespace {

constexpr std::string_view kServer = "the leader";

Error no_leader(const Context& context) {
  return {.kind = ErrorKind::unreachable,
          .message = fmt::format("no leader runs in '{}'", context.data_folder().string()),
          .hint = "Start one with `assay serve`, or name one: --leader URL --token-file FILE."};
}

/// A token is sent to this machine, or over TLS; and who names a certificate expects that somebody looks at it.
Result<void> check_transport_of_token(const Url& url, const LeaderChoice& options) {
  if (url.scheme == Url::Scheme::https) return {};
  if (!options.fingerprint.empty() || !options.ca_file.empty()) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("--fingerprint and --ca-file are for https, and the leader at '{}' is asked "
                                        "without it",
                                        url.place()),
                 .hint = "Write https://, or leave them out."};
  }
  if (url.scheme == Url::Scheme::unix_socket || is_loopback_host(url.host)) return {};
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("http to '{}' would send your token in the clear", url.place()),
               .hint = "Write https://: every leader that other machines can reach speaks it."};
}

}  // namespace

Result<void> write_endpoint(const LeaderPlace& place, const LeaderEndpoint& endpoint) {
  return write_file_atomically(place.endpoint(), pretty_json(json::object{{"schema", 1},
                                                                          {"url", endpoint.url},
                                                                          {"fingerprint", endpoint.fingerprint},
                                                                          {"certificate", endpoint.certificate}}));
}

Result<LeaderEndpoint> read_endpoint(const LeaderPlace& place) {
  auto text = read_file(place.endpoint(), 1 << 16);
  if (!text && text.error().kind == ErrorKind::denied) {
    Error error = std::move(text).error();
    error.hint = "Another user's leader is asked with --leader URL --token-file FILE.";
    return error;
  }
  if (!text) return Error{.kind = ErrorKind::not_found, .message = "no leader runs here"};
  ASSAY_TRY(const auto value, parse_json(*text));
  JsonFields fields(value, "endpoint.json");
  LeaderEndpoint endpoint{.url = fields.text("url"),
                          .fingerprint = fields.text_or("fingerprint", ""),
                          .certificate = fields.text_or("certificate", "")};
  ASSAY_CHECK(fields.finish());
  return endpoint;
}

Result<std::unique_ptr<Connection>> connect_as(const Context& context, const LeaderEndpoint& endpoint,
                                               Headers headers) {
  ASSAY_TRY(auto url, parse_url(endpoint.url));
  ASSAY_CHECK(check_transport_of_token(url, context.leader));
  ClientOptions client{.server = std::string(kServer)};
  if (!endpoint.fingerprint.empty()) {
    ASSAY_TRY(client.trust.fingerprint, parse_fingerprint(endpoint.fingerprint));
  }
  client.trust.ca_file = context.leader.ca_file;
  client.response_bytes = std::size_t{512} << 20;
  client.request_time = std::chrono::minutes(5);
  return Connection::create(
      {.url = std::move(url), .address = endpoint.url, .client = std::move(client), .headers = std::move(headers)});
}

Result<std::unique_ptr<Connection>> connect_to_leader(const Context& context) {
  const LeaderChoice& options = context.leader;
  const LeaderPlace place(context.data_folder());
  LeaderEndpoint endpoint{.url = options.url, .fingerprint = options.fingerprint, .certificate = {}};
  fs::path token_file = options.token_file;
  if (const auto named = context.environment.find("ASSAY_TOKEN_FILE");
      token_file.empty() && named != context.environment.end()) {
    token_file = named->second;
  }
  if (endpoint.url.empty()) {
    auto found = read_endpoint(place);
    if (!found) return found.error().kind == ErrorKind::denied ? found.error() : no_leader(context);
    endpoint = std::move(*found);
    if (!endpoint.certificate.empty()) endpoint.fingerprint = endpoint.certificate;
    if (!options.fingerprint.empty()) endpoint.fingerprint = options.fingerprint;
    if (token_file.empty()) token_file = place.own_token();
  } else if (token_file.empty()) {
    ASSAY_TRY(const auto login, find_login(context, endpoint.url));
    if (login) {
      if (endpoint.fingerprint.empty() && options.ca_file.empty()) endpoint.fingerprint = login->fingerprint;
      return connect_as(context, endpoint, {{"Authorization", "Bearer " + login->token}});
    }
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("--leader {} needs a token", endpoint.url),
                 .hint = fmt::format("Sign in once with `assay login {}`; or give --token-file FILE or set "
                                     "ASSAY_TOKEN_FILE: `assay token create --role viewer`, or `user` to run "
                                     "something, on the leader's machine makes one.",
                                     endpoint.url)};
  }
  ASSAY_TRY(auto token, read_secret_file(token_file));
  if (parse_join_token(token)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' holds a join token, which lets agents in", token_file.string()),
                 .hint = "`assay token create --role viewer` (or user, admin) on the leader's machine makes yours."};
  }
  return connect_as(context, endpoint, {{"Authorization", "Bearer " + std::move(token)}});
}

int change_at_leader(const Context& context, Connection& leader, const std::string& method, const std::string& target,
                     const json::object& body, const std::string& done) {
  const auto value = leader.send_json(method, target, body);
  if (!value) return context.fail(value.error());
  if (!context.json && !context.quiet) print(done + "\n");
  return context.succeed(value->is_object() ? value->as_object() : json::object());
}

Result<NodeList> all_nodes(Connection& leader, bool with_values) {
  NodeList all;
  do {
    const auto target = fmt::format("/api/v1/nodes?values={}&after={}", with_values, percent_encode(all.next));
    ASSAY_TRY(auto page, ask<NodeList>(leader, target));
    std::move(page.nodes.begin(), page.nodes.end(), std::back_inserter(all.nodes));
    all.next = std::move(page.next);
  } while (!all.next.empty());
  return all;
}

Result<AlertList> all_open_alerts(Connection& leader, const std::string& node) {
  AlertList all;
  do {
    const auto target = fmt::format("/api/v1/alerts?node={}&before={}", percent_encode(node), percent_encode(all.next));
    ASSAY_TRY(auto page, ask<AlertList>(leader, target));
    std::move(page.alerts.begin(), page.alerts.end(), std::back_inserter(all.alerts));
    all.next = std::move(page.next);
  } while (!all.next.empty());
  return all;
}

Result<void> print_problems(const Context& context, Connection& leader) {
  ASSAY_TRY(const auto status, ask<LeaderStatus>(leader, "/api/v1/status"));
  for (const auto& problem : status.problems) {
    const bool grave = problem.level == AlertSeverity::critical;
    print_error(fmt::format("{} {}\n", context.error_style().paint(grave ? Colour::red : Colour::yellow, "leader:"),
                            printable(problem.text)));
  }
  return {};
}

}  // namespace assay
