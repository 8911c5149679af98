#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace assay {

class RunStore;
struct Condition;

// How people name runs and studies on the command line:
//
//   an id · a unique prefix of one, of at least two characters · a name (the newest of that name) · @last · @last-1
//   (the one before) · tag:T (every run with that tag; runs only) · study:S (every run of that study; runs only)
//
// An exact id goes before a name, a name before a prefix. What is not there is an error of kind `not_found` that
// suggests the nearest name; a prefix of several is an error of kind `usage` that lists them.

/// The ids of all runs that `reference` stands for, at least one, oldest first.
Result<std::vector<std::string>> resolve_runs(RunStore& store, std::string_view reference);

/// The one run that it stands for; several are an error of kind `usage`.
Result<std::string> resolve_run(RunStore& store, std::string_view reference);

/// Conditions on a study may name it: `study=lr-sweep` becomes its id or, since several may bear a name, a condition on
/// the name that its runs have from it. A name that no study has is an error of kind `not_found` with a suggestion.
Result<void> resolve_studies(RunStore& store, std::vector<Condition>& conditions);

Result<std::string> resolve_study(RunStore& store, std::string_view reference);

}  // namespace assay
