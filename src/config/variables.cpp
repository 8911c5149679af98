#include "config/variables.h"

#include <fmt/format.h>

#include <cctype>

#include "base/text.h"

namespace assay {

std::string variable_name(std::string_view prefix, std::string_view key) {
  std::string name(prefix);
  for (const char c : key) name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string unknown_variable(std::string_view variable, std::string_view prefix,
                             const std::vector<std::string>& known) {
  const std::string_view ending = variable.substr(prefix.size());
  std::vector<std::string> endings;
  for (const std::string& name : known) {
    if (name.starts_with(prefix)) endings.push_back(name.substr(prefix.size()));
  }
  const auto meant = variable.size() > 64 ? std::nullopt : nearest(ending, endings);
  return fmt::format("no setting belongs to this environment variable.{}",
                     meant ? fmt::format(" Did you mean '{}{}'?", prefix, *meant) : "");
}

}  // namespace assay
