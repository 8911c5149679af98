#include "leader/planned_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/hash.h"
#include "base/text.h"
#include "model/gpu_name.h"
#include "protocol/hello.h"
#include "scheduler/estimates.h"
#include "spec/gpu_traits.h"
#include "spec/spec.h"
#include "store/job_table.h"
#include "telemetry/devices.h"

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

std::string text_of(const std::map<std::string, std::string>& facts, std::string_view name) {
  const auto found = facts.find(std::string(name));
  return found == facts.end() ? "" : found->second;
}

/// Nothing where it is none: what agents say is not to be relied on.
template <typename Number>
std::optional<Number> number_in(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

/// Above all indices of GPUs, which name groups.
constexpr int kFirstAlone = 1000;

/// `alone`: the group of a GPU that is linked with none, or of which that is not known.
GpuOffer gpu_offer(const NodeRecord::Device& device, int alone) {
  return {.uuid = device.id,
          .model = text_of(device.facts, kNameFact),
          .memory = {number_in<std::int64_t>(text_of(device.facts, kMemoryFact)).value_or(0)},
          .link_group = number_in<int>(text_of(device.facts, kLinkGroupFact)).value_or(alone)};
}

/// Where the runs of an agent are done that are not done on its node.
struct PlaceOfRuns {
  std::size_t gpus = 0;  ///< at once
};

std::optional<PlaceOfRuns> place_of(const NodeRecord& record) {
  if (!record.facts.contains(kPlaceFact)) return std::nullopt;
  const auto gpus = number_in<std::size_t>(text_of(record.facts, kPlaceGpusFact));
  return PlaceOfRuns{.gpus = std::min(gpus.value_or(0), kMostGpusOfNode)};
}

/// A thousand times as long is long enough.
constexpr double kMostTenths = 10'000;

void use_cpus(JobNeeds& needs) {
  needs.gpus = 0;
  needs.cpus = true;
}

/// How many GPUs each of the nodes has that it could be given.
std::size_t gpus_there(const JobNeeds& needs, const GpuTraits& traits, const ClusterGpus& gpus) {
  std::vector<std::size_t> counts;
  const auto fits = [&](const GpuOffer& gpu) { return traits.fits(gpu.model, gpu.memory); };
  for (const auto& [name, node] : gpus.nodes) {
    const bool may = needs.on.empty() || std::find(needs.on.begin(), needs.on.end(), name) != needs.on.end();
    if (may) counts.push_back(static_cast<std::size_t>(std::count_if(node.gpus.begin(), node.gpus.end(), fits)));
  }
  std::sort(counts.rbegin(), counts.rend());
  const auto nodes = static_cast<std::size_t>(needs.nodes);
  return counts.size() < nodes ? 0 : counts[nodes - 1];
}

/// Those that are named, else those whose agents can do a part; empty: all of them.
std::vector<std::string> nodes_that_join(std::vector<std::string> named, const ClusterGpus& gpus) {
  if (!named.empty()) return named;
  const auto joins = [](const auto& node) { return node.second.joins; };
  if (std::all_of(gpus.nodes.begin(), gpus.nodes.end(), joins)) return {};
  for (const auto& [name, node] : gpus.nodes) {
    if (node.joins) named.push_back(name);
  }
  return named;
}

}  // namespace

std::vector<std::string> pinned_nodes(const PlannedRun& planned) {
  const auto* named = planned.nodes > 1 ? find_setting(planned.spec, "nodes") : nullptr;
  std::vector<std::string> names;
  if (!named || !named->is_array()) return names;
  for (const auto& name : named->get_array()) {
    if (name.is_string()) names.emplace_back(name.get_string());
  }
  return names;
}

std::string lane_of(const PlannedRun& planned) {
  const auto pinned = pinned_nodes(planned);
  return pinned.empty() ? planned.node : pinned.front();
}

