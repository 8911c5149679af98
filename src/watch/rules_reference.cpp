#include <fmt/format.h>

#include "base/units.h"
#include "watch/watch_rules.h"
#include "watch/xid_catalogue.h"

namespace assay {
namespace {

std::string time_text(Nanos time) { return time == Nanos(0) ? "at once" : format_duration(time); }

std::string level_text(const RuleInfo& info, double level) {
  return info.level_key.empty() ? "–" : format_value(level, info.unit);
}

std::string standard_row(const RuleInfo& info) {
  const Rule& rule = info.standard;
  const std::string level =
      info.level_key.empty() ? "–" : fmt::format("{} {}", info.level_key, level_text(info, rule.level));
  return fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", info.name, level,
                     is_of_events(info.id) ? "an event" : time_text(rule.hold), level_text(info, rule.clear),
                     time_text(rule.clear_for), name_of(rule.severity));
}

constexpr std::string_view kHead = R"(# Rules of the watch

What the leader watches for, and when it raises and resolves an alert. This page is made from the table of rules in
src/watch/watch_rules.cpp.

A value must be beyond its level for the whole of *for* before an alert is raised, and on the good side of *clear* for
the whole of *clear for* before it is resolved; after that the rule is silent about the same thing for another *clear
for*. Values that are not known neither raise nor resolve anything. A node that is silent raises `node_lost` alone: its
other alerts stay as they are until it is back. What has not been reported for an hour while its node was there (a GPU,
a file system) is resolved. Alerts of events are resolved when the opposite is reported (`gpu_found`,
`source_recovered`), or when nothing of the kind came for *clear for*.

An alert says its value, its limit, the worst value and when it began; while it is open its words are renewed every
minute, which wakes nobody. A resolved one says how things are now, and how bad they were for how long.

| rule | level | for | clear | clear for | severity |
|---|---|---|---|---|---|
)";

constexpr std::string_view kFile = R"(
## The file of rules
YAML; what it does not mention keeps its standard. Shares are written as 0.9 or `90%`, times with their unit.
```yaml
overheating: {above: 85, clear: 80, for: 2min, severity: critical}
disk_filling: {within: 12h, clear: 24h}
power_capping: {enabled: false}
```
| key | of | meaning |
|---|---|---|
| `above`, `below`, `within` | rules with a level | beyond it is bad; each rule has the one of the table above |
| `clear` | rules with a level | on the good side of it is good again |
| `for` | all but those of events | how long it must be bad |
| `clear_for` | all | how long it must be good |
| `severity` | all | `info`, `warning`, `critical` |
| `enabled` | all | `true`, `false` |

## What each rule looks at, and what to do
)";

constexpr std::string_view kXidHead = R"(
## XIDs
What the driver's fault numbers mean and ask for; more are in NVIDIA's XID catalogue.

| XID | meaning | what to do | alert |
|---|---|---|---|
)";

constexpr int kXidOfLostGpu = 79;

std::string xid_row(const XidEntry& entry) {
  const std::string_view alert = entry.of_program ? "none" : entry.number == kXidOfLostGpu ? "`gpu_lost`" : "`xid`";
  return fmt::format("| {} | {} | {} | {} |\n", entry.number, entry.meaning, entry.remedy, alert);
}

}  // namespace

std::string rules_reference() {
  std::string page(kHead);
  for (const RuleInfo& info : known_rules()) page += standard_row(info);
  page += kFile;
  for (const RuleInfo& info : known_rules()) {
    page += fmt::format("- `{}`: {} *{}*\n", info.name, info.watches, info.remedy);
  }
  page += kXidHead;
  for (const XidEntry& entry : known_xids()) page += xid_row(entry);
  return page;
}

}  // namespace assay
