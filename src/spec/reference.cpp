// docs/reference/spec.md, made from the settings table.
#include <fmt/format.h>

#include <cmath>

#include "spec/configurations.h"
#include "spec/numbers.h"
#include "spec/setting.h"
#include "spec/spec.h"
#include "spec/value.h"

namespace assay {
namespace {

constexpr std::string_view kIntroduction = R"(# Specifications

<!-- Made from src/spec/settings_table.cpp by spec_reference(); a test compares the two. -->

A specification is a YAML file that says what to measure. Only `kind` must be given, and `command` for kind `command`:

```yaml
kind: train
model: mlp
dataset: spiral
epochs: 50
sweep: {batch_size: [16, 32, 64]}
repeat: 5
```

`assay validate FILE` lists every mistake with its line; `assay run FILE` runs it; `assay schema` prints a JSON Schema
for editors.

## How values are written

| type | example | note |
|---|---|---|
| whole number, number | `50`, `2e-4` | no separators, no units |
| true or false | `true` | `yes`, `no`, `on` and `off` are not accepted |
| text | `no`, `"10"` | stays as written; quotes are needed only where YAML needs them |
| duration | `90s`, `1h30min` | `ns` `us` `ms` `s` `min` `h` `d`; a number without a unit is a mistake |
| size | `24GiB`, `20GB` | `B` `kB` `MB` `GB` `TB` count in thousands, `KiB` `MiB` `GiB` `TiB` in 1,024s |
| rate | `20/s`, `90/min` | also `/h`, `Hz`, `kHz` |
| price | `0.60 USD/GPUh` | per GPU hour (`GPUh`) or per node hour (`h`) |

A setting inside a group can be written nested, `lora: {rank: 8}`, or with a dot, `lora.rank: 8`. Unknown and duplicate
keys are mistakes. YAML's anchors, aliases and tags are not supported; a file has at most 1 MiB.
)";

constexpr std::string_view kStudies = R"(
## Studies: several runs from one file

| key | runs |
|---|---|
| `matrix` | the settings as they stand, called `baseline`, and then each variant with its changes |
| `sweep` | every combination of the listed values, called for example `batch_size=16, learning_rate=0.001` |
| `scale` | one run per size, called for example `ranks=8, nodes=2` |
| `each_node` | one run on each of `nodes` |
| `repeat` | everything that often |

They multiply: two variants and a baseline × three values × two sizes are 18 runs. A study has at most 10,000 runs.
With `repeat`, every configuration runs once per round, and each round has an order of its own that depends on `seed`
alone. Without it the order is that of the file. Each repeat has a seed of its own, derived from `seed`; the first has
`seed` itself, and all configurations share the seed of a repeat. `seeds: same` gives all of them `seed`.

```yaml
matrix:
  - {name: shorter, seq_length: 512}
  - {name: rank 8, lora.rank: 8}
```

A variant changes only what it lists. Three groups name a thing, `model`, `dataset` and `target`: a name or mapping given
for one of them replaces it as a whole; `model.layers: 4` changes that one setting. Settings that exclude each other
replace each other (`steps: 10` in a variant ends an `epochs: 50` above). What belongs to another setting, such as `lora`
without `task: lora`, is left out of the runs where it has no meaning.

Every run is recorded with its complete settings, defaults filled in, and with `node_count`, the number of its nodes.

## Parameters of a command

`{name}` in `command` and in the values of `env` is replaced by the parameter of that name in `params`, exactly as it is
written there. `{seed}`, `{ranks}` and `{nodes}` (the number of nodes) are always there. `${name}` is left to the shell,
and `{{name}}` stands for the text `{name}`.

```yaml
kind: command
command: python3 train.py --lr {lr}
params: {lr: 1e-3}
sweep: {params.lr: [1e-2, 1e-3, 1e-4]}
```

## Settings from outside the file

`--set lora.rank=8` on the command line wins over the environment variable `ASSAY_SET_LORA_RANK=8`, which wins over the
file. In the variable's name dots become underscores. Lists and mappings are written as in YAML:
`--set 'scale=[1, 2, 4]'`.

## What you expect

`expect` takes the names of docs/reference/metrics.md, those that your workload reports, and three short ones:
`gpu_memory` (`gpu_memory_peak_bytes`), `host_memory` (`host_rss_bytes`) and `step_time` (`step_seconds`). Metrics in
bytes or seconds need a unit.
)";

