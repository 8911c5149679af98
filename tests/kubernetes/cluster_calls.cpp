#include "cluster_calls.h"

#include <fmt/format.h>

#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/url.h"

namespace assay {

ClusterCalls::ClusterCalls(const Url& server, const fs::path& authority, std::string token)
    : token_(std::move(token)),
      client_(HttpClient::create(server, {.trust = {.fingerprint = {}, .ca_file = authority}}).value()) {}

ClusterCalls::Answer ClusterCalls::call(const std::string& method, const std::string& target,
                                        const json::object& body) {
  ClientRequest request{.method = method, .target = target, .headers = {{"Authorization", "Bearer " + token_}}};
  if (!body.empty()) {
    request.headers.set("Content-Type",
                        method == "PATCH" ? "application/strategic-merge-patch+json" : "application/json");
    request.body = json::serialize(body);
  }
  const std::lock_guard lock(mutex_);
  const auto response = client_->send(std::move(request));
  if (!response) return {.status = 0, .body = {{"message", response.error().text()}}};
  auto value = parse_json(response->body);
  return {.status = response->status,
          .body = value && value->is_object() ? value->get_object() : json::object{{"message", response->body}}};
}

std::string ClusterCalls::Answer::text() const { return fmt::format("{}: {}", status, json::serialize(body)); }

}  // namespace assay
