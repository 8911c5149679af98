#include "requests/request_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "requests/conversations.h"
#include "requests/generated_requests.h"
#include "requests/request_file.h"
#include "requests/trace_file.h"

namespace assay {
namespace {

double setting_number(const json::object& requests, std::string_view key, double otherwise) {
  const json::value* value = requests.if_contains(key);
  return value && value->is_number() ? value->to_number<double>() : otherwise;
}

std::uint32_t setting_count(const json::object& requests, std::string_view key, std::uint32_t otherwise) {
  return static_cast<std::uint32_t>(std::clamp(setting_number(requests, key, otherwise), 0.0, 4294967295.0));
}

std::string setting_text(const json::object& requests, std::string_view key, std::string_view otherwise) {
  const json::value* value = requests.if_contains(key);
  return std::string(value && value->is_string() ? std::string_view(value->get_string()) : otherwise);
}

/// `which` is "input" or "output".
Result<Lengths> setting_lengths(const json::object& requests, std::string_view which, std::uint32_t usual) {
  const auto key = [&](std::string_view name) { return fmt::format("{}_{}", which, name); };
  const double mean = setting_number(requests, key("tokens"), usual);
  const double spread = setting_number(requests, key("spread"), 0);
  const std::string shape = setting_text(requests, key("distribution"), "fixed");
  Lengths::Bounds bounds;
  bounds.least = std::max(setting_count(requests, key("min"), bounds.least), 1U);
  bounds.most = setting_count(requests, key("max"), bounds.most);
  if (shape == "normal") return Lengths::normal(mean, spread, bounds).within(key("tokens"));
  if (shape == "lognormal") return Lengths::lognormal(mean, spread, bounds).within(key("tokens"));
  if (shape == "uniform") {
    const double least = std::max<double>(bounds.least, mean - spread);
    const double most = std::min<double>(bounds.most, mean + spread);
    return Lengths::uniform({static_cast<std::uint32_t>(least), static_cast<std::uint32_t>(most)})
        .within(key("tokens"));
  }
  return Lengths::fixed(static_cast<std::uint32_t>(std::max(mean, 1.0)));
}

Result<std::unique_ptr<RequestSet>> generated_by(const json::object& requests, const RequestSeed& seed,
                                                 const RequestShape* shape) {
  GeneratedOptions options{.seed = seed};
  if (shape) {
    options.instruction = shape->instruction;
    options.instruction_tokens = shape->instruction_tokens;
    options.input = shape->input;
    options.output = shape->output;
  } else if (const std::string file = setting_text(requests, "lengths_from", ""); !file.empty()) {
    ASSAY_TRY(const RequestTrace trace, read_trace_file(file));
    ASSAY_TRY(options.input, input_lengths_of(trace));
    ASSAY_TRY(options.output, output_lengths_of(trace));
  } else {
    ASSAY_TRY(options.input, setting_lengths(requests, "input", 128));
    ASSAY_TRY(options.output, setting_lengths(requests, "output", 64));
  }
  options.shared_prefix = setting_number(requests, "shared_prefix", 0);
  options.prefixes = setting_count(requests, "prefixes", 1);
  return generate_requests(std::move(options));
}

Result<std::unique_ptr<RequestSet>> conversations_by(const json::object& requests, const RequestSeed& seed) {
  ConversationOptions options{.seed = seed};
  options.turns = setting_count(requests, "turns", options.turns);
  options.active = setting_count(requests, "conversations", options.active);
  options.system_tokens = setting_count(requests, "system_tokens", options.system_tokens);
  ASSAY_TRY(options.input, setting_lengths(requests, "input", 128));
  ASSAY_TRY(options.output, setting_lengths(requests, "output", 64));
  return make_conversations(std::move(options));
}

}  // namespace

Result<std::unique_ptr<RequestSet>> requests_of_settings(const json::object& requests, const RequestSeed& seed) {
  const std::string dataset = setting_text(requests, "dataset", "generated");
  constexpr std::string_view kFile = "file:";
  if (dataset.starts_with(kFile)) {
    return read_request_file(dataset.substr(kFile.size()), setting_count(requests, "output_tokens", 64));
  }
  if (dataset == "conversation") return conversations_by(requests, seed);
  const RequestShape* shape = find_shape(dataset);
  if (shape || dataset == "generated") return generated_by(requests, seed, shape);
  return Error{.kind = ErrorKind::bad_spec, .message = fmt::format("there is no data set '{}'", dataset)};
}

}  // namespace assay
