#include <algorithm>
#include <map>

#include "report/build/figures.h"
#include "report/build/sections.h"

namespace assay {

std::optional<Section> settings_section(const Answers& answers) {
  const auto& runs = answers.input.runs;
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, std::size_t> count;
  for (const auto& one : runs) {
    for (const auto& [name, value] : settings_of(one.run)) {
      ++count[name];
      auto& seen = values[name];
      if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
    }
  }
  if (values.empty()) return std::nullopt;
  FactList facts{.id = "settings"};
  for (auto& [name, seen] : values) {
    if (count[name] < runs.size()) seen.emplace_back("unset");
    facts.facts.emplace_back(name, differing_values(seen));
  }
  return Section{.blocks = {std::move(facts)}, .in_terminal = runs.size() == 1};
}

}  // namespace assay
