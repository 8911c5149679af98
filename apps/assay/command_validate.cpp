#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "report/text/style.h"
#include "run_services.h"
#include "spec/spec.h"

namespace assay {
namespace {

struct ValidateOptions {
  std::vector<std::string> files;
  std::vector<std::string> assignments;
};

int validate(const Context& context, const ValidateOptions& options) {
  auto specs = read_specs(context, options.files, options.assignments);
  if (!specs) return context.fail(specs.error());
  json::array list;
  const TerminalStyle style = context.out_style();
  for (const auto& spec : *specs) {
    auto plan = expand(spec);
    if (!plan) return context.fail(plan.error());
    if (!context.json && !context.quiet) {
      print(fmt::format("{} {}: kind {}, {} run{}\n", style.paint(Colour::green, style.pick("✔", "+")), spec.file,
                        name_of(spec.kind), plan->size(), plan->size() == 1 ? "" : "s"));
    }
    json::array variants;
    for (const auto& planned : *plan) {
      variants.push_back({{"variant", planned.variant},
                          {"repeat", planned.repeat},
                          {"ranks", planned.ranks},
                          {"nodes", planned.nodes}});
    }
    list.push_back({{"file", spec.file},
                    {"kind", name_of(spec.kind)},
                    {"settings", spec.settings},
                    {"runs", std::move(variants)}});
  }
  return context.succeed({{"specs", std::move(list)}});
}

}  // namespace

Action add_validate(CLI::App& app, Context& context) {
  auto options = std::make_shared<ValidateOptions>();
  auto* command = app.add_subcommand("validate", "Check specifications without running them")->group("Run");
  command->add_option("SPEC", options->files, "YAML files; - reads standard input")->required();
  command->add_option("--set", options->assignments, "Change a setting: --set batch_size=64")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command->footer("\nEvery mistake is listed with file, line and column. Exit code 2 if there is any.");
  return [&context, options] { return validate(context, *options); };
}

Action add_schema(CLI::App& app, Context& context) {
  auto markdown = std::make_shared<bool>(false);
  auto* command = app.add_subcommand("schema", "Print the JSON Schema of specifications, for editors")->group("Run");
  command->add_flag("--markdown", *markdown, "Print the reference page (docs/reference/spec.md) instead");
  command->footer(R"(
Examples:
  assay schema > assay.schema.json
  # then, in the first line of a specification:
  # yaml-language-server: $schema=assay.schema.json)");
  return [&context, markdown] {
    if (context.json) return context.succeed({{"schema", spec_schema()}});
    print(*markdown ? spec_reference() : pretty_json(spec_schema()));
    return 0;
  };
}

}  // namespace assay
