#include "serve_target.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "target/null/null_target.h"
#include "target/openai/openai_settings.h"
#include "target/openai/openai_target.h"

namespace assay {
namespace {

std::optional<std::string> variable_of_ours(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value ? std::optional<std::string>(value) : std::nullopt;
}

Result<std::unique_ptr<Target>> make_openai(const ServeSettings& settings, const ServeRequests& requests) {
  ASSAY_TRY(auto options, openai_options_of(settings.spec, variable_of_ours));
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
