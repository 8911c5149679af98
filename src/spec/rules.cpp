#include "spec/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "config/numbers.h"
#include "config/value.h"
#include "spec/mlperf_limits.h"
#include "spec/placeholders.h"
#include "spec/spec_setting.h"

namespace assay {
namespace {

using Broken = std::vector<BrokenRule>;

std::optional<double> number_at(const json::object& settings, std::string_view key) {
  const json::value* value = find_setting(settings, key);
  return value && value->is_number() ? std::optional(value->to_number<double>()) : std::nullopt;
}

std::string text_at(const json::object& settings, std::string_view key) {
  const json::value* value = find_setting(settings, key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

void check_divides(const json::object& settings, const std::string& part, const std::string& whole, Broken& broken) {
  const auto parts = number_at(settings, part);
  const auto total = number_at(settings, whole);
  if (!parts || !total || static_cast<std::int64_t>(*total) % static_cast<std::int64_t>(*parts) == 0) return;
  broken.push_back({.rule = "divides " + part,
                    .keys = {part, whole},
                    .message = fmt::format("'{}: {}' must divide '{}: {}'.", part, *parts, whole, *total)});
}

void check_fits_limit(const json::object& settings, const std::string& span, Broken& broken) {
  const auto length = number_at(settings, span);
  const auto limit = number_at(settings, "time_limit");
  if (!length || !limit || *length <= *limit) return;
  broken.push_back(
      {.rule = "fits " + span,
       .keys = {span, "time_limit"},
       .message = fmt::format("'{0}: {1}' is longer than 'time_limit: {2}'. Raise the limit or shorten '{0}'.", span,
                              limit_text(*length, SettingType::duration), limit_text(*limit, SettingType::duration))});
}

void check_target(const json::object& settings, Broken& broken) {
  const std::string name = text_at(settings, "target.name");
  const bool has_address = find_setting(settings, "target.openai") != nullptr;
  if (name == "openai" && !has_address) {
    broken.push_back({.rule = "address",
                      .keys = {"target.name", "target.openai"},
                      .message = "the target needs an address: write 'target: {openai: \"http://host:8000/v1\"}'."});
  }
  if (name != "openai" && has_address) {
    broken.push_back({.rule = "two targets",
                      .keys = {"target.openai", "target.name"},
                      .message = fmt::format("'target' is both '{}' and a server. Remove one of them.", name)});
  } else if (name != "openai" && find_setting(settings, "target.token_env")) {
    broken.push_back({.rule = "token",
                      .keys = {"target.token_env", "target.name"},
                      .message = "'token_env' belongs to a server: add 'openai: \"http://host:8000/v1\"'."});
  }
  if (name != "engine") return;
  const auto& models = resolve_key(SpecKind::train, "model.name").setting->rule.choices;
  const std::string model = text_at(settings, "model.name");
  if (std::find(models.begin(), models.end(), model) != models.end()) return;
  broken.push_back(
      {.rule = "built-in model",
       .keys = {"model.name", "target.name"},
       .message = fmt::format("'model: {}' is not a model of the engine.{}", model,
                              did_you_mean(model, std::vector<std::string>(models.begin(), models.end())))});
}

/// What takes several servers, or a second look at one, to see.
void check_servers(const json::object& settings, Broken& broken) {
  std::size_t servers = 1;
  if (const json::value* others = find_setting(settings, "target.endpoints")) {
    for (const json::value& address : others->as_array()) {
      ++servers;
      const std::string_view text = address.as_string();
      if (text.starts_with("http://") || text.starts_with("https://")) continue;
      broken.push_back({.rule = "endpoints",
                        .keys = {"target.endpoints"},
                        .message = fmt::format("'{}' is no address. Write for example 'http://gpu02:8000/v1'.",
                                               text.substr(0, 60))});
    }
  }
  const json::value* weights = find_setting(settings, "target.weights");
  if (weights && weights->as_array().size() != servers) {
    broken.push_back({.rule = "weights",
                      .keys = {"target.weights", "target.endpoints"},
                      .message = fmt::format("'target.weights' must have one number for each server, that of 'openai' "
                                             "first: {} in all.",
                                             servers)});
  }
  if (find_setting(settings, "target.token_env") && find_setting(settings, "target.token_file")) {
    broken.push_back({.rule = "two tokens",
                      .keys = {"target.token_file", "target.token_env"},
                      .message = "'token_env' and 'token_file' both name a token. Remove one of them."});
  }
  if (const json::value* fields = find_setting(settings, "target.headers")) {
    for (const json::value& field : fields->as_array()) {
      const std::string_view text = field.as_string();
      if (const auto colon = text.find(':'); colon != 0 && colon != std::string_view::npos) continue;
      broken.push_back({.rule = "headers",
                        .keys = {"target.headers"},
                        .message = fmt::format("'{}' is no header field. Write for example 'X-Tenant: bench'.",
                                               text.substr(0, 60))});
    }
  }
}

/// Bounds of lengths that leave no room for their mean.
void check_lengths(const json::object& settings, std::string_view which, Broken& broken) {
  const std::string mean_key = fmt::format("requests.{}_tokens", which);
  const auto mean = number_at(settings, mean_key);
  if (!mean || find_setting(settings, "requests.lengths_from")) return;
  for (const auto& [bound, above] : {std::pair{"min", false}, {"max", true}}) {
    const std::string key = fmt::format("requests.{}_{}", which, bound);
    const auto limit = number_at(settings, key);
    if (!limit || (above ? *mean <= *limit : *mean >= *limit)) continue;
    broken.push_back({.rule = key,
                      .keys = {key, mean_key},
                      .message = fmt::format("'{}: {}' is {} '{}: {}'. The mean must lie between the bounds.", mean_key,
                                             *mean, above ? "above" : "below", key, *limit)});
  }
}

void check_trace(const json::object& settings, Broken& broken) {
  if (text_at(settings, "scenario") != "trace" || find_setting(settings, "trace")) return;
  broken.push_back({.rule = "trace",
                    .keys = {"scenario", "trace"},
                    .message = "'scenario: trace' needs a file. Add 'trace: FILE'."});
}

/// MLPerf's scenarios send each request once: a server must not gain by refusing some.
void check_retries(const json::object& settings, Broken& broken) {
  const auto retries = number_at(settings, "target.retries");
  const std::string scenario = text_at(settings, "scenario");
  if (!retries || *retries == 0) return;
  if (scenario != "single_stream" && scenario != "multi_stream" && scenario != "server" && scenario != "offline")
    return;
  broken.push_back(
      {.rule = "retries",
       .keys = {"target.retries", "scenario"},
       .message = fmt::format("'target.retries: {}' is not possible with 'scenario: {}': MLPerf's scenarios "
                              "send each request once. Remove it, or choose constant, burst, closed, ramp "
                              "or trace.",
                              *retries, scenario)});
}

/// Settings of a load that cannot both be meant.
void check_load(const json::object& settings, Broken& broken) {
  const bool warms_up = number_at(settings, "warmup").value_or(0) > 0;
  if (warms_up && text_at(settings, "scenario") == "offline") {
    broken.push_back({.rule = "warm-up offline",
                      .keys = {"warmup", "scenario"},
                      .message = "'warmup' is not possible with 'scenario: offline': all requests are due at once, and "
                                 "none after it. Remove it."});
  }
  if (text_at(settings, "mode") != "accuracy") return;
  const auto exclude = [&](const std::string& key, std::string_view why) {
    broken.push_back(
        {.rule = key + " of accuracy",
         .keys = {key, "mode"},
         .message = fmt::format("'{}' is not possible with 'mode: accuracy', {}. Remove one of them.", key, why)});
  };
  if (warms_up) exclude("warmup", "in which every sample counts");
  if (find_setting(settings, "find_peak")) exclude("find_peak", "which asks for every sample once");
}

/// Without a stream nobody sees the first token: such a limit would count as missed.
void check_streamed_limits(const json::object& settings, Broken& broken) {
  const json::value* stream = find_setting(settings, "target.stream");
  if (!stream || !stream->is_bool() || stream->get_bool()) return;
  for (const std::string key : {"limits", "find_peak"}) {
    const json::value* limits = find_setting(settings, key);
    if (!limits || !limits->is_object()) continue;
    for (const auto& limit : limits->get_object()) {
      const std::string_view name = limit.key();
      if (!name.starts_with("ttft") && !name.starts_with("tpot")) continue;
      broken.push_back({.rule = key + " of streams",
                        .keys = {fmt::format("{}.{}", key, name), "target.stream"},
                        .message = fmt::format("'{}: {{{}: …}}' is not possible with 'target.stream: false': a first "
                                               "token is seen in streams alone. Remove one of them.",
                                               key, name)});
      break;
    }
  }
}

/// A set of limits whose name is still there has none for the model.
void check_limit_sets(const json::object& settings, Broken& broken) {
  for (const std::string key : {"limits", "find_peak"}) {
    const std::string set = text_at(settings, key);
    if (set.empty()) continue;
    const std::string model = text_at(settings, "model.name");
    const auto known = models_with_limits(set);
    broken.push_back({.rule = key + " of a set",
                      .keys = {key, "model.name", "model"},
                      .message = fmt::format("'{}: {}' has no limits for 'model: {}'.{} It has some for {}; for others "
                                             "write them, as in '{}: {{ttft_p99: 2s, tpot_p99: 100ms}}'.",
                                             key, set, model.substr(0, 60), did_you_mean(model, known),
                                             fmt::join(known, ", "), key)});
  }
}

void check_placeholders(const json::object& settings, Broken& broken) {
  const std::vector<std::string> known = parameter_names(settings);
  std::set<std::string> seen(known.begin(), known.end());
  const auto check = [&](const std::string& key, const json::value& text) {
    if (!text.is_string()) return;
    for (const std::string& name : placeholders_in(text.get_string())) {
      if (broken.size() > Problems::kMostProblems) return;
      if (!seen.insert(name).second) continue;
      const std::string meant = did_you_mean(name, known);
      broken.push_back({.rule = "placeholder " + name,
                        .keys = {key, "params." + name, "params"},
                        .message = fmt::format("'{{{0}}}' names no parameter.{1} Add '{0}' to 'params', or write "
                                               "'{{{{{0}}}}}' for the text '{{{0}}}'.",
                                               name.substr(0, 60), meant)});
    }
  };
  if (const json::value* command = settings.if_contains("command")) {
    check("command", *command);
    if (command->is_array()) {
      for (const json::value& argument : command->get_array()) check("command", argument);
    }
  }
  if (const json::value* variables = settings.if_contains("env")) {
    for (const auto& variable : variables->as_object()) check("env." + std::string(variable.key()), variable.value());
  }
}

void check_nodes(const json::object& settings, Broken& broken) {
  const json::value* each = settings.if_contains("each_node");
  if (!each || !each->as_bool() || settings.contains("nodes")) return;
  broken.push_back({.rule = "each_node",
                    .keys = {"each_node", "nodes"},
                    .message = "'each_node: true' needs to know the nodes. Add for example 'nodes: [gpu01, gpu02]'."});
}

/// Each client of a closed loop has at least one request under way.
void check_clients(const json::object& settings, Broken& broken) {
  const auto clients = number_at(settings, "clients");
  const auto concurrency = number_at(settings, "concurrency");
  if (!clients || !concurrency || text_at(settings, "scenario") != "closed" || *clients <= *concurrency) return;
  broken.push_back(
      {.rule = "clients",
       .keys = {"clients", "concurrency"},
       .message = fmt::format("{} clients cannot share 'concurrency: {}': each needs one request at least. "
                              "Raise 'concurrency' or lower 'clients'.",
                              *clients, *concurrency)});
}

/// Strong scaling divides the batch among the ranks of every size.
void check_strong_scaling(const json::object& settings, Broken& broken) {
  const json::value* sizes = settings.if_contains("scale");
  const auto batch = number_at(settings, "batch_size");
  if (text_at(settings, "scaling") != "strong" || !sizes || !sizes->is_array() || !batch) return;
  for (const json::value& size : sizes->get_array()) {
    const std::int64_t ranks = size.at("ranks").as_int64();
    if (static_cast<std::int64_t>(*batch) % ranks == 0) continue;
    broken.push_back(
        {.rule = "strong scaling",
         .keys = {"batch_size", "scaling"},
         .message = fmt::format("'scaling: strong' divides 'batch_size: {}' among {} ranks, which does not "
                                "come out even. Choose a multiple of every size.",
                                *batch, ranks)});
    return;
  }
}

}  // namespace

std::vector<BrokenRule> broken_rules(SpecKind kind, const json::object& settings) {
  Broken broken;
  check_nodes(settings, broken);
  check_clients(settings, broken);
  check_divides(settings, "model.heads", "model.width", broken);
  check_divides(settings, "model.kv_heads", "model.heads", broken);
  check_fits_limit(settings, "duration", broken);
  check_fits_limit(settings, "min_duration", broken);
  check_fits_limit(settings, "ramp.duration", broken);
  check_strong_scaling(settings, broken);
  if (kind == SpecKind::serve) {
    check_target(settings, broken);
    check_servers(settings, broken);
    check_lengths(settings, "input", broken);
    check_lengths(settings, "output", broken);
    check_trace(settings, broken);
    check_limit_sets(settings, broken);
    check_retries(settings, broken);
    check_load(settings, broken);
    check_streamed_limits(settings, broken);
  }
  if (kind == SpecKind::command) check_placeholders(settings, broken);
  return broken;
}

}  // namespace assay
