#include "client/connection.h"

#include <fmt/format.h>

#include "base/text.h"
#include "client/connection_options.h"
#include "net/client_messages.h"
#include "net/http_client.h"

namespace assay {

Result<std::unique_ptr<Connection>> Connection::create(Options options) {
  std::unique_ptr<Connection> connection(new Connection(std::move(options)));
  // What is wrong with the options is better said now.
  ASSAY_TRY(auto client, connection->borrow());
  connection->idle_.push_back(std::move(client));
  return connection;
}

Connection::Connection(Options options) : options_(std::make_shared<const Options>(std::move(options))) {}

const std::string& Connection::address() const { return options_->address; }

Result<std::shared_ptr<HttpClient>> Connection::borrow() {
  {
    const std::lock_guard lock(mutex_);
    if (cancelled_) return Error{.kind = ErrorKind::interrupted, .message = "no longer asking"};
    if (!idle_.empty()) {
      auto client = std::move(idle_.back());
      idle_.pop_back();
      return client;
    }
  }
  ASSAY_TRY(auto made, HttpClient::create(options_->url, options_->client));
  std::shared_ptr<HttpClient> client(std::move(made));
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [](const auto& one) { return one.expired(); });
  all_.push_back(client);
  if (cancelled_) client->cancel();
  return client;
}

Result<ClientResponse> Connection::receive(ClientRequest request, const ByteSink& sink) {
  for (const auto& [name, value] : options_->headers) request.headers.add(name, value);
  ASSAY_TRY(auto client, borrow());
  auto response = sink ? client->receive(std::move(request), sink) : client->send(std::move(request));
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(client));
  }
  if (!response) return explained(std::move(response).error());
  if (auto error = error_in(*response, options_->client.server)) {
    if (response->status == 401) error->kind = options_->unknown_caller;
    return std::move(*error);
  }
  return response;
}

Result<ClientResponse> Connection::send(ClientRequest request) { return receive(std::move(request), {}); }

Result<json::value> Connection::get(const std::string& target) {
  ASSAY_TRY(const auto response, send({.target = target}));
  return parse_json(response.body);
}

Result<json::value> Connection::send_json(const std::string& method, const std::string& target,
                                          const json::object& body, std::optional<Nanos> time) {
  ClientRequest request{
      .method = method, .target = target, .body = body.empty() ? "" : json::serialize(body), .time = time};
  request.headers.add("Content-Type", "application/json");
  ASSAY_TRY(const auto response, send(std::move(request)));
  return parse_json(response.body);
}

Result<EventSource> Connection::open_events(const std::string& target) {
  if (!streaming_) {
    ASSAY_TRY(streaming_, borrow());
  }
  auto events = streaming_->open_events({.target = target, .headers = options_->headers});
  if (!events) return explained(std::move(events).error());
  return events;
}

Error Connection::explained(Error error) const {
  error.context = {fmt::format("asking {}", address())};
  // Closed without a word: what a server with TLS does to whoever does not speak it.
  if (error.kind == ErrorKind::lost_peer) {
    if (options_->url.scheme == Url::Scheme::http) error.hint = "If it speaks TLS, write https://.";
    error.kind = ErrorKind::unreachable;
  }
  if (error.kind == ErrorKind::unreachable && error.hint.empty())
    error.hint = "Is it running? `assay serve` starts one.";
  return error;
}

void Connection::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  for (const auto& one : all_) {
    if (const auto client = one.lock()) client->cancel();
  }
}

std::optional<Error> error_in(const ClientResponse& response, std::string_view server) {
  auto error = failure_of(response, server);
  if (!error) return std::nullopt;
  const auto value = parse_json(response.body);
  if (!value || !value->is_object() || !value->get_object().contains("error")) return error;
  JsonFields said(value->get_object().at("error"), "error");
  if (const auto kind = error_kind_from(said.text_or("kind", ""))) error->kind = *kind;
  const std::string message = printable(said.text_or("message", ""));
  if (!message.empty()) error->message = message;
  if (const auto hint = printable(said.text_or("hint", "")); !hint.empty()) error->hint = hint;
  return error;
}

}  // namespace assay
