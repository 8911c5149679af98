#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "config/diagnostic.h"
#include "spec/spec_kind.h"

namespace assay {

struct PlannedRun;

/// A validated benchmark specification. `settings` holds every setting of its kind, defaults filled in, in canonical
/// form: durations in seconds, sizes in bytes, rates per second, prices as {amount, currency, per}; nested keys
/// as nested objects. `matrix`, `sweep`, `scale`, `repeat` and `each_node` are kept and expanded by `expand`.
struct Spec {
  SpecKind kind = SpecKind::command;
  json::object settings;
  json::object given;  ///< the part of `settings` that was given and not filled in; empty: all of it
  std::string source;  ///< the text it was read from
  std::string file;    ///< its name in messages
};

/// Settings from outside the file. They win over it: first the environment, then `--set`.
struct SpecOverrides {
  std::vector<std::string> assignments;            ///< `lora.rank=8`, from --set
  std::map<std::string, std::string> environment;  ///< ASSAY_SET_LORA_RANK=8; other variables are not looked at
};

struct SpecReading {
  std::optional<Spec> spec;             ///< absent if there is any error
  std::vector<Diagnostic> diagnostics;  ///< in the order of the file; exactly one per mistake
};

/// Reads a specification from text. Never throws; every mistake becomes a diagnostic.
SpecReading read_spec(std::string_view text, std::string file, const SpecOverrides& overrides = {});

/// Reads a file; `-` is standard input. A file that cannot be read is a Result error (`missing_file`, `denied`).
Result<SpecReading> read_spec_file(const std::filesystem::path& path, const SpecOverrides& overrides = {});

/// Every run that the specification asks for, in the order to do them: matrix × sweep × scale × nodes, each `repeat`
/// times, repeats interleaved in an order that depends on `seed` alone. Each repeat has a seed of its own, unless the
/// specification says `seeds: same`. A plain specification gives one run.
Result<std::vector<PlannedRun>> expand(const Spec& spec);

/// What its runs are called unless somebody says otherwise: its `name`, else that of its file, else its kind.
std::string default_name(const Spec& spec);
/// Its `tags`.
std::vector<std::string> tags_of(const Spec& spec);

/// The value at a dotted key (`lora.rank`) of canonical settings, or null.
const json::value* find_setting(const json::object& settings, std::string_view key);

/// JSON Schema (2020-12) of the file format, for editors.
json::object spec_schema();
/// docs/reference/spec.md, made from the same table.
std::string spec_reference();

}  // namespace assay
