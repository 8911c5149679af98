// docs/reference/spec.md, made from the settings table.
#include <fmt/format.h>

#include "config/reference.h"
#include "spec/configurations.h"
#include "spec/spec.h"
#include "spec/spec_setting.h"
#include "spec/spec_value.h"

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

)";

constexpr std::string_view kNesting = R"(
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

std::string spec_type_cell(const SpecSetting& setting) {
  if (setting.own == SpecType::none) return type_cell(setting);
  return setting.own == SpecType::dataset ? choice_words(setting.rule.choices) : spec_type_words(setting);
}

std::string table_of(Kinds kinds, bool every_kind) {
  std::string table = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const SpecSetting& setting : settings_table()) {
    if (!setting.kinds.overlaps(kinds) || (setting.kinds == kEveryKind) != every_kind) continue;
    table += fmt::format("| `{}` | {} | {} | {} |\n", setting.key, spec_type_cell(setting), default_cell(setting),
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
  std::string page = fmt::format("{}{}{}", kIntroduction, value_types_section(), kNesting);
  page += fmt::format("\n## Settings of every kind\n\n{}", table_of(kEveryKind, true));
  for (const SpecKind kind : kAllKinds) {
    page += fmt::format("\n## kind: {}\n\nKind `{}` {}.\n\n{}", name_of(kind), name_of(kind), heading(kind),
                        table_of(kind, false));
  }
  static_assert(kMostRuns == 10000, "the reference names the number");
  return page.append(kStudies);
}

}  // namespace assay
