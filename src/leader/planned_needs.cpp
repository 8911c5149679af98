#include "leader/planned_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/hash.h"
#include "protocol/hello.h"
#include "spec/spec.h"

namespace assay {
namespace {

std::string setting_text(const json::object& spec, std::string_view key) {
  const auto* value = find_setting(spec, key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::optional<Nanos> setting_duration(const json::object& spec, std::string_view key) {
  const auto* value = find_setting(spec, key);
  if (!value || !value->is_number()) return std::nullopt;
  const double seconds = value->to_number<double>();
  // A year: what is longer is no limit to anybody.
  if (!(seconds > 0) || seconds > 365 * 86'400.0) return std::nullopt;
  return Nanos(static_cast<std::int64_t>(seconds * 1e9));
}

enum class GpuWish { none, ranks, all };

GpuWish use_of(const PlannedRun& planned) {
  const auto kind = setting_text(planned.spec, "kind");
  if (kind == "null" || setting_text(planned.spec, "device") == "cpu") return GpuWish::none;
  if (kind == "command") return GpuWish::all;
  // The load on somebody else's server takes CPUs alone.
  const bool elsewhere =
      !setting_text(planned.spec, "target.openai").empty() || setting_text(planned.spec, "target.name") == "null";
  return kind == "serve" && elsewhere ? GpuWish::none : GpuWish::ranks;
}

/// Where the runs of an agent are done that are not done on its node.
struct PlaceOfRuns {
  std::size_t gpus = 0;  ///< at once
};

std::optional<PlaceOfRuns> place_of(const NodeRecord& record) {
  if (!record.facts.contains(kPlaceFact)) return std::nullopt;
  PlaceOfRuns place;
  const auto gpus = record.facts.find(kPlaceGpusFact);
  if (gpus == record.facts.end()) return place;
  const char* const end = gpus->second.data() + gpus->second.size();
  const auto read = std::from_chars(gpus->second.data(), end, place.gpus);
  place.gpus = read.ec == std::errc() && read.ptr == end ? std::min(place.gpus, kMostGpusOfNode) : 0;
  return place;
}

void use_cpus(JobNeeds& needs) {
  needs.gpus = 0;
  needs.cpus = true;
}

}  // namespace

std::size_t ClusterGpus::most() const {
  std::size_t most = 0;
  for (const auto& [name, node] : nodes) most = std::max(most, node.count);
  return most;
}

std::string ClusterGpus::common_model() const {
  std::set<std::string> models;
  for (const auto& [name, node] : nodes) {
    if (node.count > 0) models.insert(node.model);
  }
  return models.size() == 1 ? *models.begin() : "";
}

std::optional<NodeOffer> offer_of(const NodeRecord& record, NodeState state, const std::string& used_by) {
  if (std::find(record.allow.begin(), record.allow.end(), "run") == record.allow.end()) return std::nullopt;
  NodeOffer offer{.name = record.name};
  const auto place = place_of(record);
  for (std::size_t i = 0; i < (place ? place->gpus : 0); ++i) offer.gpus.push_back({.uuid = fmt::format("any-{}", i)});
  for (const auto& device : record.devices) {
    // Those of its own machine are not what it gives out.
    if (place || offer.gpus.size() == kMostGpusOfNode) break;
    const auto name = device.facts.find("name");
    offer.gpus.push_back({.uuid = device.id, .model = name == device.facts.end() ? "" : name->second});
  }
  if (state == NodeState::draining) {
    offer.closed = "is draining" + (record.drain_reason.empty() ? "" : ": " + record.drain_reason);
  } else if (state != NodeState::online) {
    offer.closed = "is not heard of";
  } else if (!place) {
    offer.closed = used_by;
  }
  return offer;
}

JobNeeds needs_of(const JobRecord& job, const PlannedRun& planned, const ClusterGpus& gpus) {
  JobNeeds needs;
  if (!job.node.empty()) needs.on = {job.node};
  if (job.gpus) {
    needs.gpus = static_cast<int>(job.gpus->size());
    needs.these = *job.gpus;
    if (needs.these.empty()) use_cpus(needs);
    return needs;
  }
  const auto node = gpus.nodes.find(job.node);
  const std::size_t there = job.node.empty() ? gpus.most() : node == gpus.nodes.end() ? 0 : node->second.count;
  const bool must = setting_text(planned.spec, "device") == "cuda";
  const GpuWish use = use_of(planned);
  if (use == GpuWish::none || (there == 0 && !must)) {
    use_cpus(needs);
  } else if (use == GpuWish::all) {
    needs.whole_node = job.node.empty();
    needs.gpus = needs.whole_node ? 1 : static_cast<int>(there);
  } else {
    const auto ranks = static_cast<std::size_t>(std::max(planned.ranks, 1));
    needs.gpus = static_cast<int>(there == 0 ? ranks : std::min(there, ranks));
  }
  return needs;
}

std::string needs_in_words(const JobNeeds& needs) {
  const std::string on = needs.on.empty() ? "" : needs.on.front();
  if (needs.cpus) return "the CPUs of " + (on.empty() ? "a node" : on);
  if (needs.alone()) return on.empty() ? "a node alone" : on + " alone";
  const std::string what = fmt::format("{} {}", needs.gpus, needs.gpus == 1 ? "GPU" : "GPUs");
  return on.empty() ? what : what + " of " + on;
}

std::vector<std::string> length_keys(const json::object& spec, const std::string& name, const std::string& gpu) {
  // What changes from repeat to repeat and from place to place, and not how long it takes.
  json::object same = spec;
  for (const char* key : {"seed", "nodes", "node_count", "name", "tags", "notes", "price", "expect"}) same.erase(key);
  const auto settings = content_hash(json::serialize(same));
  const auto model = setting_text(spec, "model.name");
  const auto kind = setting_text(spec, "kind");
  std::vector<std::string> keys;
  if (!gpu.empty()) keys.push_back(fmt::format("settings {} on {}", settings, gpu));
  keys.push_back("settings " + settings);
  keys.push_back(fmt::format("{} {} on {}", kind, model.empty() ? name : model, gpu));
  keys.push_back("kind " + kind);
  return keys;
}

std::string gpu_for_length(const JobNeeds& needs, const ClusterGpus& gpus) {
  if (needs.cpus) return "cpu";
  if (needs.on.size() != 1) return gpus.common_model();
  const auto node = gpus.nodes.find(needs.on.front());
  return node == gpus.nodes.end() ? "" : node->second.model;
}

std::optional<Nanos> specified_length(const json::object& spec) {
  if (const auto length = setting_duration(spec, "duration")) return length;
  const auto least = setting_duration(spec, "min_duration");
  if (!least) return std::nullopt;
  return *least + setting_duration(spec, "warmup").value_or(Nanos(0));
}

std::optional<Nanos> time_limit_of(const json::object& spec) { return setting_duration(spec, "time_limit"); }

}  // namespace assay
