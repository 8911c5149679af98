#include "runs/workload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "model/study.h"
#include "runs/null_workload.h"
#include "serving/serve_workload.h"
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
  const Programs& programs;
  const std::filesystem::path& scratch;
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

Result<void> describe_training(const Ingredients& from, Workload& workload) {
  const auto spec = from.scratch / "spec.json";
  ASSAY_CHECK(write_file_atomically(spec, pretty_json(from.planned.spec)));
  // OpenMP must know before it is loaded; the engine would have to start itself a second time.
  if (!std::getenv("OMP_WAIT_POLICY") && !std::getenv("GOMP_SPINCOUNT")) {
    workload.job.environment["OMP_WAIT_POLICY"] = "passive";
  }
  workload.job.arguments = {from.programs.engine.string(), "train", "--spec", spec.string()};
  if (from.planned.ranks > 1) {
    workload.job.arguments.push_back("--ranks");
    workload.job.arguments.push_back(std::to_string(from.planned.ranks));
  }
  return {};
}

Result<void> describe_null(const Ingredients& from, Workload& workload) {
  workload.job.arguments = {from.programs.self.string(), kNullWorkloadArgument};
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
  const auto spec = from.scratch / "spec.json";
  ASSAY_CHECK(write_file_atomically(spec, pretty_json(from.planned.spec)));
  workload.job.arguments = {from.programs.self.string(), kServeWorkloadArgument, spec.string()};
  return {};
}

/// A kind of workload: what it needs, and how its part of the workload is made.
struct WorkloadKind {
  std::string_view name;
  bool engine;   ///< needs assay-engine
  bool devices;  ///< may use GPUs; one that does not is shown none
  Result<void> (*describe)(const Ingredients& from, Workload& workload);
};
constexpr std::array kWorkloadKinds = {
    WorkloadKind{.name = "command", .engine = false, .devices = true, .describe = describe_command},
    WorkloadKind{.name = "train", .engine = true, .devices = true, .describe = describe_training},
    WorkloadKind{.name = "serve", .engine = false, .devices = false, .describe = describe_serving},
    WorkloadKind{.name = "null", .engine = false, .devices = false, .describe = describe_null},
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

Result<void> check_programs(const WorkloadKind& kind, const Programs& programs) {
  if (!kind.engine || !programs.engine.empty()) return {};
  return Error{
      .kind = ErrorKind::no_engine,
      .message = "assay-engine was not found beside assay, in ASSAY_ENGINE or on the PATH",
      .hint = "Build it with `cmake --preset release && cmake --build --preset release`, or set ASSAY_ENGINE."};
}

std::string this_host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace

std::filesystem::path find_engine(const std::filesystem::path& self) {
  const auto usable = [](const std::filesystem::path& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (auto beside = self.parent_path() / "assay-engine"; usable(beside)) return beside;
  if (const char* named = std::getenv("ASSAY_ENGINE"); named && usable(named)) return named;
  if (const char* path = std::getenv("PATH")) {
    for (const auto folder : split(path, ':')) {
      if (auto candidate = std::filesystem::path(folder) / "assay-engine"; !folder.empty() && usable(candidate)) {
        return candidate;
      }
    }
  }
  return {};
}

Result<Workload> make_workload(const PlannedRun& planned, const Programs& programs,
                               const std::filesystem::path& scratch) {
  if (planned.nodes > 1) {
    return Error{
        .kind = ErrorKind::unsupported,
        .message = fmt::format("this run needs {} nodes, and `assay run` has this machine alone", planned.nodes)};
  }
  if (!planned.node.empty() && planned.node != this_host()) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = fmt::format("this run is pinned to the node '{}', and this machine is '{}'", planned.node,
                                        this_host())};
  }
  ASSAY_TRY(const auto* const kind, find_kind(text_setting(planned.spec, "kind")));
  ASSAY_CHECK(check_programs(*kind, programs));
  Workload workload;
  workload.time_limit = duration_setting(planned.spec, "time_limit", Nanos(0));
  workload.artifacts = scratch / "artifacts";
  workload.job.scratch = scratch;
  std::error_code code;
  std::filesystem::create_directories(workload.artifacts, code);
  if (code)
    return Error{.kind = ErrorKind::io, .message = fmt::format("{}: {}", workload.artifacts.string(), code.message())};
  workload.job.environment["ASSAY_ARTIFACTS"] = workload.artifacts.string();
  workload.job.environment["ASSAY_RANKS"] = std::to_string(planned.ranks);
  workload.job.environment["ASSAY_NODES"] = std::to_string(planned.nodes);
  workload.job.environment["ASSAY_SEED"] = fmt::format("{}", number_setting(planned.spec, "seed", 0));
  if (!kind->devices) workload.job.devices.emplace();
  ASSAY_CHECK(kind->describe({planned, programs, scratch}, workload));
  return workload;
}

}  // namespace assay
