#include "outlets/webhook/webhook.h"

#include <fmt/format.h>

#include <utility>

#include "base/supervised_thread.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/http_message.h"
#include "net/url.h"

namespace assay {
namespace {

class Webhook final : public Outlet {
 public:
  Webhook(WebhookOptions options, Url url) : options_(std::move(options)), url_(std::move(url)) {}

  /// Neither path nor query: in chat systems they are the secret.
  std::string name() const override { return url_.place(); }

  Result<void> deliver(const std::string& body, const std::stop_token& stop) override {
    Nanos pause = options_.first_pause;
    for (int attempt = 1;; ++attempt) {
      auto sent = post(body, stop);
      if (sent || attempt >= options_.attempts || !sleep_for(stop, pause)) return sent;
      pause *= 2;
    }
  }

 private:
  /// Whatever the error says goes to the log, so it does not have what was answered, which may repeat the secret.
  Result<void> post(const std::string& body, const std::stop_token& stop) const {
    Url url = url_;
    ClientOptions options;
    options.server = url.place();
    options.request_time = options_.deadline;
    // A client's URL has no query, a webhook's may: path and query belong to the request.
    std::string target = std::exchange(url.target, "/");
    ASSAY_TRY(auto client, HttpClient::create(std::move(url), std::move(options)));
    const std::stop_callback cancelling(stop, [&client] { client->cancel(); });
    auto response = client->send({.method = "POST",
                                  .target = std::move(target),
                                  .headers = {{"Content-Type", "application/json"}},
                                  .body = body});
    if (!response) {
      response.error().context.clear();
      return std::move(response).error();
    }
    if (response->status >= 200 && response->status < 300) return {};
    return Error{.kind = ErrorKind::io,
                 .message = fmt::format("it answered {} {}", response->status, reason_phrase(response->status))};
  }

  const WebhookOptions options_;
  const Url url_;
};

}  // namespace

Result<std::unique_ptr<Outlet>> make_webhook(WebhookOptions options) {
  ASSAY_TRY(auto url, parse_url(options.url));
  if (url.scheme == Url::Scheme::unix_socket) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' cannot be a webhook", options.url),
                 .hint = "Give a URL that begins with http:// or https://."};
  }
  return std::unique_ptr<Outlet>(std::make_unique<Webhook>(std::move(options), std::move(url)));
}

}  // namespace assay
