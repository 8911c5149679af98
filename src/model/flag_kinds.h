#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay {

/// A kind of flag that assay itself sets; the table behind docs/reference/verdicts.md. A workload may send others,
/// which count as `flagged`.
struct FlagKind {
  std::string_view name;
  /// What a run becomes that has nothing worse. In an import, whose figures others have judged already, only
  /// `lost_samples` and `invalid_result` make a run invalid.
  enum class Effect { stays_valid, flagged, invalid } effect;
  enum class Of { run, load, imported } of;
  std::string_view when;
};

/// Every one, in the order of the page. Called by tests.
std::span<const FlagKind> known_flag_kinds();

/// Null for a kind of the workload's own.
const FlagKind* find_flag_kind(std::string_view name);

/// docs/reference/verdicts.md, made from the same table.
std::string verdict_reference();

}  // namespace assay
