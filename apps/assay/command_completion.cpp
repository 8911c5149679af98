#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "commands.h"

namespace assay {
namespace {

std::string names_of_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  }
  return join(names, " ");
}

std::string names_of_commands(const CLI::App& root) {
  std::vector<std::string> names;
  for (const auto* command : root.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return join(names, " ");
}

/// One function serves both shells: zsh runs it through its bash emulation of completion.
constexpr std::string_view kScript = R"SHELL(_assay() {
  local word=${COMP_WORDS[COMP_CWORD]} command= options= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      --) return 124 ;;
      -*) ;;
      *) command=${COMP_WORDS[i]}; break ;;
    esac
  done
  if [[ -z $command ]]; then
    COMPREPLY=($(compgen -W '@COMMANDS@ @COMMON@' -- "$word"))
    return
  fi
  case $command in
@CASES@  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options @COMMON@" -- "$word"))
    return
  fi
  case $command in
    show|logs|tag|rm|export|report|compare|plot) COMPREPLY=($(compgen -W "@last $(assay runs --ids --limit 200 2>/dev/null)" -- "$word")) ;;
    run|validate) COMPREPLY=($(compgen -f -X '!*.y?(a)ml' -- "$word") $(compgen -d -- "$word")) ;;
    import) COMPREPLY=($(compgen -W 'slurm results csv loadgen run' -- "$word") $(compgen -f -- "$word")) ;;
    completion) COMPREPLY=($(compgen -W 'bash zsh' -- "$word")) ;;
  esac
}
complete -o default -F _assay assay
)SHELL";

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::string completion_script(const CLI::App& root) {
  std::string cases;
  for (const auto* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    cases += fmt::format("    {}) options='{}' ;;\n", command->get_name(), names_of_options(*command));
  }
  std::string script(kScript);
  replace_all(script, "@COMMANDS@", names_of_commands(root));
  replace_all(script, "@COMMON@", names_of_options(root));
  replace_all(script, "@CASES@", cases);
  return script;
}

}  // namespace

Action add_completion(CLI::App& app, Context& context, const CLI::App& root) {
  auto shell = std::make_shared<std::string>();
  auto* command = app.add_subcommand("completion", "Print the completion script for a shell")->group("Machine");
  command->add_option("SHELL", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  command->footer(R"(
Examples:
  source <(assay completion bash)                                        # this shell
  assay completion bash > ~/.local/share/bash-completion/completions/assay   # every shell
  assay completion zsh >> ~/.zshrc)");
  return [&context, shell, &root] {
    const std::string script =
        (*shell == "zsh" ? "autoload -Uz compinit bashcompinit && compinit -u && bashcompinit\n" : "") +
        completion_script(root);
    if (context.json) return context.succeed({{"shell", *shell}, {"script", script}});
    print(script);
    return 0;
  };
}

}  // namespace assay
