#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "base/files.h"
#include "base/text.h"
#include "support/assay_cli.h"
#include "support/generated_page.h"
#include "support/source_tree.h"

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

// CLI11 2.3 of Debian 12 takes any name; 2.4 of Debian 13 throws at one with a blank, whatever command was asked for.
TEST(Arguments, HaveNamesThatEveryVersionOfTheParserTakes) {
  static const std::regex argument(R"rx(add_option\(\s*"([^-"][^"]*)")rx");
  static const std::regex good("[A-Z]+");
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::source_folder() / "apps" / "assay")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = read_file(entry.path()).value();
    for (std::sregex_iterator match(text.begin(), text.end(), argument); match != std::sregex_iterator(); ++match) {
      ++found;
      EXPECT_TRUE(std::regex_match((*match)[1].str(), good)) << entry.path() << ": " << (*match)[1];
    }
  }
  EXPECT_GT(found, 20U);
}

}  // namespace
}  // namespace assay
