#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config_table.h"
#include "config/place.h"

namespace assay {

/// Where a value came from.
struct Origin {
  enum class Source { standard, file, variable, flag };
  Source source = Source::standard;
  std::string name = {};  ///< of the file, the variable, the flag
  int line = 0;           ///< in the file

  /// `default`, `leader.yaml:3`, `ASSAY_SERVE_WORKERS`, `--workers`.
  std::string text() const;
};
std::string_view name_of(Origin::Source source);

/// A file that somebody has read.
struct ConfigText {
  std::string name;  ///< as the user gave it; paths in the file count from its folder
  std::string text;
};

/// A flag as it was given: the words behind it, one unless it takes a list.
struct GivenFlag {
  std::string key;  ///< of its row
  std::vector<std::string> words;
};

/// All that settings may come from. Later ones win over earlier ones, those not given are the table's defaults.
struct ConfigSources {
  std::optional<ConfigText> file;
  std::map<std::string, std::string> environment;  ///< variables that are not of this table are not looked at
  std::vector<GivenFlag> flags;
};

struct ConfigValue {
  const ConfigRow* row = nullptr;
  json::value value;  ///< canonical; null: not given, and there is no default
  Origin origin;
};

/// The value of a setting as a user would write it; credentials are left out. Without a value what that means.
std::string written_value(const ConfigValue& value);

struct ConfigReading {
  std::vector<ConfigValue> values;  ///< in the order of the table, without groups
  std::vector<Diagnostic> diagnostics;
};

/// Says what is wrong between settings, at the place where the first of them was given. Stays silent where one of them
/// is wrong by itself: one mistake, one message.
class CrossCheck {
 public:
  virtual ~CrossCheck() = default;
  virtual void refuse(std::initializer_list<std::string_view> keys, std::string message) = 0;
};

/// Reads values of any table. `check` gets the values that are right, and may refuse what does not fit together.
ConfigReading read_config_values(const ConfigRows& table, const ConfigSources& sources,
                                 const std::function<void(const std::vector<ConfigValue>&, CrossCheck&)>& check = {});

template <typename Config>
struct Configured {
  std::optional<Config> config;  ///< absent if there is any mistake
  ConfigReading reading;
};

/// Never throws; every mistake becomes a diagnostic.
template <typename Config>
Configured<Config> read_config(const ConfigTable<Config>& table, const ConfigSources& sources) {
  Config config;
  Configured<Config> made;
  made.reading = read_config_values(table, sources, [&](const std::vector<ConfigValue>& values, CrossCheck& cross) {
    for (const ConfigValue& value : values) {
      if (!value.value.is_null()) value.row->put(&config, value.value);
    }
    for (const auto& check : table.checks()) check(config, cross);
  });
  if (made.reading.diagnostics.empty()) made.config = std::move(config);
  return made;
}

}  // namespace assay
