#include "spec/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "spec/canonical.h"
#include "spec/complete.h"
#include "spec/configurations.h"
#include "spec/rules.h"

namespace assay {
namespace {

using Places = std::map<std::string, Place>;

void note_places(Places& places, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    places[change.key] = change.place;
    note_places(places, change.parts);
  }
}

/// The place of the first of these keys that has one, or of its group.
std::optional<Place> find_place(const Places& places, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (const auto found = places.find(key); found != places.end()) return found->second;
    if (const auto group = places.find(key.substr(0, key.find('.'))); group != places.end()) return group->second;
  }
  return std::nullopt;
}

json::object to_json(const std::vector<Change>& changes) {
  json::object set;
  for (const Change& change : changes) set[change.key] = change.value;
  return set;
}

class DraftChecker {
 public:
  DraftChecker(const Draft& draft, const SpecReader& reader, Problems& problems)
      : draft_(draft), reader_(reader), problems_(problems) {
    for (const Layer& layer : draft.layers) note_places(base_places_, layer);
  }

  void run() {
    check_required();
    check_sizes();
    check_matrix_against_sweep();
    if (!check_run_count()) return;
    note_possible_settings(complete_settings(draft_.kind, file_alone(), draft_.name));
    for_each_configuration(draft_.kind, draft_.given, [&](const Configuration& configuration) {
      check_configuration(configuration);
      return !problems_.full();
    });
    check_needs();
  }

 private:
  Place place_of(const std::vector<std::string>& keys) const {
    return find_place(base_places_, keys).value_or(draft_.kind_place);
  }

  void check_required() {
    for (const SpecSetting& setting : settings_table()) {
      if (!setting.rule.required || !setting.kinds.has(draft_.kind) || setting.key == "kind") continue;
      const std::string key(setting.key);
      if (find_setting(draft_.given, key) || reader_.went_wrong(key) || reader_.was_suggested(key)) continue;
      problems_.add(draft_.kind_place, fmt::format("kind {} needs '{}'. Add for example '{}: {}'.",
                                                   name_of(draft_.kind), key, key, setting.example));
    }
  }

  void check_sizes() {
    const auto& sizes = reader_.study().sizes;
    if (sizes.empty() || reader_.went_wrong("scale")) return;
    const auto refuse_ranks = [&](const std::vector<Change>& changes) {
      for (const Change& change : changes) {
        if (change.key != "ranks") continue;
        problems_.add(change.key_place,
                      "'ranks' and 'scale' exclude each other: 'scale' sets the ranks. Remove one of them.");
      }
    };
    for (const Layer& layer : draft_.layers) refuse_ranks(layer);
    for (const Variant& variant : reader_.study().variants) refuse_ranks(variant.changes);
    for (const SweepAxis& axis : reader_.study().axes) refuse_ranks(axis.points.front().changes);
    check_named_nodes(sizes);
  }

  void check_named_nodes(const std::vector<ScaleSize>& sizes) {
    const json::value* nodes = draft_.given.if_contains("nodes");
    const json::value* each = draft_.given.if_contains("each_node");
    const bool each_node = each && each->as_bool();
    for (const ScaleSize& size : sizes) {
      if (each_node && size.nodes > 1) {
        problems_.add(size.place, "'each_node: true' runs on one node at a time, so 'nodes' must be 1 here.");
      } else if (nodes && nodes->is_array() && static_cast<std::size_t>(size.nodes) > nodes->get_array().size()) {
        problems_.add(size.place, fmt::format("this size needs {} nodes, but 'nodes' names {}.", size.nodes,
                                              nodes->get_array().size()));
      }
    }
  }

  void check_matrix_against_sweep() {
    for (const SweepAxis& axis : reader_.study().axes) {
      for (const Variant& variant : reader_.study().variants) {
        const auto clash = std::find_if(variant.changes.begin(), variant.changes.end(), [&](const Change& change) {
          return change.key == axis.key || change.key.starts_with(axis.key + ".") ||
                 axis.key.starts_with(change.key + ".");
        });
        if (clash == variant.changes.end()) continue;
        problems_.add(axis.place,
                      fmt::format("'{}' is swept and also changed by the variant '{}' of the matrix. Remove "
                                  "one of them.",
                                  axis.key, variant.name));
        break;
      }
    }
  }

  bool check_run_count() {
    const std::size_t runs = count_runs(draft_.given);
    const std::size_t bytes = largest_run_bytes(draft_.given);
    if (runs <= kMostRuns && runs * bytes <= kMostExpandedBytes) return true;
    Place place = place_of({"repeat", "each_node"});
    for (const std::string_view key : {"scale", "matrix", "sweep"}) place = reader_.study_place(key).value_or(place);
    if (runs > kMostRuns) {
      problems_.add(place,
                    fmt::format("the study asks for more than {} runs. Shorten 'sweep', 'matrix', 'scale' or 'repeat'.",
                                kMostRuns));
    } else {
      problems_.add(place, fmt::format("the study asks for {} runs with settings of {} each. Shorten one of them.",
                                       runs, format_bytes(Bytes{static_cast<std::int64_t>(bytes)})));
    }
    return false;
  }

