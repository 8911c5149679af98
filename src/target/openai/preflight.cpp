#include "target/openai/preflight.h"
#include "net/client_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "net/client_messages.h"
#include "net/http_client.h"
#include "target/openai/answer_scan.h"
#include "target/openai/request_writer.h"

namespace assay {
namespace {

constexpr std::size_t kMostModelsNamed = 5;

std::string said_by_server(const OpenAiOptions& options, const ClientResponse& response) {
  std::string words;
  const auto part = scan_answer(response.body);
  if (part && part->failed) {
    append_unescaped(part->message, words);
  } else {
    words = response.body.substr(0, 200);
  }
  return words_of_server(options, std::move(words));
}

Error refusal(const OpenAiOptions& options, const OpenAiEndpoint& endpoint, const ClientResponse& response,
              std::string_view path) {
  auto error = failure_of(response, endpoint.url.place()).value_or(Error{.kind = ErrorKind::bad_file});
  error.message = fmt::format("{} answers {} to {}: {}", endpoint.url.place(), response.status, path,
                              said_by_server(options, response));
  if (error.kind == ErrorKind::denied) {
    error.hint = options.token.empty() ? "The server wants a token: name its variable with 'token_env'."
                                       : "The server does not take this token: check what 'token_env' names.";
  } else if (error.kind == ErrorKind::not_found) {
    error.hint = fmt::format("Is '{}' the base of the API, as in http://host:8000/v1, and 'api' the right one?",
                             endpoint.url.target);
  } else if (error.kind == ErrorKind::bad_file) {
    error.hint = "Give the address that answers itself: a redirect is not followed.";
  }
  return error;
}

ClientRequest request_to(const OpenAiOptions& options, std::string method, std::string target) {
  ClientRequest request{.method = std::move(method), .target = std::move(target)};
  if (!options.token.empty()) request.headers.add("Authorization", "Bearer " + options.token);
  for (const auto& [name, value] : options.headers) request.headers.add(name, value);
  return request;
}

std::vector<std::string> models_in(const std::string& body) {
  std::vector<std::string> models;
  const auto value = parse_json(body);
  const json::value* data = value && value->is_object() ? value->get_object().if_contains("data") : nullptr;
  if (!data || !data->is_array()) return models;
  for (const json::value& entry : data->get_array()) {
    const json::value* id = entry.is_object() ? entry.get_object().if_contains("id") : nullptr;
    if (id && id->is_string()) models.emplace_back(id->get_string());
  }
  return models;
}

/// A server that lists no models may still serve: then the probe tells.
Result<void> check_models(HttpClient& client, const OpenAiOptions& options, const OpenAiEndpoint& endpoint) {
  const std::string path = models_path(endpoint.url);
  ASSAY_TRY(const auto response, client.send(request_to(options, "GET", path)));
  if (response.status == 401 || response.status == 403) return refusal(options, endpoint, response, path);
  if (response.status != 200) return {};
  std::vector<std::string> models = models_in(response.body);
  if (models.empty() || std::find(models.begin(), models.end(), options.model) != models.end()) return {};
  const auto meant = nearest(options.model, models);
  const std::size_t more = models.size() - std::min(models.size(), kMostModelsNamed);
  models.resize(models.size() - more);
  return Error{.kind = ErrorKind::not_found,
               .message = fmt::format("{} does not know the model '{}'", endpoint.url.place(), options.model),
               .hint = fmt::format("{}It has: {}{}.", meant ? fmt::format("Did you mean '{}'? ", *meant) : "",
                                   printable(join(models, ", ")), more > 0 ? fmt::format(" and {} more", more) : "")};
}

Result<void> probe(HttpClient& client, const OpenAiOptions& options, const OpenAiEndpoint& endpoint) {
  OpenAiOptions whole = options;
  whole.stream = false;
  const std::string path = completions_path(options, endpoint.url);
  ClientRequest request = request_to(options, "POST", path);
  request.headers.add("Content-Type", "application/json");
  request.body = RequestWriter(whole, endpoint).body_of({.prompt = "Hello", .output_tokens = 1});
  ASSAY_TRY(const auto response, client.send(std::move(request)));
  if (response.status < 200 || response.status >= 300) return refusal(options, endpoint, response, path);
  const auto part = scan_answer(response.body);
  if (part && part->has_choices) return {};
  return Error{.kind = ErrorKind::bad_file,
               .message = fmt::format("{} does not answer {} with a completion", endpoint.url.place(), path),
               .hint = "Is it a server that speaks OpenAI's API, and is 'api' the right one (chat, completions)?"};
}

}  // namespace

Result<void> check_server(const OpenAiOptions& options, const OpenAiEndpoint& endpoint) {
  // Paths are written whole, as the load writes them.
  Url root = endpoint.url;
  root.target = "/";
  ASSAY_TRY(auto client, HttpClient::create(root, {.server = endpoint.url.place(),
                                                   .trust = {.fingerprint = {}, .ca_file = options.ca_file},
                                                   .connect_time = options.connect_time,
                                                   .request_time = options.check_time}));
  ASSAY_CHECK(check_models(*client, options, endpoint).within("checking the target"));
  return probe(*client, options, endpoint).within("checking the target");
}

}  // namespace assay
