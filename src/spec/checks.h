#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "spec/spec_reader.h"

namespace assay {

/// One source of settings: the file, or one override.
using Layer = std::vector<Change>;

/// What is known once every key has been read by itself.
struct Draft {
  SpecKind kind;
  Place kind_place;
  std::string_view name;      ///< for runs whose specification gives none
  std::vector<Layer> layers;  ///< the file's first; at least that one
  json::object given;         ///< all layers put together, with matrix, sweep and scale in canonical form
};

/// Puts layers and study keys together.
json::object merge_layers(SpecKind kind, std::span<const Layer> layers, const StudyKeys& study);

/// Checks what takes more than one key to see: what is missing, what excludes what, what belongs to another setting,
/// in the settings themselves and in every variant of them.
void check_draft(const Draft& draft, const SpecReader& reader, Problems& problems);

}  // namespace assay
