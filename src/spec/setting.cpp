#include "spec/setting.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/assert.h"

namespace assay {

std::string_view name_of(SpecKind kind) {
  switch (kind) {
    case SpecKind::train: return "train";
    case SpecKind::serve: return "serve";
    case SpecKind::node: return "node";
    case SpecKind::command: return "command";
    case SpecKind::null: return "null";
  }
  ASSAY_ASSERT(!"every kind has a name");
  return {};
}

std::optional<SpecKind> spec_kind_from(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kAllKinds), std::end(kAllKinds), [&](SpecKind kind) { return name_of(kind) == name; });
  return found == std::end(kAllKinds) ? std::nullopt : std::optional(*found);
}

bool is_free_map(SettingType type) {
  switch (type) {
    case SettingType::parameters:
    case SettingType::variables:
    case SettingType::patterns:
    case SettingType::expectations:
    case SettingType::goals:
    case SettingType::latency_limits: return true;
    default: return false;
  }
}

bool describes_study(const Setting& setting) {
  constexpr std::array<std::string_view, 6> keys = {"matrix", "sweep", "scale", "repeat", "seeds", "each_node"};
  return std::find(keys.begin(), keys.end(), setting.key) != keys.end();
}

namespace {

/// The table by key; expanding a large study looks up millions.
struct TableIndex {
  std::unordered_map<std::string_view, std::vector<const Setting*>> rows;
  std::vector<const Setting*> free_maps;
};

const TableIndex& table_index() {
  static const TableIndex index = [] {
    TableIndex made;
    for (const Setting& setting : settings_table()) {
      made.rows[setting.key].push_back(&setting);
      if (is_free_map(setting.type)) made.free_maps.push_back(&setting);
    }
    return made;
  }();
  return index;
}

}  // namespace

ResolvedKey resolve_key(Kinds kinds, std::string_view key) {
  if (const auto found = table_index().rows.find(key); found != table_index().rows.end()) {
    for (const Setting* setting : found->second) {
      if (setting->kinds.overlaps(kinds)) return {setting, {}};
    }
  }
  for (const Setting* map : table_index().free_maps) {
    const std::size_t length = map->key.size();
    if (map->kinds.overlaps(kinds) && key.size() > length + 1 && key.starts_with(map->key) && key[length] == '.') {
      return {map, key.substr(length + 1)};
    }
  }
  return {};
}

std::vector<const Setting*> settings_below(const Setting& group, Kinds kinds) {
  std::vector<const Setting*> below;
  for (const Setting& setting : settings_table()) {
    if (setting.kinds.overlaps(kinds) && setting.key.size() > group.key.size() && setting.key.starts_with(group.key) &&
        setting.key[group.key.size()] == '.') {
      below.push_back(&setting);
    }
  }
  return below;
}

const Setting* shorthand_setting(const Setting& group, Kinds kinds) {
  if (group.rule.shorthand.empty()) return nullptr;
  return resolve_key(kinds, std::string(group.key) + "." + std::string(group.rule.shorthand)).setting;
}

namespace {

json::object& object_at(json::object& settings, std::string_view key) {
  json::value& value = settings[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

void drop_rest_of_family(json::object& settings, SpecKind kind, const Setting& member) {
  if (member.rule.family.empty()) return;
  for (const Setting& other : settings_table()) {
    if (other.kinds.has(kind) && other.rule.family == member.rule.family && other.key != member.key) {
      settings.erase(other.key);
    }
  }
}

}  // namespace

void put_setting(json::object& settings, SpecKind kind, std::string_view key, const json::value& value) {
  const auto [setting, name] = resolve_key(kind, key);
  ASSAY_ASSERT(setting);
  drop_rest_of_family(settings, kind, *setting);
  const auto dot = setting->key.find('.');
  if (!name.empty()) {
    object_at(settings, setting->key)[name] = value;
  } else if (dot != std::string_view::npos) {
    object_at(settings, setting->key.substr(0, dot))[setting->key.substr(dot + 1)] = value;
  } else {
    settings[setting->key] = value;
  }
}

const json::value* find_setting(const json::object& settings, std::string_view key) {
  if (const json::value* whole = settings.if_contains(key)) return whole;
  const auto dot = key.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const json::value* part = settings.if_contains(key.substr(0, dot));
  return part && part->is_object() ? find_setting(part->get_object(), key.substr(dot + 1)) : nullptr;
}

}  // namespace assay