  json::object file_alone() const { return merge_layers(draft_.kind, std::span(draft_.layers).first(1), {}); }

  void note_possible_settings(const json::object& settings) {
    for (const SpecSetting& setting : settings_table()) {
      if (!setting.rule.needs || !setting.kinds.has(draft_.kind)) continue;
      if (is_satisfied(*setting.rule.needs, find_setting(settings, setting.rule.needs->key)))
        possible_.insert(&setting);
    }
  }

  void check_configuration(const Configuration& configuration) {
    const json::object settings = complete_settings(draft_.kind, configuration.given, draft_.name);
    note_possible_settings(settings);
    for (const BrokenRule& broken : broken_rules(draft_.kind, settings)) {
      const bool follows = std::any_of(broken.keys.begin(), broken.keys.end(), [&](const std::string& key) {
        return reader_.went_wrong(key) || reader_.was_suggested(key);
      });
      if (follows || !reported_.insert(broken.rule).second) continue;
      report(broken, configuration);
    }
  }

  void report(const BrokenRule& broken, const Configuration& configuration) {
    Places changed;
    if (configuration.variant > 0) {
      const Variant& variant = reader_.study().variants[configuration.variant - 1];
      note_places(changed, variant.changes);
    }
    for (std::size_t axis = 0; axis < configuration.point.size(); ++axis) {
      note_places(changed, reader_.study().axes[axis].points[configuration.point[axis]].changes);
    }
    if (const auto place = find_place(changed, broken.keys)) {
      problems_.add(*place, fmt::format("{} (In the variant '{}'.)", broken.message, configuration.name));
    } else {
      problems_.add(place_of(broken.keys), broken.message);
    }
  }

  void check_needs() {
    for (const Layer& layer : draft_.layers) check_needs_of(layer);
    for (const Variant& variant : reader_.study().variants) check_needs_of(variant.changes);
    for (const SweepAxis& axis : reader_.study().axes) check_needs_of(axis.points.front().changes);
  }

  void check_needs_of(const std::vector<Change>& changes) {
    for (const Change& change : changes) {
      check_need(change.key, change.key_place);
      check_needs_of(change.parts);
    }
  }

  void check_need(const std::string& key, const Place& place) {
    const SpecSetting* setting = resolve_key(draft_.kind, key).setting;
    if (!setting || !setting->rule.needs || possible_.contains(setting)) return;
    const Need& need = *setting->rule.needs;
    // One wrong `task` makes all of `lora` pointless: that is one mistake.
    if (reader_.went_wrong(need.key) || !reported_.insert("need " + std::string(need.key)).second) return;
    std::vector<std::string> values;
    for (const std::string_view value : need.values)
      values.push_back(fmt::format("{}{}", value, value.ends_with(':') ? "PATH" : ""));
    const std::string last = values.back();
    values.pop_back();
    problems_.add(place, fmt::format("'{}' needs '{}: {}'{}.", key, need.key,
                                     values.empty() ? last : fmt::format("{} or {}", fmt::join(values, ", "), last),
                                     present_value(need.key)));
  }

  std::string present_value(std::string_view key) const {
    const json::object settings = complete_settings(draft_.kind, draft_.given, draft_.name);
    const json::value* value = find_setting(settings, key);
    if (!value || !value->is_string()) return "";
    return fmt::format(", but '{}' is '{}'{}", key, std::string_view(value->get_string()),
                       find_setting(draft_.given, key) ? "" : " by default");
  }

  const Draft& draft_;
  const SpecReader& reader_;
  Problems& problems_;
  Places base_places_;
  std::set<const SpecSetting*> possible_;
  std::set<std::string> reported_;
};

}  // namespace

json::object merge_layers(SpecKind kind, std::span<const Layer> layers, const StudyKeys& study) {
  json::object given = {{"kind", name_of(kind)}};
  for (const Layer& layer : layers) {
    for (const Change& change : layer) put_setting(given, kind, change.key, change.value);
  }
  const auto choices = [](const std::vector<Variant>& variants) {
    json::array all;
    for (const Variant& variant : variants) all.push_back({{"name", variant.name}, {"set", to_json(variant.changes)}});
    return all;
  };
  if (!study.variants.empty()) given["matrix"] = choices(study.variants);
  json::array axes;
  for (const SweepAxis& axis : study.axes) axes.push_back({{"key", axis.key}, {"points", choices(axis.points)}});
  if (!axes.empty()) given["sweep"] = std::move(axes);
  json::array sizes;
  for (const ScaleSize& size : study.sizes) sizes.push_back({{"ranks", size.ranks}, {"nodes", size.nodes}});
  if (!sizes.empty()) given["scale"] = std::move(sizes);
  return given;
}

void check_draft(const Draft& draft, const SpecReader& reader, Problems& problems) {
  DraftChecker(draft, reader, problems).run();
}

}  // namespace assay
