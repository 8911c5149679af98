#include "config/config_pages.h"

#include <fmt/format.h>

#include "base/text.h"
#include "config/reference.h"

namespace assay {
namespace {

constexpr std::size_t kWidestComment = 110;

std::string names_cell(const ConfigRows& table, const ConfigRow& row) {
  if (row.is_group()) return "";
  std::string cell = fmt::format("`{}` `{}`", row.flag(), table.variable_of(row));
  if (!row.extras.variable.empty()) cell += fmt::format(" `{}`", row.extras.variable);
  return cell;
}

/// Words as lines that begin with `# `.
std::string comment(std::string_view indent, std::string_view words) {
  std::string lines;
  std::string line = fmt::format("{}#", indent);
  for (const std::string_view word : split(words, ' ')) {
    if (line.size() + word.size() >= kWidestComment) {
      lines += line + "\n";
      line = fmt::format("{}#", indent);
    }
    line += fmt::format(" {}", word);
  }
  return lines + line + "\n";
}

}  // namespace

std::string config_reference(const ConfigRows& table) {
  std::string page = "| key | flag and variable | type | default | meaning |\n|---|---|---|---|---|\n";
  for (const ConfigRow& row : table.rows()) {
    page += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.setting.key, names_cell(table, row),
                        type_cell(row.setting), default_cell(row.setting), meaning_cell(row.setting));
  }
  return page;
}

std::string config_example(const ConfigRows& table) {
  const ConfigAbout& about = table.about();
  std::string file = fmt::format(
      "# Configuration of an Assay {0}: `assay {1} --config FILE`.\n"
      "# Take the '#' from a line that begins with '#key:' to give the setting. What is given on the command line or "
      "in\n"
      "# the environment ({2}…) wins over this file. Relative paths count from the folder of this file.\n"
      "# `assay config check FILE` finds mistakes; {3} explains every setting.\n",
      about.kind, about.command, about.prefix, about.page);
  for (const ConfigRow& row : table.rows()) {
    const Setting& setting = row.setting;
    const auto dot = setting.key.find('.');
    const std::string_view indent = dot == std::string_view::npos ? "" : "  ";
    const std::string_view name = dot == std::string_view::npos ? setting.key : setting.key.substr(dot + 1);
    if (indent.empty()) file += "\n";
    file += comment(indent, setting.default_value.empty() && !row.is_group()
                                ? fmt::format("{} Not given: {}.", setting.description, setting.rule.otherwise)
                                : std::string(setting.description));
    const std::string_view value = setting.default_value.empty() ? setting.example : setting.default_value;
    file += row.is_group() ? fmt::format("#{}:\n", name) : fmt::format("{}#{}: {}\n", indent, name, value);
  }
  return file;
}

}  // namespace assay
