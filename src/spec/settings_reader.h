#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "spec/setting.h"
#include "spec/yaml_tree.h"

namespace assay {

/// One setting as given by a file, an override or a variant. The key of a group that names a thing (`model`) replaces
/// the group; every other key is a single setting.
struct Change {
  std::string key;
  json::value value;
  std::string label;  ///< `batch_size=16`
  Place key_place;
  Place place;
  std::vector<Change> parts = {};  ///< of a whole group: the settings below it
};

/// One choice of changes: a row of a matrix, a point on an axis of a sweep.
struct Variant {
  std::string name;
  Place place;
  std::vector<Change> changes;
};

struct SweepAxis {
  std::string key;
  Place place;
  std::vector<Variant> points;  ///< at least one
};

struct ScaleSize {
  std::int64_t ranks = 1;
  std::int64_t nodes = 1;
  Place place;
};

/// The keys that make several runs of one specification.
struct StudyKeys {
  std::vector<Variant> variants;
  std::vector<SweepAxis> axes;
  std::vector<ScaleSize> sizes;
};

/// Checks mappings of settings against the table, key by key, and remembers which keys went wrong, so that later checks
/// stay silent about them: one message per mistake.
class SettingsReader {
 public:
  /// Without a kind (when that is itself wrong) only what is certain for every kind is reported.
  SettingsReader(std::optional<SpecKind> kind, Problems& problems) : kind_(kind), problems_(problems) {}

  /// The top level of a specification. Matrix, sweep and scale go to `study`.
  std::vector<Change> read_top_level(const YamlNode& map);
  /// A single setting, from an override. Replaces matrix, sweep or scale as a whole.
  std::vector<Change> read_override(const YamlEntry& entry);

  const StudyKeys& study() const { return study_; }
  /// Where matrix, sweep or scale was given.
  std::optional<Place> study_place(std::string_view key) const;
  /// Whether a problem with this key, its group or a setting below it was reported.
  bool went_wrong(std::string_view key) const;
  /// Whether some unknown key was probably meant to be this one.
  bool was_suggested(std::string_view key) const { return suggested_.contains(std::string(key)); }

 private:
  enum class Scope { top_level, variant };

  Kinds kinds() const { return kind_ ? Kinds(*kind_) : kEveryKind; }

  void read_map(const YamlNode& map, const std::string& prefix, Scope scope, std::vector<Change>& out);
  void read_entry_at(const std::string& key, const YamlEntry& entry, Scope scope, std::vector<Change>& out);
  void read_group(const Setting& group, const std::string& key, const YamlEntry& entry, Scope scope,
                  std::vector<Change>& out);
  void read_free_map(const Setting& setting, const YamlEntry& entry, std::vector<Change>& out);
  void read_named(const Setting& setting, const YamlEntry& entry, std::vector<Change>& out);
  std::optional<json::value> read_suite(const Setting& setting, const YamlNode& node);

  void read_study_key(const Setting& setting, const YamlEntry& entry);
  void read_matrix(const Setting& setting, const YamlNode& list);
  std::optional<Variant> read_variant(const YamlNode& item, std::map<std::string, int>& names);
  void read_sweep(const Setting& setting, const YamlNode& map, const std::string& prefix);
  void read_axis(const std::string& key, const YamlEntry& entry);
  void read_scale(const Setting& setting, const YamlNode& list);
  std::optional<ScaleSize> read_size(const Setting& setting, const YamlNode& item);

  void add(std::vector<Change>& out, Change change);
  void report_unknown(const std::string& key, const YamlEntry& entry);
  std::optional<std::string> meant_key(const std::string& key, const YamlEntry& entry) const;
  void problem(const Place& place, std::string_view key, std::string message);

  std::optional<SpecKind> kind_;
  Problems& problems_;
  StudyKeys study_;
  std::map<std::string, Place, std::less<>> study_places_;
  std::set<std::string, std::less<>> wrong_;
  std::set<std::string> suggested_;
  std::set<std::string> parameters_;  ///< names under `params`, to suggest them
};

/// Reads the setting `kind` of a mapping; a likely misspelling of the key counts. Nothing and one problem if it is
/// wrong; nothing and `missing` set if there is none.
struct KindReading {
  std::optional<SpecKind> kind;
  bool missing = false;
  Place place;
};
KindReading read_kind(const YamlNode& map, Problems& problems);

}  // namespace assay