int processes_per_node(const PlannedRun& planned) {
  const int nodes = std::max(planned.nodes, 1);
  int processes = planned.ranks;
  if (setting_text(planned.spec, "kind") == "serve") {
    const auto* clients = find_setting(planned.spec, "clients");
    processes =
        clients && clients->is_int64() ? static_cast<int>(std::min<std::int64_t>(*clients->if_int64(), 65'536)) : nodes;
  }
  return std::max(processes / nodes, 1);
}

std::string ClusterGpus::common_model(std::string_view wish) const {
  std::set<std::string> models;
  for (const auto& [name, node] : nodes) {
    for (const auto& gpu : node.gpus) {
      if (is_gpu_named(gpu.model, wish)) models.insert(gpu.model);
    }
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
    offer.gpus.push_back(gpu_offer(device, kFirstAlone + static_cast<int>(offer.gpus.size())));
  }
  offer.rack = text_of(record.facts, kRackFact);
  const auto holds = text_of(record.facts, kHoldsFact);
  for (const auto held : split(holds, ',')) {
    if (!held.empty()) offer.holds.emplace_back(held);
  }
  if (record.maintenance) offer.maintenance = {record.maintenance->from, record.maintenance->until};
  if (state == NodeState::draining) {
    offer.closed = record.maintenance ? "is in maintenance until " + iso8601(record.maintenance->until) : "is draining";
    if (!record.drain_reason.empty()) offer.closed += ": " + record.drain_reason;
  } else if (state != NodeState::online) {
    offer.closed = "is not heard of";
  } else if (!place) {
    offer.closed = used_by;
  }
  return offer;
}

JobNeeds needs_of(const JobRecord& job, const PlannedRun& planned, const ClusterGpus& gpus) {
  JobNeeds needs;
  needs.nodes = std::max(planned.nodes, 1);
  if (!job.node.empty()) needs.on = {job.node};
  if (needs.nodes > 1) needs.on = nodes_that_join(pinned_nodes(planned), gpus);
  if (job.gpus) {
    needs.gpus = static_cast<int>(job.gpus->size());
    needs.these = *job.gpus;
    if (needs.these.empty()) use_cpus(needs);
    return needs;
  }
  const auto traits = gpu_traits(planned.spec);
  const auto there = gpus_there(needs, traits, gpus);
  const bool must = setting_text(planned.spec, "device") == "cuda" || !traits.any();
  const GpuWish use = use_of(planned);
  if (use == GpuWish::none || (there == 0 && !must)) {
    use_cpus(needs);
  } else if (use == GpuWish::all) {
    needs.whole_node = job.node.empty();
    // As many as the node has, which is not known before it is chosen: nothing runs beside it.
    needs.gpus = needs.whole_node ? 1 : static_cast<int>(std::max<std::size_t>(there, 1));
  } else {
    const auto ranks = static_cast<std::size_t>(std::max(planned.ranks / needs.nodes, 1));
    needs.gpus = static_cast<int>(there == 0 ? ranks : std::min(there, ranks));
  }
  if (!needs.cpus) {
    needs.gpu_model = traits.model;
    needs.gpu_memory = traits.memory;
    needs.linked = traits.linked && needs.gpus > 1;
  }
  return needs;
}

void put_in_order(std::vector<std::string>& nodes, const JobNeeds& needs) {
  const auto place_of = [&](const std::string& node) { return std::find(needs.on.begin(), needs.on.end(), node); };
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](const std::string& a, const std::string& b) { return place_of(a) < place_of(b); });
}

std::string needs_in_words(const JobNeeds& needs) {
  if (needs.nodes > 1) {
    const std::string nodes = fmt::format("{} nodes", needs.nodes);
    const std::string among = needs.on.empty() ? nodes : fmt::format("{} of {}", nodes, join(needs.on, ", "));
    if (needs.cpus) return "the CPUs of " + among;
    if (needs.alone()) return among + " alone";
    return fmt::format("{} {} on each of {}", needs.gpus, needs.gpus == 1 ? "GPU" : "GPUs", among);
  }
  const std::string on = needs.on.empty() ? "" : needs.on.front();
  if (needs.cpus) return "the CPUs of " + (on.empty() ? "a node" : on);
  if (needs.alone()) return on.empty() ? "a node alone" : on + " alone";
  const std::string what = fmt::format("{} {}", needs.gpus, needs.gpus == 1 ? "GPU" : "GPUs");
  return on.empty() ? what : what + " of " + on;
}

std::vector<std::string> length_keys(const json::object& spec, const std::string& name, const std::string& gpu) {
  // What changes from repeat to repeat and from place to place, and not how long it takes.
  json::object same = spec;
  for (const char* key : {"seed", "nodes", "node_count", "name", "tags", "notes", "price", "expect", "gpu"})
    same.erase(key);
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
  if (needs.on.size() != 1 || needs.nodes > 1) return gpus.common_model(needs.gpu_model);
  const auto node = gpus.nodes.find(needs.on.front());
  return node == gpus.nodes.end() || node->second.gpus.empty() ? "" : node->second.gpus.front().model;
}

std::vector<std::pair<std::string, int>> slower_models(const JobNeeds& needs, const json::object& spec,
                                                       const DurationHistory& lengths, const ClusterGpus& gpus) {
  std::vector<std::pair<std::string, int>> slower;
  if (needs.cpus || !needs.these.empty()) return slower;
  std::map<std::string, double> seconds;
  for (const auto& [name, node] : gpus.nodes) {
    if (!needs.on.empty() && std::find(needs.on.begin(), needs.on.end(), name) == needs.on.end()) continue;
    for (const auto& gpu : node.gpus) {
      if (gpu.model.empty() || seconds.contains(gpu.model) || !is_gpu_named(gpu.model, needs.gpu_model)) continue;
      // Other settings on another GPU would say something of both.
      const std::vector<std::string> keys = {length_keys(spec, "", gpu.model).front()};
      if (const auto known = lengths.estimate(keys)) seconds[gpu.model] = seconds_of(known->estimate.expected);
    }
  }
  const auto shorter = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto soonest = std::min_element(seconds.begin(), seconds.end(), shorter);
  for (const auto& [model, length] : seconds) {
    const double tenths = std::min((length / soonest->second - 1) * 10, kMostTenths);
    if (tenths >= 1) slower.emplace_back(model, static_cast<int>(tenths));
  }
  return slower;
}

std::string data_of(const json::object& spec) {
  const auto name = setting_text(spec, "dataset.name");
  const auto colon = name.find(':');
  return colon == std::string::npos ? "" : name.substr(colon + 1);
}

std::optional<Nanos> specified_length(const json::object& spec) {
  if (const auto length = setting_duration(spec, "duration")) return length;
  const auto least = setting_duration(spec, "min_duration");
  // A trace takes as long as it was recorded.
  if (!least || setting_text(spec, "scenario") == "trace") return std::nullopt;
  const Nanos load = *least + setting_duration(spec, "warmup").value_or(Nanos(0));
  return std::max(load, setting_duration(spec, "ramp.duration").value_or(Nanos(0)));
}

std::optional<Nanos> time_limit_of(const json::object& spec) { return setting_duration(spec, "time_limit"); }

}  // namespace assay
