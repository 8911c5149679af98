#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/settings_reader.h"
#include "spec/spec_setting.h"

namespace assay {

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

/// Reads the settings of a specification: those of its kind, free maps, suites, and what makes several runs of it.
class SpecReader final : public SettingsReader {
 public:
  /// Without a kind (when that is itself wrong) only what is certain for every kind is reported.
  SpecReader(std::optional<SpecKind> kind, Problems& problems)
      : SettingsReader(problems, "docs/reference/spec.md"), kind_(kind) {}

  /// The top level of a specification. Matrix, sweep and scale go to `study`.
  std::vector<Change> read_top_level(const YamlNode& map);
  /// A single setting, from an override. Replaces matrix, sweep or scale as a whole.
  std::vector<Change> read_override(const YamlEntry& entry);

  const StudyKeys& study() const { return study_; }
  /// Where matrix, sweep or scale was given.
  std::optional<Place> study_place(std::string_view key) const;

 private:
  enum class Scope { top_level, variant };

  Kinds kinds() const { return kind_ ? Kinds(*kind_) : kEveryKind; }

  const Setting* find_row(std::string_view key) const override { return resolve_key(kinds(), key).setting; }
  std::vector<const Setting*> rows() const override;
  bool read_own(const std::string& key, const YamlEntry& entry, std::vector<Change>& out) override;
  SettingValue read_single(const Setting& setting, const std::string& key, const YamlNode& node) override;
  void refuse_shape(const Setting& setting, std::string_view key, std::string_view words,
                    const YamlNode& node) override;
  std::optional<std::string> meant_key(const std::string& key, const YamlEntry& entry) const override;
  void report_unknown(const std::string& key, const YamlEntry& entry) override;

  void read_limit_set(const SpecSetting& setting, const YamlEntry& entry, std::vector<Change>& out);
  void read_free_map(const SpecSetting& setting, const YamlEntry& entry, std::vector<Change>& out);
  void read_named(const SpecSetting& setting, const YamlEntry& entry, std::vector<Change>& out);
  SettingValue read_suite(const SpecSetting& setting, const YamlNode& node);

  void read_study_key(const SpecSetting& setting, const YamlEntry& entry);
  void read_matrix(const SpecSetting& setting, const YamlNode& list);
  std::optional<Variant> read_variant(const YamlNode& item, std::map<std::string, int>& names);
  void read_sweep(const SpecSetting& setting, const YamlNode& map, const std::string& prefix);
  void read_axis(const std::string& key, const YamlEntry& entry);
  void read_scale(const SpecSetting& setting, const YamlNode& list);
  std::optional<ScaleSize> read_size(const SpecSetting& setting, const YamlNode& item);
  /// Reads one setting that a variant changes.
  void read_changed(const std::string& key, const YamlEntry& entry, std::vector<Change>& out);

  std::optional<SpecKind> kind_;
  Scope scope_ = Scope::top_level;
  StudyKeys study_;
  std::map<std::string, Place, std::less<>> study_places_;
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
