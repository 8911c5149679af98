#include "config/reference.h"

#include <fmt/format.h>

#include "config/numbers.h"
#include "config/value.h"

namespace assay {
namespace {

constexpr std::string_view kValueTypes = R"(| type | example | note |
|---|---|---|
| whole number, number | `50`, `2e-4` | no separators, no units |
| true or false | `true` | `yes`, `no`, `on` and `off` are not accepted |
| text | `no`, `"10"` | stays as written; quotes are needed only where YAML needs them |
| duration | `90s`, `1h30min` | `ns` `us` `ms` `s` `min` `h` `d`; a number without a unit is a mistake |
| size | `24GiB`, `20GB` | `B` `kB` `MB` `GB` `TB` count in thousands, `KiB` `MiB` `GiB` `TiB` in 1,024s |
| rate | `20/s`, `90/min` | also `/h`, `Hz`, `kHz` |
| price | `0.60 USD/GPUh` | per GPU hour (`GPUh`) or per node hour (`h`) |
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

/// Elsewhere a bar stands for itself, in a table it ends the cell, in code, too.
std::string in_cell(std::string_view text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

std::string in_code(const std::vector<std::string_view>& values, std::string_view separator) {
  std::vector<std::string> words;
  for (const std::string_view value : values) {
    words.push_back(fmt::format("`{}{}`", value, value.ends_with(':') ? "PATH" : ""));
  }
  return fmt::format("{}", fmt::join(words, separator));
}

}  // namespace

std::string_view value_types_section() { return kValueTypes; }

std::string choice_words(const std::vector<std::string_view>& choices) { return in_code(choices, " "); }

std::string type_cell(const Setting& setting) {
  if (setting.type == SettingType::choice) return choice_words(setting.rule.choices);
  if (setting.type == SettingType::choices) return "list of " + choice_words(setting.rule.choices);
  if (setting.type == SettingType::group && !setting.rule.shorthand.empty()) return "name or mapping";
  return type_words(setting) + range_words(setting);
}

std::string default_cell(const Setting& setting) {
  if (setting.rule.required) return "*must be given*";
  if (!setting.default_value.empty()) return in_cell(fmt::format("`{}`", setting.default_value));
  return setting.type == SettingType::group ? "" : std::string(setting.rule.otherwise);
}

std::string meaning_cell(const Setting& setting) {
  std::string meaning(setting.description);
  if (setting.rule.needs) {
    meaning += fmt::format(" With `{}` {}.", setting.rule.needs->key, in_code(setting.rule.needs->values, ", "));
  }
  return in_cell(fmt::format("{} Example: `{}`", meaning, setting.example));
}

}  // namespace assay
