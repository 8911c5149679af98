#include "target/openai/openai_settings.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay {
namespace {

constexpr std::size_t kMostTokenBytes = 16384;

const json::value* setting_of(const json::object& settings, std::string_view key) {
  const json::value* target = settings.if_contains("target");
  return target && target->is_object() ? target->get_object().if_contains(key) : nullptr;
}

std::string text_of(const json::object& settings, std::string_view key) {
  const json::value* value = setting_of(settings, key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool flag_of(const json::object& settings, std::string_view key, bool otherwise) {
  const json::value* value = setting_of(settings, key);
  return value && value->is_bool() ? value->get_bool() : otherwise;
}

double number_of(const json::object& settings, std::string_view key, double otherwise) {
  const json::value* value = setting_of(settings, key);
  return value && value->is_number() ? value->to_number<double>() : otherwise;
}

const json::array& list_of(const json::object& settings, std::string_view key) {
  static const json::array none;
  const json::value* value = setting_of(settings, key);
  return value && value->is_array() ? value->get_array() : none;
}

Error wrong_setting(std::string message, std::string hint = {}) {
  return {.kind = ErrorKind::bad_spec, .message = std::move(message), .hint = std::move(hint)};
}

Result<std::vector<OpenAiEndpoint>> endpoints_of(const json::object& settings) {
  std::vector<std::string> addresses = {text_of(settings, "openai")};
  for (const json::value& address : list_of(settings, "endpoints")) {
    if (address.is_string()) addresses.emplace_back(address.get_string());
  }
  const json::array& weights = list_of(settings, "weights");
  if (!weights.empty() && weights.size() != addresses.size()) {
    return wrong_setting(
        fmt::format("'target.weights' has {} numbers for {} servers", weights.size(), addresses.size()));
  }
  std::vector<OpenAiEndpoint> endpoints;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    auto url = parse_url(addresses[i]);
    if (!url) return wrong_setting("target: " + url.error().message, url.error().hint);
    const bool weighted = i < weights.size() && weights[i].is_number();
    endpoints.push_back({.url = std::move(*url), .weight = weighted ? weights[i].to_number<double>() : 1});
  }
  return endpoints;
}

Result<std::string> token_of(const json::object& settings, const Environment& environment) {
  if (const std::string name = text_of(settings, "token_env"); !name.empty()) {
    auto token = environment(name);
    if (token && !token->empty()) return std::move(*token);
    return wrong_setting(fmt::format("the variable '{}' that 'target.token_env' names is not set", name),
                         fmt::format("Set it before you start assay: export {}=…", name));
  }
  const std::string file = text_of(settings, "token_file");
  if (file.empty()) return std::string();
  ASSAY_TRY(const auto content, read_file(file, kMostTokenBytes).within("reading the token"));
  std::string token(trim(content));
  if (token.empty()) return wrong_setting(fmt::format("the file '{}' that 'target.token_file' names is empty", file));
  return token;
}

Result<NamedValues> headers_of(const json::object& settings) {
  NamedValues headers;
  for (const json::value& field : list_of(settings, "headers")) {
    const std::string_view text = field.is_string() ? std::string_view(field.get_string()) : "";
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) {
      return wrong_setting(fmt::format("'{}' is no header field", printable(text.substr(0, 60))),
                           "Write for example 'X-Tenant: bench'.");
    }
    headers.emplace_back(trim(text.substr(0, colon)), trim(text.substr(colon + 1)));
  }
  return headers;
}

}  // namespace

Result<OpenAiOptions> openai_options_of(const json::object& settings, const Environment& environment) {
  OpenAiOptions options;
  ASSAY_TRY(options.endpoints, endpoints_of(settings));
  ASSAY_TRY(options.token, token_of(settings, environment));
  ASSAY_TRY(options.headers, headers_of(settings));
  if (const json::value* model = settings.if_contains("model"); model && model->is_object()) {
    const json::value* name = model->get_object().if_contains("name");
    if (name && name->is_string()) options.model = name->get_string();
  }
  using Api = OpenAiOptions::Api;
  using Balance = OpenAiOptions::Balance;
  options.api = text_of(settings, "api") == "completions" ? Api::completions : Api::chat;
  options.balance =
      text_of(settings, "balance") == "least_outstanding" ? Balance::least_outstanding : Balance::round_robin;
  options.ca_file = text_of(settings, "ca_file");
  if (const json::value* extra = setting_of(settings, "extra_body"); extra && extra->is_object()) {
    options.extra_body = extra->get_object();
  }
  options.temperature = number_of(settings, "temperature", options.temperature);
  options.stream = flag_of(settings, "stream", options.stream);
  options.ignore_eos = flag_of(settings, "ignore_eos", options.ignore_eos);
  options.check = flag_of(settings, "check", options.check);
  options.retries = static_cast<unsigned>(number_of(settings, "retries", options.retries));
  options.connections = static_cast<std::uint32_t>(number_of(settings, "connections", options.connections));
  options.threads = static_cast<unsigned>(number_of(settings, "threads", options.threads));
  return options;
}

}  // namespace assay
