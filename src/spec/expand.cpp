#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "model/study.h"
#include "spec/canonical.h"
#include "spec/complete.h"
#include "spec/configurations.h"
#include "spec/placeholders.h"
#include "spec/spec.h"
#include "spec/spec_setting.h"

namespace assay {
namespace {

struct Size {
  std::int64_t ranks = 0;  ///< 0: as the settings say
  std::int64_t nodes = 0;  ///< 0: all that are named, or one
};

Error bad_study(std::string message, std::string hint = "") {
  return Error{.kind = ErrorKind::bad_spec, .message = std::move(message), .hint = std::move(hint)};
}

std::vector<Size> sizes_of(const json::object& given) {
  std::vector<Size> sizes;
  if (const json::value* scale = given.if_contains("scale")) {
    for (const json::value& size : scale->as_array()) {
      sizes.push_back({size.at("ranks").as_int64(), size.at("nodes").as_int64()});
    }
  }
  if (sizes.empty()) sizes.push_back({});
  return sizes;
}

/// The nodes that get a run each; a single empty name if the runs are not spread like that.
Result<std::vector<std::string>> nodes_to_visit(const json::object& given) {
  const json::value* each = given.if_contains("each_node");
  if (!each || !each->as_bool()) return std::vector<std::string>{""};
  const json::value* nodes = given.if_contains("nodes");
  if (!nodes || !nodes->is_array()) {
    return bad_study("'each_node: true' with 'nodes: all' needs a leader, which knows the nodes",
                     "Name them: 'nodes: [gpu01, gpu02]'.");
  }
  std::vector<std::string> names;
  for (const json::value& node : nodes->get_array()) names.emplace_back(node.as_string());
  return names;
}

/// Below 2^31, which every program takes for a seed.
constexpr std::uint64_t kSeeds = std::uint64_t{1} << 31;

/// The first repeat has the seed that was written. All configurations share the seed of a repeat: they meet the same
/// data and start from the same weights, so that less than their own difference lies between them.
std::int64_t seed_of_repeat(std::int64_t seed, int repeat) {
  if (repeat == 0) return seed;
  Random stream(static_cast<std::uint64_t>(seed), "repeat");
  stream.skip_to(static_cast<std::uint64_t>(repeat));
  return static_cast<std::int64_t>(stream.below(kSeeds));
}

bool one_seed_for_all(const json::object& given) {
  const json::value* seeds = given.if_contains("seeds");
  return seeds && seeds->is_string() && seeds->get_string() == "same";
}

/// Turns complete settings of a configuration into those of one run, and keeps the study's size in bounds.
class RunMaker {
 public:
  RunMaker(const Spec& spec, std::string name, int repeat)
      : kind_(spec.kind), name_(std::move(name)), repeat_(repeat) {}

  Result<PlannedRun> make(const Configuration& configuration, const Size& size, const std::string& node) {
    json::object given = configuration.given;
    if (size.ranks > 0) given["ranks"] = size.ranks;
    json::object settings = complete_settings(kind_, given, name_);
    for (const SpecSetting& setting : settings_table()) {
      if (describes_study(setting)) settings.stable_erase(setting.key);
    }
    if (json::value* seed = settings.if_contains("seed"); seed && !one_seed_for_all(given)) {
      *seed = seed_of_repeat(seed->as_int64(), repeat_);
    }
    if (size.ranks > 1) share_batch(settings, size.ranks);
    PlannedRun run{.variant = variant_name(configuration, size), .repeat = repeat_, .node = node};
    place(settings, size, run);
    if (const json::value* ranks = settings.if_contains("ranks")) run.ranks = static_cast<int>(ranks->as_int64());
    if (!fill_in_command(settings)) {
      return bad_study(
          fmt::format("the commands of this study take more than {} MiB once their parameters are filled in",
                      kMostExpandedBytes >> 20));
    }
    run.spec = std::move(settings);
    return run;
  }

 private:
  static std::string variant_name(const Configuration& configuration, const Size& size) {
    std::string name = configuration.name;
    if (size.ranks > 0) name += fmt::format("{}ranks={}", name.empty() ? "" : ", ", size.ranks);
    if (size.nodes > 1) name += fmt::format(", nodes={}", size.nodes);
    return name.empty() ? "baseline" : name;
  }

  /// Strong scaling keeps the effective batch. That the ranks divide it was checked.
  static void share_batch(json::object& settings, std::int64_t ranks) {
    const json::value* scaling = settings.if_contains("scaling");
    json::value* batch = settings.if_contains("batch_size");
    if (!scaling || !batch || *scaling != "strong") return;
    *batch = std::max<std::int64_t>(1, batch->as_int64() / ranks);
  }

