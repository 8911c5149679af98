#include "serve_target.h"

#include <fmt/format.h>

#include <cstdlib>

#include "net/url.h"
#include "target/null/null_target.h"
#include "target/openai/openai_target.h"

namespace assay {
namespace {

Result<std::string> token_in(const std::string& variable) {
  if (variable.empty()) return std::string();
  if (const char* token = std::getenv(variable.c_str()); token && *token) return std::string(token);
  return Error{.kind = ErrorKind::bad_spec,
               .message = fmt::format("the environment variable '{}' of 'target.token_env' is not set", variable),
               .hint = "Set it where the load is started, or remove 'token_env'."};
}

Result<std::unique_ptr<Target>> make_openai(const ServeSettings& settings, const ServeRequests& requests) {
  ASSAY_TRY(auto url, parse_url(settings.url));
  ASSAY_TRY(auto token, token_in(settings.token_env));
  OpenAiOptions options;
  options.endpoints.push_back({.url = std::move(url)});
  options.api = settings.api == "completions" ? OpenAiOptions::Api::completions : OpenAiOptions::Api::chat;
  options.model = settings.model;
  options.token = std::move(token);
  options.ca_file = settings.ca_file;
  options.ignore_eos = settings.ignore_eos;
  return make_openai_target(std::move(options), requests.set);
}

}  // namespace

Result<std::unique_ptr<Target>> make_serve_target(const ServeSettings& settings, const ServeRequests& requests) {
  if (settings.target == "openai") return make_openai(settings, requests);
  if (settings.target == "null") {
    // First token after a tenth of the time, so that every figure of a real server has its counterpart.
    return std::unique_ptr<Target>(
        std::make_unique<NullTarget>(NullTargetOptions{.service_time = settings.service_time,
                                                       .first_token = settings.service_time / 10,
                                                       .slots = settings.slots,
                                                       .input_tokens = settings.input_tokens,
                                                       .output_tokens = settings.output_tokens}));
  }
  return Error{
      .kind = ErrorKind::unsupported,
      .message = fmt::format("the target '{}' cannot be put under load by this version of assay", settings.target),
      .hint = "It can use 'target: null' and 'target: {openai: URL}'."};
}

}  // namespace assay
