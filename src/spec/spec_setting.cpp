#include "spec/spec_setting.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace assay {

bool is_free_map(const SpecSetting& setting) {
  switch (setting.own) {
    case SpecType::parameters:
    case SpecType::variables:
    case SpecType::patterns:
    case SpecType::expectations:
    case SpecType::goals:
    case SpecType::latency_limits: return true;
    default: return false;
  }
}

bool describes_study(const SpecSetting& setting) {
  constexpr std::array<std::string_view, 6> keys = {"matrix", "sweep", "scale", "repeat", "seeds", "each_node"};
  return std::find(keys.begin(), keys.end(), setting.key) != keys.end();
}

namespace {

/// The table by key; expanding a large study looks up millions.
struct TableIndex {
  std::unordered_map<std::string_view, std::vector<const SpecSetting*>> rows;
  std::vector<const SpecSetting*> free_maps;
};

const TableIndex& table_index() {
  static const TableIndex index = [] {
    TableIndex made;
    for (const SpecSetting& setting : settings_table()) {
      made.rows[setting.key].push_back(&setting);
      if (is_free_map(setting)) made.free_maps.push_back(&setting);
    }
    return made;
  }();
  return index;
}

}  // namespace

ResolvedKey resolve_key(Kinds kinds, std::string_view key) {
  if (const auto found = table_index().rows.find(key); found != table_index().rows.end()) {
    for (const SpecSetting* setting : found->second) {
      if (setting->kinds.overlaps(kinds)) return {setting, {}};
    }
  }
  for (const SpecSetting* map : table_index().free_maps) {
    const std::size_t length = map->key.size() + 1;
    if (map->kinds.overlaps(kinds) && is_key_below(key, map->key) && key.size() > length)
      return {map, key.substr(length)};
  }
  return {};
}

}  // namespace assay
