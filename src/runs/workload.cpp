#include "runs/workload.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "runs/null_workload.h"
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

void describe_command(const json::object& settings, Workload& workload) {
  const auto* command = find_setting(settings, "command");
  ASSAY_ASSERT(command);
  if (const auto* list = command->if_array()) {
    for (const auto& argument : *list) workload.process.arguments.push_back(scalar_text(argument));
  } else {
    workload.process.arguments = {"sh", "-c", scalar_text(*command)};
  }
  if (const auto folder = text_setting(settings, "folder"); !folder.empty()) workload.process.folder = folder;
  if (const auto* variables = find_setting(settings, "env"); variables && variables->is_object()) {
    for (const auto& variable : variables->get_object()) {
      workload.process.environment[std::string(variable.key())] = scalar_text(variable.value());
    }
  }
  if (const auto* metrics = find_setting(settings, "metrics"); metrics && metrics->is_object()) {
    for (const auto& metric : metrics->get_object()) {
      workload.patterns.push_back({std::string(metric.key()), scalar_text(metric.value())});
    }
  }
  workload.output_limit = static_cast<std::size_t>(number_setting(settings, "output_limit", 64.0 * (1 << 20)));
  workload.process.grace = duration_setting(settings, "grace", workload.process.grace);
}

Result<void> describe_training(const PlannedRun& planned, const Programs& programs,
                               const std::filesystem::path& scratch, Workload& workload) {
  if (programs.engine.empty()) {
    return Error{
        .kind = ErrorKind::no_engine,
        .message = "assay-engine was not found beside assay, in ASSAY_ENGINE or on the PATH",
        .hint = "Build it with `cmake --preset release && cmake --build --preset release`, or set ASSAY_ENGINE."};
  }
  const auto spec = scratch / "spec.json";
  ASSAY_CHECK(write_file_atomically(spec, pretty_json(planned.spec)));
  // OpenMP must know before it is loaded; the engine would have to start itself a second time.
  if (!std::getenv("OMP_WAIT_POLICY") && !std::getenv("GOMP_SPINCOUNT")) {
    workload.process.environment["OMP_WAIT_POLICY"] = "passive";
  }
  workload.process.arguments = {programs.engine.string(), "train", "--spec", spec.string()};
  if (planned.ranks > 1) {
    workload.process.arguments.push_back("--ranks");
    workload.process.arguments.push_back(std::to_string(planned.ranks));
  }
  return {};
}

void describe_null(const json::object& settings, const Programs& programs, Workload& workload) {
  workload.process.arguments = {programs.self.string(), kNullWorkloadArgument};
  for (const std::string_view key : {"steps", "rate", "metrics_per_step"}) {
    if (const auto* value = find_setting(settings, key); value && !value->is_null()) {
      workload.process.arguments.push_back(fmt::format("{}={}", key, scalar_text(*value)));
    }
  }
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
  Workload workload;
  const std::string kind = text_setting(planned.spec, "kind");
  workload.time_limit = duration_setting(planned.spec, "time_limit", Nanos(0));
  workload.artifacts = scratch / "artifacts";
  std::error_code code;
  std::filesystem::create_directories(workload.artifacts, code);
  if (code)
    return Error{.kind = ErrorKind::io, .message = fmt::format("{}: {}", workload.artifacts.string(), code.message())};
  workload.process.environment["ASSAY_ARTIFACTS"] = workload.artifacts.string();
  workload.process.environment["ASSAY_RANKS"] = std::to_string(planned.ranks);
  workload.process.environment["ASSAY_NODES"] = std::to_string(planned.nodes);
  workload.process.environment["ASSAY_SEED"] = fmt::format("{}", number_setting(planned.spec, "seed", 0));
  if (kind == "command") {
    describe_command(planned.spec, workload);
  } else if (kind == "null") {
    describe_null(planned.spec, programs, workload);
  } else if (kind == "train") {
    ASSAY_CHECK(describe_training(planned, programs, scratch, workload));
  } else {
    return Error{
        .kind = ErrorKind::unsupported,
        .message = fmt::format("kind '{}' can be validated, but this version of assay cannot run it yet", kind),
        .hint = "It can run the kinds command, train and null."};
  }
  return workload;
}

}  // namespace assay
