#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "config/numbers.h"
#include "config/value.h"
#include "config/yaml_tree.h"
#include "watch/rules_reader.h"
#include "watch/watch_rules.h"

namespace assay {
namespace {

constexpr Nanos kLongestTime = std::chrono::hours(24 * 30);

/// Reads the settings of one rule; every mistake is a problem at its place.
class RuleReader {
 public:
  RuleReader(const RuleInfo& info, Rule& rule, Problems& problems) : info_(info), rule_(rule), problems_(problems) {}

  void read(const YamlNode& map) {
    for (const YamlEntry& entry : map.entries) {
      if (!read_entry_of_rule(entry)) report_unknown(entry);
    }
    check_order(map);
  }

 private:
  bool has_level() const { return !info_.level_key.empty(); }
  bool is_event() const { return is_of_events(info_.id); }

  std::vector<std::string> keys() const {
    std::vector<std::string> keys;
    if (has_level()) keys = {std::string(info_.level_key), "clear"};
    if (!is_event()) keys.emplace_back("for");
    for (const char* key : {"clear_for", "severity", "enabled"}) keys.emplace_back(key);
    return keys;
  }

  bool read_entry_of_rule(const YamlEntry& entry) {
    if (has_level() && entry.key == info_.level_key) {
      read_level(entry, rule_.level);
    } else if (has_level() && entry.key == "clear") {
      read_level(entry, rule_.clear);
    } else if (!is_event() && entry.key == "for") {
      read_time(entry, rule_.hold);
    } else if (entry.key == "clear_for") {
      read_time(entry, rule_.clear_for);
    } else if (entry.key == "severity") {
      read_severity(entry);
    } else if (entry.key == "enabled") {
      read_enabled(entry);
    } else {
      return false;
    }
    return true;
  }

  void report_unknown(const YamlEntry& entry) {
    const auto known = keys();
    const std::string meant = did_you_mean(entry.key, known);
    problems_.add(entry.key_place, fmt::format("unknown key '{}' of rule '{}'.{}", entry.key, info_.name,
                                               meant.empty() ? fmt::format(" It has {}.", join(known, ", ")) : meant));
  }

  void bad(const YamlEntry& entry, std::string_view rule) {
    problems_.add(entry.value.place, fmt::format("{} {}", shown(entry.key, entry.value), rule));
  }

  void read_level(const YamlEntry& entry, double& level) {
    const std::string& text = entry.value.text;
    if (info_.unit == "s") {
      const auto duration = entry.value.is_scalar() ? parse_duration(text) : Result<Nanos>(Error{});
      if (!duration) return bad(entry, "must be a time such as '24h' or '500ms'.");
      level = seconds_of(*duration);
      return;
    }
    const bool percent = info_.unit == "ratio" && text.ends_with('%');
    const auto number = entry.value.is_scalar()
                            ? parse_number(trim(std::string_view(text).substr(0, text.size() - (percent ? 1 : 0))))
                            : std::nullopt;
    if (info_.unit == "ratio") {
      const double ratio = number.value_or(-1) / (percent ? 100 : 1);
      if (ratio < 0 || ratio > 1) return bad(entry, "must be a share such as 0.9 or '90%'.");
      level = ratio;
    } else if (!number || *number < 0 || *number > 1000) {
      bad(entry, fmt::format("must be a number from 0 to 1000 (in {}).", info_.unit));
    } else {
      level = *number;
    }
  }

  void read_time(const YamlEntry& entry, Nanos& time) {
    const auto duration = entry.value.is_scalar() ? parse_duration(entry.value.text) : Result<Nanos>(Error{});
    if (!duration) return bad(entry, "must be a time such as '60s' or '15min'.");
    if (*duration > kLongestTime) return bad(entry, "must be at most 30d.");
    time = *duration;
  }

  void read_severity(const YamlEntry& entry) {
    const auto severity = entry.value.is_scalar() ? severity_from(entry.value.text) : std::nullopt;
    if (severity) {
      rule_.severity = *severity;
    } else {
      bad(entry, fmt::format("must be info, warning or critical.{}",
                             did_you_mean(entry.value.text, {"info", "warning", "critical"})));
    }
  }

  void read_enabled(const YamlEntry& entry) {
    const std::string& text = entry.value.text;
    if (!entry.value.is_scalar() || (text != "true" && text != "false")) return bad(entry, "must be true or false.");
    rule_.enabled = text == "true";
  }

  /// Without a gap in the right direction an alert would come and go with every ripple.
  void check_order(const YamlNode& map) {
    if (!has_level()) return;
    const bool above = info_.direction == RuleInfo::Direction::above;
    if (above ? rule_.clear <= rule_.level : rule_.clear >= rule_.level) return;
    const YamlNode* clear = map.find("clear");
    problems_.add(
        clear != nullptr ? clear->place : map.place,
        fmt::format("'clear' of rule '{0}' is {1}, but it must be {3} '{2}' ({4}). Give both.", info_.name,
                    level_text(rule_.clear), info_.level_key, above ? "at most" : "at least", level_text(rule_.level)));
  }

  std::string level_text(double level) const {
    return info_.unit == "s" ? format_duration(std::chrono::duration_cast<Nanos>(std::chrono::duration<double>(level)))
                             : number_text(level);
  }

  const RuleInfo& info_;
  Rule& rule_;
  Problems& problems_;
};

std::vector<std::string> rule_names() {
  std::vector<std::string> names;
  for (const RuleInfo& info : known_rules()) names.emplace_back(info.name);
  return names;
}

void read_document(const YamlNode& root, WatchRules& rules, Problems& problems) {
  if (root.kind == YamlNode::Kind::empty) return;
  if (!root.is_map()) {
    problems.add(root.place, "must be a mapping of rules, such as 'overheating: {above: 85}'.");
    return;
  }
  for (const YamlEntry& entry : root.entries) {
    const auto id = rule_from(entry.key);
    if (!id) {
      const std::string meant = did_you_mean(entry.key, rule_names());
      problems.add(entry.key_place,
                   fmt::format("unknown rule '{}'.{}", entry.key,
                               meant.empty() ? " The rules are listed in docs/reference/watch-rules.md." : meant));
    } else if (!entry.value.is_map()) {
      problems.add(entry.value.place,
                   fmt::format("{} must be a mapping, such as {{severity: info}}.", shown(entry.key, entry.value)));
    } else {
      RuleReader(info_of(*id), rules[*id], problems).read(entry.value);
    }
  }
}

}  // namespace

RulesReading read_rules(std::string_view text, std::string_view file) {
  Problems problems;
  WatchRules rules;
  if (const auto root = read_yaml(text, {.file = file, .what = "file of rules"}, problems))
    read_document(*root, rules, problems);
  RulesReading reading;
  if (problems.none()) reading.rules = rules;
  reading.diagnostics = problems.take();
  return reading;
}

Result<WatchRules> load_rules(const fs::path& path) {
  ASSAY_TRY(const std::string text, read_file(path, kLargestYamlBytes + 1));
  const RulesReading reading = read_rules(text, path.string());
  if (reading.rules) return *reading.rules;
  std::string message;
  for (const Diagnostic& diagnostic : reading.diagnostics) {
    if (!message.empty()) message += "\n";
    message += diagnostic.text();
  }
  return Error{.kind = ErrorKind::bad_spec, .message = std::move(message)};
}

}  // namespace assay
