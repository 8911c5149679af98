#include "importers/results/node_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/files.h"
#include "base/text.h"
#include "exchange/encoding.h"
#include "exchange/exact_json.h"

namespace assay {
namespace {

constexpr std::size_t kLongestResultText = 500;
constexpr double kLargestResultCount = 9007199254740992.0;  // 2⁵³

using Paths = std::initializer_list<std::string_view>;

/// The value at a path such as `performance.samples_per_second`; null if there is none.
const json::value* at_path(const json::object& object, std::string_view path) {
  const std::size_t dot = path.find('.');
  const json::value* value = object.if_contains(path.substr(0, dot));
  if (!value || dot == std::string_view::npos) return value;
  return value->is_object() ? at_path(value->get_object(), path.substr(dot + 1)) : nullptr;
}

std::optional<double> number_in(const json::value& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.to_number<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

/// The first number among the paths, as stated.
std::optional<Stated> figure(const json::object& object, Paths paths) {
  for (const auto path : paths) {
    const json::value* value = at_path(object, path);
    if (!value) continue;
    const auto number = number_in(*value);
    if (!number) continue;
    Stated stated = stated_from(*number);
    // 2.0 was written with a decimal, whatever its shortest form is.
    if (value->is_double()) stated.half_unit = std::min(stated.half_unit, 0.05);
    return stated;
  }
  return std::nullopt;
}

std::optional<std::int64_t> count(const json::object& object, Paths paths) {
  const auto number = figure(object, paths);
  if (!number || number->value < 0 || number->value > kLargestResultCount || number->value != std::trunc(number->value))
    return std::nullopt;
  return static_cast<std::int64_t>(number->value);
}

std::string as_text(const json::value& value) {
  if (const auto* text = value.if_string()) return printable(std::string_view(*text).substr(0, kLongestResultText));
  return value.is_null() ? "" : printable(json::serialize(value).substr(0, kLongestResultText));
}

std::string text(const json::object& object, Paths paths) {
  for (const auto path : paths) {
    const json::value* value = at_path(object, path);
    if (value && !value->is_null() && !value->is_structured()) return as_text(*value);
  }
  return "";
}

std::vector<double> numbers(const json::object& object, Paths paths) {
  std::vector<double> read;
  for (const auto path : paths) {
    const json::value* value = at_path(object, path);
    if (!value || !value->is_array()) continue;
    for (const auto& item : value->get_array()) {
      if (const auto number = number_in(item)) read.push_back(*number);
    }
    return read;
  }
  return read;
}

bool has(const json::object& object, Paths paths) {
  return std::any_of(paths.begin(), paths.end(), [&](auto path) { return at_path(object, path) != nullptr; });
}

NodeResultKind kind_of(const json::object& object) {
  if (has(object,
          {"successful_samples", "throughput_samples_per_second", "average_time_per_sample_ms", "latencies_ms"}))
    return NodeResultKind::inference;
  if (has(object, {"world_size"}) && has(object, {"train_time_sec", "samples_trained"}))
    return NodeResultKind::distributed;
  if (const auto* performance = at_path(object, "performance"); performance && performance->is_object())
    return NodeResultKind::training;
  return NodeResultKind::unknown;
}

/// "node1" from `results/node1_final.json`.
std::string node_from_file_name(std::string_view name) {
  std::string stem = fs::path(name).stem().string();
  const std::size_t node = stem.find("node");
  if (node == std::string::npos) return stem;
  const std::size_t digits_end = stem.find_first_not_of("0123456789", node + 4);
  return stem.substr(node, std::min(digits_end, stem.size()) - node);
}

void read_settings(const json::object& object, NodeResult& node) {
  for (const auto path : {"config", "configuration", "settings"}) {
    const json::value* config = at_path(object, path);
    if (!config || !config->is_object()) continue;
    for (const auto& member : config->get_object()) {
      if (!member.value().is_structured()) node.settings.emplace(member.key(), as_text(member.value()));
    }
  }
}

void read_training(const json::object& object, NodeResult& node) {
  node.seconds_per_step = figure(object, {"performance.seconds_per_step", "seconds_per_step"});
  node.steps = count(object, {"config.max_steps", "config.steps", "performance.steps", "max_steps", "steps"});
  node.batch_size = count(object, {"config.batch_size", "batch_size", "config.per_device_train_batch_size"});
  node.accumulation = count(object, {"config.gradient_accumulation_steps", "gradient_accumulation_steps"});
  node.seq_length =
      count(object, {"config.seq_length", "config.max_seq_length", "config.sequence_length", "seq_length"});
  node.gpus = count(object, {"world_size", "config.num_gpus", "num_gpus"});
  node.rank = count(object, {"rank"});
  if (const auto loss = figure(object, {"train_loss", "performance.train_loss"})) node.train_loss = loss->value;
  node.speedup_claimed =
      figure(object, {"performance.speedup_vs_unoptimized", "performance.speedup_vs_baseline", "speedup_vs_baseline"});
  node.scaling_efficiency_percent_claimed = figure(object, {"scaling_efficiency_percent"});
}

void read_latencies(const json::object& object, NodeResult& node) {
  node.mean_latency_ms = figure(object, {"average_time_per_sample_ms", "average_latency_ms", "mean_latency_ms",
                                         "latency.mean_ms", "latency.average_ms"});
  node.latencies_ms = numbers(object, {"latencies_ms", "latency.samples_ms", "sample_latencies_ms"});
  for (const auto& [percentile, name] : {std::pair{50.0, "p50"}, {90.0, "p90"}, {95.0, "p95"}, {99.0, "p99"}}) {
    const std::string nested = fmt::format("latency.{}_ms", name);
    const std::string flat = fmt::format("latency_{}_ms", name);
    if (const auto value = figure(object, {nested, flat})) node.latency_percentiles_ms[percentile] = *value;
  }
}

void read_inference(const json::object& object, NodeResult& node) {
  node.samples_asked = count(object, {"total_samples", "num_samples", "requested_samples", "samples_requested"});
  node.samples_failed = count(object, {"failed_samples"});
  node.loss_percent = figure(object, {"sample_loss_percent", "loss_percent"});
  read_latencies(object, node);
  node.output_tokens = numbers(object, {"output_tokens", "tokens_generated"});
  node.mean_input_tokens = figure(object, {"average_input_tokens"});
  node.mean_output_tokens = figure(object, {"average_output_tokens"});
}

NodeResult node_from(const json::object& object, std::string_view source, std::string_view name) {
  NodeResult node{.kind = kind_of(object), .source = std::string(source)};
  node.node = text(object, {"node_name", "node_id", "node", "hostname"});
  if (node.node.empty()) node.node = name;
  if (node.node.empty()) node.node = node_from_file_name(source);
  // A script that numbers its nodes means "node1".
  if (node.node.find_first_not_of("0123456789") == std::string::npos) node.node = "node" + node.node;
  node.configuration = text(object, {"config_name", "name"});
  node.status = text(object, {"status"});
  node.error = text(object, {"error", "error_message"});
  read_settings(object, node);
  node.samples_per_second =
      figure(object, {"performance.samples_per_second", "samples_per_second", "throughput_samples_per_second"});
  node.tokens_per_second =
      figure(object, {"performance.tokens_per_second", "tokens_per_second", "average_tokens_per_second"});
  node.seconds = figure(object, {"performance.total_train_time_seconds", "train_time_sec", "elapsed_time",
                                 "elapsed_seconds", "total_time_seconds"});
  node.samples_done = count(object, {"samples_trained", "successful_samples", "performance.samples_trained",
                                     "performance.total_samples", "samples_completed"});
  if (node.kind == NodeResultKind::inference) {
    read_inference(object, node);
  } else {
    read_training(object, node);
  }
  node.memory_peak_gb = figure(
      object, {"memory.peak_during_training.max_allocated_gb", "memory_peak.max_allocated_gb", "peak_gpu_memory_gb"});
  node.memory_capacity_gb = figure(object, {"memory.total_gb", "gpu_memory_total_gb"});
  node.gpu_utilisation_percent = figure(object, {"performance.estimated_gpu_utilization_%", "gpu_utilization_percent"});
  node.temperature_c = figure(object, {"gpu_temperature_c", "performance.gpu_temperature_c"});
  node.price_per_gpu_hour_usd =
      figure(object, {"cost.price_per_gpu_hour_usd", "cost.gpu_hour_usd", "cost.cost_per_hour_usd", "cost_per_hour_usd",
                      "price_per_gpu_hour_usd"});
  node.cost_per_1000_samples_usd = figure(object, {"cost.cost_per_1000_samples_usd", "cost_per_1k_samples_usd"});
  node.cost_total_usd = figure(object, {"cost.cost_total_usd", "cost.total_cost_usd", "cost_total_usd"});
  return node;
}

/// Whatever has figures, or says that it failed to get any.
bool is_result(const json::object& object) {
  return kind_of(object) != NodeResultKind::unknown || !text(object, {"error", "error_message"}).empty() ||
         has(object, {"config_name"});
}

InferenceSummary summary_from(const json::object& object, std::string_view source) {
  InferenceSummary summary{.source = std::string(source)};
  summary.wall_clock_seconds = figure(object, {"total_time_seconds", "wall_clock_seconds"});
  summary.samples_asked = count(object, {"total_samples", "requested_samples"});
  summary.samples_done = count(object, {"total_successful_samples", "successful_samples"});
  summary.samples_failed = count(object, {"failed_samples", "total_failed_samples"});
  summary.max_output_tokens = count(object, {"max_tokens", "max_output_tokens"});
  summary.samples_per_second = figure(object, {"combined_throughput_samples_per_second", "samples_per_second"});
  summary.tokens_per_second =
      figure(object, {"combined_tokens_per_second", "average_tokens_per_second", "tokens_per_second"});
  summary.mean_latency_ms = figure(object, {"average_latency_ms", "mean_latency_ms"});
  summary.mean_input_tokens = figure(object, {"average_input_tokens"});
  summary.mean_output_tokens = figure(object, {"average_output_tokens"});
  summary.mean_total_tokens = figure(object, {"average_total_tokens"});
  summary.success_rate_percent = figure(object, {"success_rate_percent"});
  summary.scaling_efficiency_percent = figure(object, {"scaling_efficiency_percent"});
  summary.baseline_samples_per_second = figure(object, {"single_gpu_throughput", "baseline_samples_per_second"});
  const json::value* measured = at_path(object, "baseline_measured");
  summary.baseline_measured = measured && measured->is_bool() && measured->get_bool();
  summary.memory_efficiency_percent = figure(object, {"memory_efficiency_percent"});
  return summary;
}

void read_parts(const json::array& items, NodeResults& results) {
  for (const auto& item : items) {
    if (!item.is_object()) continue;
    const json::object& object = item.get_object();
    results.parts.push_back({.name = text(object, {"name", "part", "benchmark"}),
                             .status = text(object, {"status"}),
                             .exit_code = count(object, {"return_code", "exit_code"}),
                             .seconds = figure(object, {"duration_seconds", "elapsed_seconds", "seconds"}),
                             .error = text(object, {"error", "last_error"})});
  }
}

void read_list(const json::array& items, std::string_view source, NodeResults& results) {
  for (const auto& item : items) {
    if (item.is_object() && is_result(item.get_object()))
      results.nodes.push_back(node_from(item.get_object(), source, ""));
  }
}

void read_document(const json::object& object, std::string_view source, NodeResults& results) {
  for (const auto key : {"parts", "benchmarks"}) {
    if (const auto* parts = at_path(object, key); parts && parts->is_array()) read_parts(parts->get_array(), results);
  }
  const json::value* nodes = at_path(object, "node_results");
  if (nodes && (nodes->is_object() || nodes->is_array())) {
    results.summaries.push_back(summary_from(object, source));
    if (nodes->is_array()) return read_list(nodes->get_array(), source, results);
    for (const auto& member : nodes->get_object()) {
      if (member.value().is_object())
        results.nodes.push_back(node_from(member.value().get_object(), source, member.key()));
    }
    return;
  }
  if (const auto* list = at_path(object, "results"); list && list->is_array()) {
    const std::size_t first = results.nodes.size();
    read_list(list->get_array(), source, results);
    const std::string node = text(object, {"node_name", "node_id", "node"});
    for (std::size_t i = first; i < results.nodes.size() && !node.empty(); ++i) {
      const bool number = node.find_first_not_of("0123456789") == std::string::npos;
      results.nodes[i].node = number ? "node" + node : node;
    }
    return;
  }
  if (is_result(object)) results.nodes.push_back(node_from(object, source, ""));
}

}  // namespace

std::string_view name_of(NodeResultKind kind) {
  switch (kind) {
    case NodeResultKind::training: return "training";
    case NodeResultKind::distributed: return "distributed";
    case NodeResultKind::inference: return "inference";
    case NodeResultKind::unknown: return "unknown";
  }
  return "";
}

Result<NodeResults> parse_node_results(std::string_view bytes, std::string_view name) {
  const auto read = [&]() -> Result<NodeResults> {
    ASSAY_TRY(auto looked, look_at_bytes(bytes, name));
    if (trim(looked.text).empty()) return Error{.kind = ErrorKind::bad_file, .message = "the file is empty"};
    ASSAY_TRY(const auto document, parse_exact_json(looked.text));
    NodeResults results{.flags = std::move(looked.flags)};
    if (document.value.is_object()) read_document(document.value.get_object(), name, results);
    if (document.value.is_array()) read_list(document.value.get_array(), name, results);
    if (results.nodes.empty() && results.parts.empty()) {
      return Error{.kind = ErrorKind::bad_file,
                   .message = "no result of a benchmark is in it",
                   .hint = "Known are files with 'performance', 'world_size', 'successful_samples' or 'node_results'."};
    }
    if (document.non_finite > 0) {
      results.flags.push_back({"non_finite", std::string(name),
                               fmt::format("{} figures are NaN or infinite; they are left out", document.non_finite)});
    }
    return results;
  };
  return read().within(fmt::format("reading '{}'", name));
}

Result<NodeResults> import_node_results(std::span<const NamedText> files, const std::optional<Price>& price) {
  NodeResults all;
  std::optional<Error> first_error;
  const auto append = [](auto& into, auto& from) { std::move(from.begin(), from.end(), std::back_inserter(into)); };
  for (const auto& file : files) {
    auto one = parse_node_results(file.text, file.name);
    if (!one) {
      all.flags.push_back({"unreadable", file.name, one.error().text()});
      if (!first_error) first_error = std::move(one).error();
      continue;
    }
    append(all.nodes, one->nodes);
    append(all.summaries, one->summaries);
    append(all.parts, one->parts);
    append(all.flags, one->flags);
  }
  if (all.nodes.empty() && all.parts.empty() && first_error) return *first_error;
  auto flags = check_node_results(all, price);
  append(all.flags, flags);
  return all;
}

}  // namespace assay
