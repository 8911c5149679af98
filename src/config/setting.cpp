#include "config/setting.h"

namespace assay {

bool is_list(SettingType type) {
  return type == SettingType::texts || type == SettingType::wholes || type == SettingType::choices;
}

bool is_key_below(std::string_view key, std::string_view group) {
  return key.size() > group.size() && key.starts_with(group) && key[group.size()] == '.';
}

}  // namespace assay
