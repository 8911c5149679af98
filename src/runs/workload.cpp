#include "runs/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/files.h"
#include "model/study.h"
#include "runs/null_workload.h"
#include "serving/serve_workload.h"
#include "sharing/load_key.h"
#include "spec/spec.h"

namespace assay {
namespace {

std::string text_setting(const json::object& settings, std::string_view key) {
  const auto* value = find_setting(settings, key);
  const auto* text = value ? value->if_string() : nullptr;
  return text ? std::string(*text) : std::string();
}

double number_setting(const json::object& settings, std::string_view key, double fallback) {
  const auto* value = find_setting(settings, key);
  json::error_code code;
  const double number = value ? value->to_number<double>(code) : fallback;
  return code ? fallback : number;
}

Nanos duration_setting(const json::object& settings, std::string_view key, Nanos fallback) {
  return Nanos(static_cast<Nanos::rep>(number_setting(settings, key, seconds_of(fallback)) * 1e9));
}

std::string scalar_text(const json::value& value) {
  if (const auto* text = value.if_string()) return std::string(*text);
  return json::serialize(value);
}

/// What a workload is made from.
struct Ingredients {
  const PlannedRun& planned;
  const std::filesystem::path& scratch;
  std::string_view secret;
};

Result<void> describe_command(const Ingredients& from, Workload& workload) {
  const json::object& settings = from.planned.spec;
  const auto* command = find_setting(settings, "command");
  ASSAY_ASSERT(command);
  if (const auto* list = command->if_array()) {
    for (const auto& argument : *list) workload.job.arguments.push_back(scalar_text(argument));
  } else {
    workload.job.arguments = {"sh", "-c", scalar_text(*command)};
  }
  if (const auto folder = text_setting(settings, "folder"); !folder.empty()) workload.job.folder = folder;
  if (const auto* variables = find_setting(settings, "env"); variables && variables->is_object()) {
    for (const auto& variable : variables->get_object()) {
      workload.job.environment[std::string(variable.key())] = scalar_text(variable.value());
    }
  }
  if (const auto* metrics = find_setting(settings, "metrics"); metrics && metrics->is_object()) {
    for (const auto& metric : metrics->get_object()) {
      workload.patterns.push_back({std::string(metric.key()), scalar_text(metric.value())});
    }
  }
  workload.output_limit = static_cast<std::size_t>(number_setting(settings, "output_limit", 64.0 * (1 << 20)));
  workload.job.grace = duration_setting(settings, "grace", workload.job.grace);
  return {};
}

/// Writes the settings where the workload finds them; the path as it has to be called there.
Result<std::string> write_settings(const Ingredients& from, const json::object& settings) {
  constexpr std::string_view kName = "spec.json";
  ASSAY_CHECK(write_file_atomically(from.scratch / kName, pretty_json(settings)));
  return fmt::format("{}/{}", kScratchOfPlace, kName);
}

Result<void> describe_training(const Ingredients& from, Workload& workload) {
  ASSAY_TRY(auto settings, write_settings(from, from.planned.spec));
  // OpenMP must know before it is loaded; the engine would have to start itself a second time.
  if (!std::getenv("OMP_WAIT_POLICY") && !std::getenv("GOMP_SPINCOUNT")) {
    workload.job.environment["OMP_WAIT_POLICY"] = "passive";
  }
  workload.job.arguments = {std::string(kEngineOfPlace), "train", "--spec", std::move(settings)};
  const auto device = text_setting(from.planned.spec, "device");
  if (device == "cuda") workload.job.gpus_per_node = from.planned.ranks / std::max(from.planned.nodes, 1);
  if (device == "cpu") workload.job.gpus_per_node = 0;
  if (from.planned.nodes > 1) {
    // The place starts every rank; on one node the engine starts its own.
    if (from.planned.ranks % from.planned.nodes != 0) {
      return Error{.kind = ErrorKind::bad_spec,
                   .message = fmt::format("{} ranks cannot be shared out evenly among {} nodes", from.planned.ranks,
                                          from.planned.nodes),
                   .hint = fmt::format("Set 'ranks' to a multiple of {}.", from.planned.nodes)};
    }
    workload.job.ranks.per_node = from.planned.ranks / from.planned.nodes;
  } else if (from.planned.ranks > 1) {
    workload.job.arguments.push_back("--ranks");
    workload.job.arguments.push_back(std::to_string(from.planned.ranks));
  }
  return {};
}

Result<void> describe_null(const Ingredients& from, Workload& workload) {
  workload.job.arguments = {std::string(kAssayOfPlace), kNullWorkloadArgument};
  for (const std::string_view key : {"steps", "rate", "metrics_per_step"}) {
    if (const auto* value = find_setting(from.planned.spec, key); value && !value->is_null()) {
      workload.job.arguments.push_back(fmt::format("{}={}", key, scalar_text(*value)));
    }
  }
  return {};
}

Result<void> describe_serving(const Ingredients& from, Workload& workload) {
  if (text_setting(from.planned.spec, "target.name") == "engine") {
    return Error{.kind = ErrorKind::unsupported,
                 .message = "the engine cannot serve yet, so that it cannot be put under load",
                 .hint =
                     "Name a server: 'target: {openai: \"http://host:8000/v1\"}'; 'target: null' measures the load "
                     "generator itself."};
  }
  // One client on each node, unless there are to be more.
  const auto clients =
      static_cast<std::int64_t>(number_setting(from.planned.spec, "clients", static_cast<double>(from.planned.nodes)));
  if (clients % from.planned.nodes != 0) {
    return Error{
        .kind = ErrorKind::bad_spec,
        .message = fmt::format("{} clients cannot be shared out evenly among {} nodes", clients, from.planned.nodes),
        .hint = fmt::format("Set 'clients' to a multiple of {}.", from.planned.nodes)};
  }
  const std::string scenario = text_setting(from.planned.spec, "scenario");
  const bool one_at_a_time = scenario == "single_stream" || scenario == "multi_stream";
  const bool too_few = scenario == "closed" && number_setting(from.planned.spec, "concurrency", 1) < clients;
  if (clients > 1 && (one_at_a_time || too_few)) {
    return Error{.kind = ErrorKind::bad_spec,
                 .message = fmt::format("{} clients cannot share 'scenario: {}'{}", clients, scenario,
                                        too_few ? " with fewer requests under way than clients" : ""),
                 .hint = too_few ? "Raise 'concurrency'." : "One request at a time is one client's: name one node."};
  }
  json::object spec = from.planned.spec;
  spec["clients"] = clients;
  ASSAY_TRY(auto settings, write_settings(from, spec));
  workload.job.arguments = {std::string(kAssayOfPlace), kServeWorkloadArgument, std::move(settings)};
  if (clients == 1) return {};
  // A secret of this run alone: whoever else is on the network does not get in.
  constexpr std::string_view kKeyName = "clients.key";
  ASSAY_CHECK(
      write_load_key(from.scratch / kKeyName, from.secret.empty() ? make_load_key() : load_key_from(from.secret)));
  workload.job.arguments.push_back(fmt::format("{}/{}", kScratchOfPlace, kKeyName));
  if (from.planned.nodes > 1) {
    // The place starts every client; on one node the first starts the others.
    workload.job.ranks.per_node = clients / from.planned.nodes;
    workload.job.arguments.emplace_back(kClientsStarted);
  }
  return {};
}

/// A kind of workload: what it needs, and how its part of the workload is made.
struct WorkloadKind {
  std::string_view name;
  bool devices;  ///< may use GPUs; one that does not is shown none
  Result<void> (*describe)(const Ingredients& from, Workload& workload);
};
constexpr std::array kWorkloadKinds = {
    WorkloadKind{.name = "command", .devices = true, .describe = describe_command},
    WorkloadKind{.name = "train", .devices = true, .describe = describe_training},
    WorkloadKind{.name = "serve", .devices = false, .describe = describe_serving},
    WorkloadKind{.name = "null", .devices = false, .describe = describe_null},
};

Result<const WorkloadKind*> find_kind(std::string_view name) {
  const auto* const found = std::find_if(kWorkloadKinds.begin(), kWorkloadKinds.end(),
                                         [&](const WorkloadKind& kind) { return kind.name == name; });
  if (found != kWorkloadKinds.end()) return found;
  std::string names;
  for (const auto& kind : kWorkloadKinds) {
    names += names.empty() ? "" : &kind == &kWorkloadKinds.back() ? " and " : ", ";
    names += kind.name;
  }
  return Error{.kind = ErrorKind::unsupported,
               .message = fmt::format("kind '{}' can be validated, but this version of assay cannot run it yet", name),
               .hint = fmt::format("It can run the kinds {}.", names)};
}

/// The nodes that a run is pinned to by name: that of the plan, or as many of the specification's as it needs.
std::vector<std::string> pinned_nodes(const PlannedRun& planned) {
  if (!planned.node.empty()) return {planned.node};
  const auto* named = planned.nodes > 1 ? find_setting(planned.spec, "nodes") : nullptr;
  if (!named || !named->is_array()) return {};
  std::vector<std::string> nodes;
  for (const auto& node : named->get_array()) nodes.push_back(scalar_text(node));
  return nodes;
}

}  // namespace

Result<Workload> make_workload(const PlannedRun& planned, const std::filesystem::path& scratch,
                               std::string_view secret) {
  ASSAY_TRY(const auto* const kind, find_kind(text_setting(planned.spec, "kind")));
  Workload workload;
  workload.time_limit = duration_setting(planned.spec, "time_limit", Nanos(0));
  workload.job.time_limit = workload.time_limit;
  workload.job.ranks.nodes = planned.nodes;
  workload.job.nodes = pinned_nodes(planned);
  workload.artifacts = scratch / "artifacts";
  workload.job.scratch = scratch;
  std::error_code code;
  std::filesystem::create_directories(workload.artifacts, code);
  if (code)
    return Error{.kind = ErrorKind::io, .message = fmt::format("{}: {}", workload.artifacts.string(), code.message())};
  workload.job.environment["ASSAY_ARTIFACTS"] = fmt::format("{}/artifacts", kScratchOfPlace);
  workload.job.environment["ASSAY_RANKS"] = std::to_string(planned.ranks);
  workload.job.environment["ASSAY_NODES"] = std::to_string(planned.nodes);
  workload.job.environment["ASSAY_SEED"] = fmt::format("{}", number_setting(planned.spec, "seed", 0));
  if (!kind->devices) workload.job.devices.emplace();
  ASSAY_CHECK(kind->describe({planned, scratch, secret}, workload));
  return workload;
}

}  // namespace assay
