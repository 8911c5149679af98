#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "config/setting.h"
#include "config/value.h"
#include "config/yaml_tree.h"

namespace assay {

/// One setting as given by a file, a variable, a flag or a variant. The key of a group that names a thing (`model`)
/// replaces the group; every other key is a single setting.
struct Change {
  std::string key;
  json::value value;
  std::string label;  ///< `batch_size=16`
  Place key_place;
  Place place;
  std::vector<Change> parts = {};  ///< of a whole group: the settings below it
};

/// Checks mappings of settings against a table, key by key, and remembers which keys went wrong, so that later checks
/// stay silent about them: one message per mistake. A table that has more than rows derives from it.
class SettingsReader {
 public:
  virtual ~SettingsReader() = default;

  /// Whether a problem with this key, its group or a setting below it was reported.
  bool went_wrong(std::string_view key) const;
  /// Whether some unknown key was probably meant to be this one.
  bool was_suggested(std::string_view key) const { return suggested_.contains(std::string(key)); }

 protected:
  /// `page` is where all keys are listed.
  SettingsReader(Problems& problems, std::string_view page) : problems_(problems), page_(page) {}
  SettingsReader(const SettingsReader&) = delete;
  SettingsReader& operator=(const SettingsReader&) = delete;

  /// The row of a dotted key, or null.
  virtual const Setting* find_row(std::string_view key) const = 0;
  /// All rows that a user may mean.
  virtual std::vector<const Setting*> rows() const = 0;
  /// What the table does in its own way; true if there is nothing left to do with this entry.
  virtual bool read_own(const std::string& key, const YamlEntry& entry, std::vector<Change>& out);
  virtual SettingValue read_single(const Setting& setting, const std::string& key, const YamlNode& node);
  virtual void refuse_shape(const Setting& setting, std::string_view key, std::string_view words, const YamlNode& node);
  /// The key that an unknown one was probably meant to be.
  virtual std::optional<std::string> meant_key(const std::string& key, const YamlEntry& entry) const;

  void read_map(const YamlNode& map, const std::string& prefix, std::vector<Change>& out);
  void read_entry_at(const std::string& key, const YamlEntry& entry, std::vector<Change>& out);
  /// Adds a change unless it clashes with one that is there.
  void add(std::vector<Change>& out, Change change);
  virtual void report_unknown(const std::string& key, const YamlEntry& entry);
  void problem(const Place& place, std::string_view key, std::string message);
  void note_wrong(std::string_view key) { wrong_.emplace(key); }
  Problems& problems() const { return problems_; }

 private:
  void read_group(const Setting& group, const std::string& key, const YamlEntry& entry, std::vector<Change>& out);

  Problems& problems_;
  std::string_view page_;
  std::set<std::string, std::less<>> wrong_;
  std::set<std::string> suggested_;
};

}  // namespace assay
