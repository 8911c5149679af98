#include "spec/spec_kind.h"

#include <algorithm>
#include <iterator>

namespace assay {

std::string_view name_of(SpecKind kind) {
  switch (kind) {
    case SpecKind::train: return "train";
    case SpecKind::serve: return "serve";
    case SpecKind::node: return "node";
    case SpecKind::command: return "command";
    case SpecKind::null: return "null";
  }
  return "";
}

std::optional<SpecKind> spec_kind_from(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kAllKinds), std::end(kAllKinds), [&](SpecKind kind) { return name_of(kind) == name; });
  return found == std::end(kAllKinds) ? std::nullopt : std::optional(*found);
}

}  // namespace assay
