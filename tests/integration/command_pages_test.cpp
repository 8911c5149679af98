#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/text.h"
#include "support/assay_cli.h"
#include "support/generated_page.h"

namespace assay {
namespace {

struct HelpLine {
  std::string group;
  std::string name;
  std::string description;
};

/// The commands in a text of help: what stands in a group and is no option, argument or example.
std::vector<HelpLine> commands_in(const std::string& help) {
  static const std::regex command("  ([a-z][a-z-]*)  +(\\S.*)");
  std::vector<HelpLine> found;
  std::string group;
  for (const auto line : split(help, '\n')) {
    const std::string text(line);
    std::smatch match;
    if (!text.empty() && text[0] != ' ' && text.back() == ':') group = text.substr(0, text.size() - 1);
    const bool listed = group != "Positionals" && group != "Options" && group != "Examples";
    if (listed && std::regex_match(text, match, command)) found.push_back({group, match[1], match[2]});
  }
  return found;
}

/// docs/reference/commands.md, made from what the program says of itself.
std::string command_reference(AssayCli& cli) {
  std::string page =
      "# Commands\n\n"
      "What `assay --help` lists, with the commands of commands. `assay COMMAND --help` has options and examples.\n";
  std::string group;
  for (const auto& command : commands_in(cli.run({"--help"}).out)) {
    if (command.group != group)
      page += fmt::format("\n## {}\n\n| command | what it does |\n|---|---|\n", command.group);
    group = command.group;
    page += fmt::format("| `assay {}` | {} |\n", command.name, command.description);
    for (const auto& inner : commands_in(cli.run({command.name, "--help"}).out))
      page += fmt::format("| `assay {} {}` | {} |\n", command.name, inner.name, inner.description);
  }
  return page;
}

TEST(GeneratedPage, OfCommands) {
  AssayCli cli;
  test::expect_generated_page("docs/reference/commands.md", command_reference(cli));
}

}  // namespace
}  // namespace assay
