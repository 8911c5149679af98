#include "service/service_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/config_pages.h"
#include "config/reference.h"
#include "config/yaml_tree.h"
#include "service/agent_config.h"
#include "service/leader_config.h"

namespace assay {
namespace {

constexpr std::string_view kIntroduction = R"(# Configuration of leader and agent

<!-- Made from src/service/leader_config.cpp and agent_config.cpp by configuration_reference(); a test compares the two. -->

`assay serve --config leader.yaml` and `assay agent --config agent.yaml` read their settings from a file. Everything is
optional; an empty file is fine.

```yaml
# leader.yaml
listen: [":8470", "unix:/run/assay/leader.sock"]
data: /var/lib/assay
rules: rules.yaml                 # beside this file
webhooks: [https://chat.example.org/hooks/gpu]
keep: {raw: 30d, minutes: 180d}
```

A flag wins over an environment variable, which wins over the file, which wins over the default. An environment variable
that is empty counts as not given; one that begins like those below and belongs to no setting is a mistake.

| command | what it does |
|---|---|
| `assay config check FILE` | lists every mistake of a file with its line, and what to write instead |
| `assay config show leader --config FILE` | the settings that would hold, and where each comes from: default, file and line, variable, flag |
| `assay config example agent` | a file with every setting commented out, as in `packaging/` |
| `assay config schema leader` | a JSON Schema for editors |

Secrets do not belong into these files, only the paths of files that hold them. A webhook's URL often is one by itself:
then the file needs mode 0600, and neither messages nor `config show` repeat more than its host.

## How values are written

)";

constexpr std::string_view kAfterTypes = R"(
A list of one can be written as its item: `listen: ":8470"`. A setting inside a group can be written nested, `keep: {raw:
30d}`, or with a dot, `keep.raw: 30d`. A relative path counts from the folder of the file, on the command line and in a
variable from the working folder. Unknown and duplicate keys are mistakes. A variable holds a list as in YAML:
`ASSAY_SERVE_LISTEN='[":8470", "unix:/run/assay/leader.sock"]'`; `allow` also takes `doctor,run`.
)";

std::size_t known_keys(const YamlNode& root, const ConfigRows& rows) {
  return static_cast<std::size_t>(std::count_if(root.entries.begin(), root.entries.end(), [&](const YamlEntry& entry) {
    return rows.find(entry.key) != nullptr;
  }));
}

std::size_t likely_keys(const YamlNode& root, const ConfigRows& rows) {
  std::vector<std::string> keys;
  for (const Setting* setting : rows.settings()) keys.emplace_back(setting->key);
  return static_cast<std::size_t>(std::count_if(root.entries.begin(), root.entries.end(), [&](const YamlEntry& entry) {
    return entry.key.size() <= 64 && nearest(entry.key, keys).has_value();
  }));
}

template <typename Count>
std::optional<Service> more_of(Count count) {
  const auto leader = count(Service::leader);
  const auto agent = count(Service::agent);
  if (leader == agent) return std::nullopt;
  return leader > agent ? Service::leader : Service::agent;
}

}  // namespace

std::optional<Service> service_from(std::string_view name) {
  for (const Service service : kServices) {
    if (rows_of(service).about().kind == name) return service;
  }
  return std::nullopt;
}

const ConfigRows& rows_of(Service service) {
  if (service == Service::leader) return leader_table();
  return agent_table();
}

ConfigReading read_service_config(Service service, const ConfigSources& sources) {
  return service == Service::leader ? read_config(leader_table(), sources).reading
                                    : read_config(agent_table(), sources).reading;
}

FileKind kind_of_file(const ConfigText& file) {
  Problems ignored;
  const auto root = read_yaml(file.text, {.file = file.name, .what = "configuration"}, ignored);
  FileKind kind;
  if (root && root->is_map()) {
    kind.specification = root->find("kind") != nullptr;
    kind.service = more_of([&](Service service) { return known_keys(*root, rows_of(service)); });
    if (!kind.service) kind.service = more_of([&](Service service) { return likely_keys(*root, rows_of(service)); });
  }
  if (kind.service) return kind;
  const std::string name = lower_case(fs::path(file.name).filename().string());
  kind.service = more_of([&](Service service) {
    const ConfigAbout& about = rows_of(service).about();
    return name.find(about.kind) != std::string::npos ? 1 : 0;
  });
  return kind;
}

std::string configuration_reference() {
  std::string page = fmt::format("{}{}{}", kIntroduction, value_types_section(), kAfterTypes);
  for (const Service service : kServices) {
    const ConfigRows& rows = rows_of(service);
    page += fmt::format("\n## {}: `assay {}`\n\n{}", service == Service::leader ? "Leader" : "Agent",
                        rows.about().command, config_reference(rows));
  }
  return page;
}

}  // namespace assay
