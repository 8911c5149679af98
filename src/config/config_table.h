#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "base/units.h"
#include "config/schema.h"
#include "config/setting.h"

namespace assay {

/// What a configuration is for.
struct ConfigAbout {
  std::string_view kind;                               ///< "leader"
  std::string_view command;                            ///< "serve": whose flags the settings are
  std::string_view prefix;                             ///< of its environment variables
  std::string_view page;                               ///< where all keys are listed
  std::vector<std::string_view> other_variables = {};  ///< that begin with the prefix and are no settings
};

/// What is wrong with a text, in whole sentences, or nothing.
using TextCheck = std::function<std::optional<std::string>(const std::string&)>;

/// What a row of a configuration has beside its setting.
struct RowExtras {
  std::string_view flag = {};        ///< without dashes, where it is not the key with dashes
  std::string_view variable = {};    ///< one that is older than the table, beside that made from the key
  std::string_view value_name = {};  ///< in the help of its flag: `FILE`; made from the type unless given
  bool common_flag = false;          ///< every command has this flag
  TextCheck check = {};              ///< of each text in the value
};

/// One row: the setting, its names on the command line and in the environment, and the member that it becomes.
struct ConfigRow {
  Setting setting;
  RowExtras extras;
  std::function<void(void*, const json::value&)> put;  ///< empty for groups

  bool is_group() const { return setting.type == SettingType::group; }
  /// `--keep-raw`.
  std::string flag() const;
  std::string value_name() const;
};

/// The rows of a configuration, whatever struct they fill.
class ConfigRows {
 public:
  explicit ConfigRows(ConfigAbout about) : about_(std::move(about)) {}

  const ConfigAbout& about() const { return about_; }
  const std::vector<ConfigRow>& rows() const { return rows_; }
  const ConfigRow* find(std::string_view key) const;
  SettingRows settings() const;
  /// `ASSAY_SERVE_KEEP_RAW`.
  std::string variable_of(const ConfigRow& row) const;

 protected:
  ConfigAbout about_;
  std::vector<ConfigRow> rows_;
};

// From the canonical value to a member, by its type.
inline void assign_member(std::string& member, const json::value& value) { member = value.as_string(); }
inline void assign_member(fs::path& member, const json::value& value) {
  member = std::string(std::string_view(value.as_string()));
}
inline void assign_member(bool& member, const json::value& value) { member = value.as_bool(); }
inline void assign_member(double& member, const json::value& value) { member = value.to_number<double>(); }
inline void assign_member(std::size_t& member, const json::value& value) {
  member = static_cast<std::size_t>(value.as_int64());
}
inline void assign_member(Bytes& member, const json::value& value) { member.count = value.as_int64(); }
inline void assign_member(Nanos& member, const json::value& value) {
  member = Nanos(std::llround(value.to_number<double>() * 1e9));
}
template <typename T>
void assign_member(std::optional<T>& member, const json::value& value) {
  assign_member(member.emplace(), value);
}
template <typename T>
void assign_member(std::vector<T>& member, const json::value& value) {
  member.clear();
  for (const json::value& item : value.as_array()) assign_member(member.emplace_back(), item);
}

/// Says what is wrong between settings; see ConfigTable::check.
class CrossCheck;

/// The settings of one program, each bound to a member of `Config`: one row is all that a setting takes. The members'
/// first values do not matter where the row has a default; where it has none, they say that nothing was given.
template <typename Config>
class ConfigTable : public ConfigRows {
 public:
  using ConfigRows::ConfigRows;
  using Check = std::function<void(const Config&, CrossCheck&)>;

  /// Settings below it have its key and a dot before theirs.
  void group(Setting setting) {
    setting.type = SettingType::group;
    rows_.push_back({std::move(setting), {}, {}});
  }

  template <typename T>
  void add(Setting setting, T Config::* member, RowExtras extras = {}) {
    rows_.push_back({std::move(setting), std::move(extras), [member](void* config, const json::value& value) {
                       assign_member(static_cast<Config*>(config)->*member, value);
                     }});
  }

  /// A member of a type of its own.
  void add(Setting setting, std::function<void(Config&, const json::value&)> put, RowExtras extras = {}) {
    rows_.push_back(
        {std::move(setting), std::move(extras), [put = std::move(put)](void* config, const json::value& value) {
           put(*static_cast<Config*>(config), value);
         }});
  }

  /// What takes several settings to see.
  void check(Check check) { checks_.push_back(std::move(check)); }
  const std::vector<Check>& checks() const { return checks_; }

 private:
  std::vector<Check> checks_;
};

}  // namespace assay
