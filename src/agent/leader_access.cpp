#include "agent/leader_access.h"

#include <fmt/format.h>

#include "access/secrets.h"
#include "base/json.h"
#include "base/text.h"
#include "client/connection_options.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/headers.h"
#include "net/http_client.h"
#include "net/tls.h"
#include "protocol/paths.h"

namespace assay {
namespace {

bool is_loopback(const Url& url) { return url.scheme == Url::Scheme::unix_socket || is_loopback_host(url.host); }

}  // namespace

Result<void> check_transport(const Url& url, bool insecure) {
  if (insecure || url.scheme == Url::Scheme::https || is_loopback(url)) return {};
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("http to '{}' would send this node's key in the clear", url.place()),
               .hint = "Write https://, or add --insecure if the network is trusted."};
}

Result<AgentKey> keep_key(const fs::path& file) {
  std::error_code code;
  if (!fs::exists(file, code)) {
    AgentKey key{.text = new_secret(), .is_new = true};
    ASSAY_CHECK(write_secret_file(file, key.text).within("making this agent's key"));
    return key;
  }
  ASSAY_TRY(auto text, read_secret_file(file).within("reading this agent's key"));
  if (!is_secret(text)) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' is no key of an agent", file.string()),
                 .hint =
                     "Remove it; the agent makes a new one, and an administrator revokes the old one with "
                     "`assay token revoke node:NAME`."};
  }
  return AgentKey{.text = std::move(text), .is_new = false};
}

Result<TlsTrust> keep_trust(const fs::path& file, TlsTrust given) {
  const std::string doing = "keeping the fingerprint of the leader's certificate";
  if (!given.fingerprint.empty()) {
    ASSAY_CHECK(write_file_atomically(file, given.fingerprint + "\n").within(doing));
    return given;
  }
  std::error_code code;
  if (!given.ca_file.empty() || !fs::exists(file, code)) return given;
  ASSAY_TRY(const auto text, read_file(file, 4096).within(doing));
  ASSAY_TRY(given.fingerprint, parse_fingerprint(text).within(fmt::format("reading '{}'", file.string())));
  return given;
}

namespace {

ClientOptions client_options(const LeaderAccess& access, Nanos request_time) {
  ClientOptions options;
  options.server = "the leader";
  options.trust = access.trust;
  options.request_time = request_time;
  options.response_bytes = std::size_t{1} << 20;
  options.idle_connections = 1;
  // As many jobs as a list may have.
  options.events = {.line_bytes = std::size_t{1} << 20, .event_bytes = std::size_t{1} << 20};
  return options;
}

Headers who_asks(const LeaderAccess& access) {
  Headers headers;
  headers.add("Authorization", "Bearer " + access.key);
  headers.add(kNodeHeader, access.node);
  return headers;
}

}  // namespace

Result<std::unique_ptr<HttpClient>> make_leader_client(const LeaderAccess& access, Nanos request_time) {
  return HttpClient::create(access.url, client_options(access, request_time));
}

Result<std::shared_ptr<Connection>> connect_to_leader(const LeaderAccess& access, Nanos request_time) {
  Connection::Options options{.url = access.url,
                              .address = "the leader at " + access.url.place(),
                              .client = client_options(access, request_time),
                              .headers = who_asks(access),
                              // It was restored from a backup, say. Nobody else has our runs for that.
                              .unknown_caller = ErrorKind::unreachable};
  // A run with all its series.
  options.client.response_bytes = std::size_t{64} << 20;
  ASSAY_TRY(auto connection, Connection::create(std::move(options)));
  return std::shared_ptr<Connection>(std::move(connection));
}

ClientRequest agent_request(const LeaderAccess& access, std::string method, std::string_view path) {
  return {.method = std::move(method), .target = std::string(path), .headers = who_asks(access)};
}

Error leader_error(const ClientResponse& response) {
  auto error = failure_of(response, "the leader");
  if (!error) {
    return {.kind = ErrorKind::io,
            .message = fmt::format("the leader answered {} where that makes no sense", response.status)};
  }
  const auto value = parse_json(response.body);
  if (!value || !value->is_object() || !value->get_object().contains("error")) return std::move(*error);
  JsonFields said(value->get_object().at("error"), "error");
  const std::string message = printable(said.text_or("message", ""));
  const std::string hint = printable(said.text_or("hint", ""));
  if (!message.empty()) error->message = fmt::format("the leader answered {}: {}", response.status, message);
  if (!hint.empty()) error->hint = hint;
  return std::move(*error);
}

}  // namespace assay
