// The part of SpecReader that reads matrix, sweep and scale.
#include <fmt/format.h>

#include <algorithm>

#include "spec/configurations.h"
#include "spec/spec_reader.h"
#include "spec/spec_value.h"

namespace assay {
namespace {

std::string joined_labels(const std::vector<Change>& changes) {
  std::string joined;
  for (const Change& change : changes) joined += (joined.empty() ? "" : ", ") + change.label;
  return joined;
}

}  // namespace

std::optional<Place> SpecReader::study_place(std::string_view key) const {
  const auto found = study_places_.find(key);
  return found == study_places_.end() ? std::nullopt : std::optional(found->second);
}

void SpecReader::read_study_key(const SpecSetting& setting, const YamlEntry& entry) {
  study_places_[std::string(setting.key)] = entry.key_place;
  const YamlNode& node = entry.value;
  const bool right_shape =
      setting.own == SpecType::sweep ? node.is_map() && !node.entries.empty() : node.is_list() && !node.items.empty();
  if (!right_shape) {
    note_wrong(setting.key);
    const bool empty = (node.is_map() && node.entries.empty()) || (node.is_list() && node.items.empty());
    if (!empty) return add_spec_shape_problem(setting, setting.key, spec_type_words(setting), node, problems());
    return problems().add(node.place, fmt::format("'{}' is empty. Write for example '{}: {}', or remove it.",
                                                  setting.key, setting.key, setting.example));
  }
  if (node.items.size() > kMostRuns) {
    return problem(
        node.place, setting.key,
        fmt::format("'{}' has {} items; a study has at most {} runs.", setting.key, node.items.size(), kMostRuns));
  }
  if (setting.own == SpecType::matrix) {
    study_.variants.clear();
    read_matrix(setting, node);
  } else if (setting.own == SpecType::sweep) {
    study_.axes.clear();
    read_sweep(setting, node, "");
  } else {
    study_.sizes.clear();
    read_scale(setting, node);
  }
}

void SpecReader::read_changed(const std::string& key, const YamlEntry& entry, std::vector<Change>& out) {
  scope_ = Scope::variant;
  read_entry_at(key, entry, out);
  scope_ = Scope::top_level;
}

void SpecReader::read_matrix(const SpecSetting& setting, const YamlNode& list) {
  std::map<std::string, int> names = {{"baseline", 0}};
  for (const YamlNode& item : list.items) {
    if (problems().full()) return;
    if (!item.is_map() || item.entries.empty()) {
      problem(item.place, setting.key,
              "each variant of 'matrix' is a mapping of its changes, for example '{name: shorter, seq_length: 512}'.");
    } else if (auto variant = read_variant(item, names)) {
      study_.variants.push_back(std::move(*variant));
    }
  }
}

std::optional<Variant> SpecReader::read_variant(const YamlNode& item, std::map<std::string, int>& names) {
  Variant variant{.place = item.place};
  Place name_place = item.place;
  bool good = true;
  for (const YamlEntry& entry : item.entries) {
    if (entry.key == "name") {
      static const SpecSetting& name = *resolve_key(kEveryKind, "name").setting;
      const auto value = read_spec_value(name, "name", entry.value, problems());
      good = value.has_value();
      if (value) variant.name = value->get_string();
      name_place = entry.value.place;
    } else {
      read_changed(entry.key, entry, variant.changes);
    }
  }
  if (!good) return std::nullopt;
  if (variant.name.empty()) variant.name = joined_labels(variant.changes);
  const auto [first, is_new] = names.emplace(variant.name, item.place.line);
  // A variant whose changes went wrong may have no name to compare.
  if (!is_new && !variant.name.empty()) {
    problem(name_place, "matrix",
            first->second == 0
                ? fmt::format("a variant cannot be called '{}': that is the name of the settings above.", variant.name)
                : fmt::format("two variants are called '{}', the first in line {}. Give each its own name.",
                              variant.name, first->second));
    return std::nullopt;
  }
  return variant;
}

void SpecReader::read_sweep(const SpecSetting& setting, const YamlNode& map, const std::string& prefix) {
  for (const YamlEntry& entry : map.entries) {
    if (problems().full()) return;
    const std::string key = prefix.empty() ? entry.key : fmt::format("{}.{}", prefix, entry.key);
    const SpecSetting* swept = resolve_key(kinds(), key).setting;
    const bool nests = swept && swept->key == key && (swept->type == SettingType::group || is_free_map(*swept));
    if (!swept) {
      report_unknown(key, entry);
    } else if (swept->whole_study) {
      problem(entry.key_place, key, fmt::format("'{}' holds for the whole study and cannot be swept.", key));
    } else if (nests && entry.value.is_map()) {
      read_sweep(setting, entry.value, key);
    } else {
      read_axis(key, entry);
    }
  }
}

void SpecReader::read_axis(const std::string& key, const YamlEntry& entry) {
  if (!entry.value.is_list() || entry.value.items.empty()) {
    return problem(entry.value.place, key,
                   entry.value.is_scalar() ? fmt::format("'{}' in 'sweep' must be a list of values: write '{}: [{}]'.",
                                                         key, entry.key, label_of(entry.value))
                                           : fmt::format("'{}' in 'sweep' must be a list of values.", key));
  }
  if (entry.value.items.size() > kMostRuns) {
    return problem(
        entry.value.place, key,
        fmt::format("'{}' has {} values; a study has at most {} runs.", key, entry.value.items.size(), kMostRuns));
  }
  SweepAxis axis{.key = key, .place = entry.key_place};
  std::set<std::string> seen;
  for (const YamlNode& item : entry.value.items) {
    if (problems().full()) return;
    Variant point{.place = item.place};
    read_changed(key, {entry.key, entry.key_place, item}, point.changes);
    if (point.changes.empty()) continue;
    point.name = joined_labels(point.changes);
    if (!seen.insert(point.name).second) {
      problem(item.place, key, fmt::format("'{}' is in the list twice. Remove one of them.", label_of(item)));
      continue;
    }
    axis.points.push_back(std::move(point));
  }
  const bool known =
      std::any_of(study_.axes.begin(), study_.axes.end(), [&](const SweepAxis& other) { return other.key == key; });
  if (known) return problem(entry.key_place, key, fmt::format("'{}' is swept twice. Remove one of the lists.", key));
  if (!axis.points.empty()) study_.axes.push_back(std::move(axis));
}

void SpecReader::read_scale(const SpecSetting& setting, const YamlNode& list) {
  for (const YamlNode& item : list.items) {
    if (problems().full()) return;
    const auto size = read_size(setting, item);
    if (!size) {
      note_wrong(setting.key);
      continue;
    }
    const bool known = std::any_of(study_.sizes.begin(), study_.sizes.end(), [&](const ScaleSize& other) {
      return other.ranks == size->ranks && other.nodes == size->nodes;
    });
    if (known) {
      problem(item.place, setting.key,
              fmt::format("the size {} is in the list twice. Remove one of them.", label_of(item)));
    } else {
      study_.sizes.push_back(*size);
    }
  }
}

std::optional<ScaleSize> SpecReader::read_size(const SpecSetting& setting, const YamlNode& item) {
  static const SpecSetting& ranks = *resolve_key(kEveryKind, "ranks").setting;
  if (item.is_scalar()) {
    const auto value = read_value(ranks, "scale", item, problems());
    return value ? std::optional(ScaleSize{value->get_int64(), 1, item.place}) : std::nullopt;
  }
  if (!item.is_map() || (!item.find("ranks") && item.entries.size() <= 1)) {
    problems().add(item.place,
                   "each size of 'scale' is a number of ranks or a mapping such as '{ranks: 8, nodes: 2}'.");
    return std::nullopt;
  }
  ScaleSize size{.place = item.place};
  bool good = true;
  for (const YamlEntry& entry : item.entries) {
    if (entry.key != "ranks" && entry.key != "nodes") {
      problems().add(entry.key_place, fmt::format("unknown key '{}' in '{}'.{}", entry.key.substr(0, 60), setting.key,
                                                  did_you_mean(entry.key, {"ranks", "nodes"})));
      good = false;
      continue;
    }
    const auto value = read_value(ranks, entry.key, entry.value, problems());
    good = good && value;
    if (value) (entry.key == "ranks" ? size.ranks : size.nodes) = value->get_int64();
  }
  if (good && size.nodes > size.ranks) {
    problems().add(item.place, fmt::format("{} nodes cannot share {} ranks. Give at least one rank per node.",
                                           size.nodes, size.ranks));
    return std::nullopt;
  }
  return good ? std::optional(size) : std::nullopt;
}

}  // namespace assay
