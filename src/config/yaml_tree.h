#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/place.h"

namespace assay {

struct YamlEntry;

/// A YAML document as it was written: scalars keep their text, so that the type comes from the setting and not from
/// YAML's guess (`name: no` is the text "no", `kind: null` the text "null").
struct YamlNode {
  enum class Kind { empty, scalar, list, map };
  Kind kind = Kind::empty;
  std::string text;     ///< of a scalar
  bool quoted = false;  ///< a scalar in quotes or a block scalar
  Place place;
  std::vector<YamlNode> items;     ///< of a list
  std::vector<YamlEntry> entries;  ///< of a map, in the order of the file, each key once

  bool is_map() const { return kind == Kind::map; }
  bool is_list() const { return kind == Kind::list; }
  bool is_scalar() const { return kind == Kind::scalar; }
  const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  std::string key;
  Place key_place;
  YamlNode value;
};

constexpr std::size_t kLargestYamlBytes = std::size_t{1} << 20;
constexpr std::size_t kDeepestNesting = 32;

/// What a text is and where it came from, for messages.
struct YamlSource {
  std::string_view file;
  std::string_view what;  ///< "specification", "configuration"
};

/// Reads one YAML document. Refuses what no settings need and what makes YAML dangerous: aliases, anchors, tags,
/// several documents, control characters, invalid UTF-8, more than 1 MiB, more than 32 levels. A byte order mark and
/// CRLF are fine. Duplicate keys are reported and the first one is kept. Nothing comes back if the text cannot be read
/// as YAML at all; then exactly one problem was added.
std::optional<YamlNode> read_yaml(std::string_view text, const YamlSource& source, Problems& problems);

/// Reads the value of an override such as `--set key=VALUE`: lists, maps and quoted text as YAML, all else verbatim.
/// Every place is `place`, which has no line.
std::optional<YamlNode> read_yaml_value(std::string_view text, const Place& place, Problems& problems);

}  // namespace assay
