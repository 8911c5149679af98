#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <regex>

#include "base/units.h"
#include "config/numbers.h"
#include "model/metric.h"
#include "spec/spec_value.h"

namespace assay {
namespace {

// Longer patterns are a mistake, and std::regex compiles by recursion.
constexpr std::size_t kLongestPattern = 500;

/// Names that people use for a metric of another name.
struct FriendlyName {
  std::string_view name;
  std::string_view metric;
};
constexpr std::array kFriendlyNames = {FriendlyName{"gpu_memory", "gpu_memory_peak_bytes"},
                                       FriendlyName{"host_memory", "host_rss_bytes"},
                                       FriendlyName{"step_time", "step_seconds"}};

bool is_name(std::string_view name, std::string_view also_allowed) {
  const auto fits = [&](unsigned char c) {
    return std::isalnum(c) || c == '_' || also_allowed.find(static_cast<char>(c)) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= 200 && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(), fits);
}

/// The value as JSON if writing it back gives the same text, else the text: `{version}` must stay `1.10`.
json::value as_written(const YamlNode& node) {
  if (node.quoted) return json::value(node.text);
  if (node.text == "true" || node.text == "false") return node.text == "true";
  std::int64_t whole = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [last, error] = std::from_chars(node.text.data(), end, whole);
  if (error == std::errc() && last == end && fmt::format("{}", whole) == node.text) return whole;
  if (const auto number = parse_number(node.text); number && number_text(*number) == node.text) return *number;
  return json::value(node.text);
}

class EntryReader {
 public:
  EntryReader(const SpecSetting& map, const YamlEntry& entry, Problems& problems)
      : map_(map), entry_(entry), key_(fmt::format("{}.{}", map.key, entry.key)), problems_(problems) {}

  SettingValue parameter() {
    if (!named("", "a parameter: letters, digits and '_'") || !scalar("text, a number, true or false"))
      return std::nullopt;
    return as_written(entry_.value);
  }

  SettingValue variable() {
    if (!named("", "an environment variable: letters, digits and '_'") || !scalar("text")) return std::nullopt;
    return json::value(entry_.value.text);
  }

  SettingValue pattern() {
    if (!named(".-/", "a metric: letters, digits, '_' and '.'") || !scalar("a regular expression")) return std::nullopt;
    const std::string& pattern = entry_.value.text;
    if (pattern.size() > kLongestPattern) return refuse(fmt::format("is longer than {} characters.", kLongestPattern));
    try {
      const std::regex compiled(pattern, std::regex::ECMAScript);
      if (compiled.mark_count() != 1) {
        return refuse(
            fmt::format("has {} groups; it needs exactly one pair of parentheses around the value, as in "
                        "'loss=([0-9.]+)'. Write '(?:…)' for others.",
                        compiled.mark_count()));
      }
    } catch (const std::regex_error&) {
      return refuse("is not a valid regular expression (ECMAScript).");
    }
    return json::value(pattern);
  }

  SettingValue expectation(std::string_view metric) {
    const MetricInfo* known = find_metric(metric);
    const std::string_view unit = known ? known->unit : "";
    if (!scalar(unit == "B" ? "a size such as '20GB'" : unit == "s" ? "a duration such as '10ms'" : "a number")) {
      return std::nullopt;
    }
    const SettingType type = unit == "B"   ? SettingType::bytes
                             : unit == "s" ? SettingType::duration
                                           : SettingType::number;
    return read_as(type, unit == "B" ? "20GB" : unit == "s" ? "10ms" : "1.46");
  }

  SettingValue goal() {
    if (!named(".-/", "a metric: letters, digits, '_' and '.'") || !scalar("higher or lower")) return std::nullopt;
    if (entry_.value.text == "higher" || entry_.value.text == "lower") return json::value(entry_.value.text);
    return refuse("must be 'higher' or 'lower': which way is better.");
  }

  SettingValue latency_limit() {
    static const std::regex name("(ttft|tpot|e2e)_p(50|90|95|97|99|99\\.9)");
    if (entry_.key.size() > 20 || !std::regex_match(entry_.key, name)) {
      problems_.add(
          entry_.key_place,
          fmt::format("'{}' is not a latency. Write ttft, tpot or e2e, followed by _p50, _p90, _p95, _p97, _p99 "
                      "or _p99.9.",
                      entry_.key.substr(0, 60)));
      return std::nullopt;
    }
    return read_as(SettingType::duration, "2s");
  }

  bool named(std::string_view also_allowed, std::string_view what) {
    if (is_name(entry_.key, also_allowed)) return true;
    problems_.add(entry_.key_place, fmt::format("'{}' is not a name for {}.", entry_.key.substr(0, 60), what));
    return false;
  }

 private:
  SettingValue refuse(std::string_view rule) {
    problems_.add(entry_.value.place, fmt::format("{} {}", shown(key_, entry_.value), rule));
    return std::nullopt;
  }

  bool scalar(std::string_view words) {
    if (entry_.value.is_scalar()) return true;
    problems_.add(entry_.value.place, fmt::format("'{}' must be {}.", key_, words));
    return false;
  }

  SettingValue read_as(SettingType type, std::string_view example) {
    const Setting one{key_, type, "", "", example, {.range = map_.rule.range}};
    return read_value(one, key_, entry_.value, problems_);
  }

  const SpecSetting& map_;
  const YamlEntry& entry_;
  std::string key_;
  Problems& problems_;
};

std::string metric_named(std::string_view name) {
  for (const FriendlyName& friendly : kFriendlyNames) {
    if (friendly.name == name) return std::string(friendly.metric);
  }
  return std::string(name);
}

/// A name that only the workload knows is fine, unless it looks like a slip. Commands name their metrics themselves.
bool is_likely_slip(const YamlEntry& entry, std::string_view metric, std::optional<SpecKind> kind, Problems& problems) {
  if (!kind || kind == SpecKind::command || find_metric(metric)) return false;
  std::vector<std::string> names;
  for (const MetricInfo& known : known_metrics()) names.emplace_back(known.name);
  for (const FriendlyName& friendly : kFriendlyNames) names.emplace_back(friendly.name);
  const std::string meant = did_you_mean(entry.key, names);
  if (meant.empty()) return false;
  problems.add(entry.key_place, fmt::format("unknown metric '{}' in 'expect'.{}", entry.key, meant));
  return true;
}

}  // namespace

std::optional<std::pair<std::string, json::value>> read_entry(const SpecSetting& map, const YamlEntry& entry,
                                                              std::optional<SpecKind> kind, Problems& problems) {
  EntryReader reader(map, entry, problems);
  std::string name = entry.key;
  SettingValue value;
  switch (map.own) {
    case SpecType::parameters: value = reader.parameter(); break;
    case SpecType::variables: value = reader.variable(); break;
    case SpecType::patterns: value = reader.pattern(); break;
    case SpecType::latency_limits: value = reader.latency_limit(); break;
    case SpecType::goals:
      name = metric_named(entry.key);
      value = reader.goal();
      break;
    default:
      name = metric_named(entry.key);
      if (!reader.named(".", "a metric: letters, digits, '_' and '.'")) return std::nullopt;
      if (is_likely_slip(entry, name, kind, problems)) return std::nullopt;
      value = reader.expectation(name);
  }
  if (!value) return std::nullopt;
  return std::pair(std::move(name), std::move(*value));
}

}  // namespace assay