  /// Settles on which nodes the run takes place.
  static void place(json::object& settings, const Size& size, PlannedRun& run) {
    std::size_t count = size.nodes > 0 ? static_cast<std::size_t>(size.nodes) : 1;
    json::value* nodes = settings.if_contains("nodes");
    if (!run.node.empty()) {
      settings["nodes"] = json::array{run.node};
    } else if (nodes && nodes->is_array()) {
      json::array& names = nodes->get_array();
      if (size.nodes > 0) names.resize(std::min(count, names.size()));
      count = names.size();
      if (names.size() == 1) run.node = names.front().as_string();
    }
    settings["node_count"] = static_cast<std::int64_t>(count);
    run.nodes = static_cast<int>(count);
  }

  bool fill_in_text(const json::object& settings, json::value& text) {
    if (!text.is_string()) return true;
    bool fits = true;
    const std::string filled = fill_in(text.get_string(), [&](std::string_view name) {
      auto value = parameter_text(settings, name);
      // Counted while filling in: a long parameter used often must not fill the memory first.
      if (value) filled_bytes_ += value->size();
      fits = fits && filled_bytes_ <= kMostExpandedBytes;
      return fits ? value : std::optional<std::string>("");
    });
    text = filled;
    return fits;
  }

  bool fill_in_command(json::object& settings) {
    const json::object before = settings;
    json::value* command = settings.if_contains("command");
    if (!command) return true;
    bool fits = fill_in_text(before, *command);
    if (command->is_array()) {
      for (json::value& argument : command->get_array()) fits = fits && fill_in_text(before, argument);
    }
    if (json::value* variables = settings.if_contains("env")) {
      for (auto& variable : variables->as_object()) fits = fits && fill_in_text(before, variable.value());
    }
    return fits;
  }

  SpecKind kind_;
  std::string name_;
  int repeat_;
  std::size_t filled_bytes_ = 0;
};

/// Every configuration once, in the order in which the user wrote them.
Result<std::vector<PlannedRun>> one_round(const Spec& spec, const json::object& given, int repeat) {
  ASSAY_TRY(const auto nodes, nodes_to_visit(given));
  const std::vector<Size> sizes = sizes_of(given);
  const json::value* name = given.if_contains("name");
  RunMaker maker(spec, name && name->is_string() ? std::string(name->get_string()) : std::string(name_of(spec.kind)),
                 repeat);
  std::vector<PlannedRun> round;
  std::optional<Error> failure;
  for_each_configuration(spec.kind, given, [&](const Configuration& configuration) {
    for (const Size& size : sizes) {
      for (const std::string& node : nodes) {
        auto run = maker.make(configuration, size, node);
        if (!run) {
          failure = std::move(run).error();
          return false;
        }
        run->configuration = static_cast<int>(round.size());
        round.push_back(std::move(*run));
      }
    }
    return true;
  });
  if (failure) return std::move(*failure);
  return round;
}

}  // namespace

Result<std::vector<PlannedRun>> expand(const Spec& spec) {
  const json::object& given = spec.given.empty() ? spec.settings : spec.given;
  if (count_runs(given) > kMostRuns) return bad_study(fmt::format("the study asks for more than {} runs", kMostRuns));
  const json::value* repeat = given.if_contains("repeat");
  const std::int64_t rounds = repeat && repeat->is_int64() ? repeat->get_int64() : 1;
  if (rounds == 1) return one_round(spec, given, 0);

  // Every configuration once per round, each round in another order: a machine that drifts (heat, neighbours) then
  // disturbs all configurations alike.
  const json::value* seed = find_setting(spec.settings, "seed");
  Random random(seed ? static_cast<std::uint64_t>(seed->as_int64()) : 1, "order");
  std::vector<PlannedRun> plan;
  for (int i = 0; i < rounds; ++i) {
    ASSAY_TRY(auto round, one_round(spec, given, i));
    random.shuffle(round);
    std::move(round.begin(), round.end(), std::back_inserter(plan));
  }
  return plan;
}

std::string default_name(const Spec& spec) {
  const auto* name = find_setting(spec.settings, "name");
  if (name && name->is_string() && !name->get_string().empty()) return std::string(name->get_string());
  const auto stem = std::filesystem::path(spec.file).stem().string();
  return stem.empty() || stem == "-" ? std::string(name_of(spec.kind)) : stem;
}

std::vector<std::string> tags_of(const Spec& spec) {
  std::vector<std::string> tags;
  const auto* list = find_setting(spec.settings, "tags");
  if (!list || !list->is_array()) return tags;
  for (const auto& tag : list->get_array()) {
    if (tag.is_string()) tags.emplace_back(tag.get_string());
  }
  return tags;
}

}  // namespace assay
