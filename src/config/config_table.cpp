#include "config/config_table.h"

#include <algorithm>

#include "config/variables.h"

namespace assay {

std::string ConfigRow::flag() const {
  std::string name(extras.flag.empty() ? setting.key : extras.flag);
  std::replace_if(name.begin(), name.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return "--" + name;
}

std::string ConfigRow::value_name() const {
  if (!extras.value_name.empty()) return std::string(extras.value_name);
  switch (setting.type) {
    case SettingType::path: return "FILE";
    case SettingType::duration: return "TIME";
    case SettingType::bytes: return "BYTES";
    case SettingType::whole: return "N";
    case SettingType::url: return "URL";
    case SettingType::choices: return "LIST";
    default: return "TEXT";
  }
}

const ConfigRow* ConfigRows::find(std::string_view key) const {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const ConfigRow& row) { return row.setting.key == key; });
  return found == rows_.end() ? nullptr : &*found;
}

SettingRows ConfigRows::settings() const {
  SettingRows settings;
  for (const ConfigRow& row : rows_) settings.push_back(&row.setting);
  return settings;
}

std::string ConfigRows::variable_of(const ConfigRow& row) const {
  return variable_name(about_.prefix, row.setting.key);
}

}  // namespace assay