/// The limits worth knowing; those that are only there to catch slips are left out.
std::string range_words(const Setting& setting) {
  constexpr double kGenerousCount = 1e6;
  constexpr double kGenerousSpan = 30 * 86400;
  const bool is_span = setting.type == SettingType::duration;
  const bool counts = is_span || setting.type == SettingType::whole || setting.type == SettingType::wholes ||
                      setting.type == SettingType::number || setting.type == SettingType::rate ||
                      setting.type == SettingType::bytes;
  if (!setting.rule.range || !counts) return "";
  const Range& range = *setting.rule.range;
  std::string words =
      fmt::format(", {} {}", range.above_least ? "more than" : "at least", limit_text(range.least, setting.type));
  if (range.most < (is_span ? kGenerousSpan : kGenerousCount)) {
    words += fmt::format(", {} {}", range.below_most ? "less than" : "at most", limit_text(range.most, setting.type));
  }
  return words;
}

std::string type_cell(const Setting& setting) {
  if (setting.type == SettingType::choice || setting.type == SettingType::choices ||
      setting.type == SettingType::dataset) {
    std::vector<std::string> words;
    for (const std::string_view choice : setting.rule.choices) {
      words.push_back(fmt::format("`{}{}`", choice, choice.ends_with(':') ? "PATH" : ""));
    }
    return fmt::format("{}{}", setting.type == SettingType::choices ? "list of " : "", fmt::join(words, " "));
  }
  if (setting.type == SettingType::group && !setting.rule.shorthand.empty()) return "name or mapping";
  return type_words(setting) + range_words(setting);
}

std::string default_cell(const Setting& setting) {
  if (setting.rule.required) return "*must be given*";
  if (!setting.default_value.empty()) return fmt::format("`{}`", setting.default_value);
  return setting.type == SettingType::group ? "" : std::string(setting.rule.otherwise);
}

std::string meaning_cell(const Setting& setting) {
  std::string meaning(setting.description);
  if (setting.rule.needs) {
    std::vector<std::string> values;
    for (const std::string_view value : setting.rule.needs->values) {
      values.push_back(fmt::format("`{}{}`", value, value.ends_with(':') ? "PATH" : ""));
    }
    meaning += fmt::format(" With `{}` {}.", setting.rule.needs->key, fmt::join(values, ", "));
  }
  return fmt::format("{} Example: `{}`", meaning, setting.example);
}

std::string table_of(Kinds kinds, bool every_kind) {
  std::string table = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const Setting& setting : settings_table()) {
    if (!setting.kinds.overlaps(kinds) || (setting.kinds == kEveryKind) != every_kind) continue;
    table += fmt::format("| `{}` | {} | {} | {} |\n", setting.key, type_cell(setting), default_cell(setting),
                         meaning_cell(setting));
  }
  return table;
}

std::string_view heading(SpecKind kind) {
  switch (kind) {
    case SpecKind::train: return "trains a model";
    case SpecKind::serve: return "puts an inference server under load";
    case SpecKind::node: return "checks nodes";
    case SpecKind::command: return "runs any program";
    case SpecKind::null: return "measures assay itself, with a workload that does nothing";
  }
  return "";
}

}  // namespace

std::string spec_reference() {
  std::string page(kIntroduction);
  page += fmt::format("\n## Settings of every kind\n\n{}", table_of(kEveryKind, true));
  for (const SpecKind kind : kAllKinds) {
    page += fmt::format("\n## kind: {}\n\nKind `{}` {}.\n\n{}", name_of(kind), name_of(kind), heading(kind),
                        table_of(kind, false));
  }
  static_assert(kMostRuns == 10000, "the reference names the number");
  return page.append(kStudies);
}

}  // namespace assay
