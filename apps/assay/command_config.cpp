#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "commands.h"
#include "config/config_pages.h"
#include "config/yaml_tree.h"
#include "config_flags.h"
#include "report/text/table.h"
#include "service/agent_config.h"
#include "service/leader_config.h"
#include "service/service_files.h"
#include "watch/rules_reader.h"

namespace assay {
namespace {

struct ConfigOptions {
  std::string file;     ///< of check and show
  std::string service;  ///< --as of check, the argument of example and schema
};

/// Which table a file is for: as the user says, else as its keys say.
Result<Service> service_of(const ConfigText& text, const std::string& named) {
  if (!named.empty()) return *service_from(named);
  const FileKind kind = kind_of_file(text);
  if (kind.specification) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'{}' is a specification: it has a 'kind'", text.name),
                 .hint = fmt::format("`assay validate {}` checks it.", text.name)};
  }
  if (kind.service) return *kind.service;
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("nothing in '{}' tells whether it is for a leader or an agent", text.name),
               .hint = "Say it with --as leader or --as agent."};
}

/// The mistakes of the rules that a leader would load, if they can be read here.
void add_mistakes_of_rules(const ConfigReading& reading, std::vector<Diagnostic>& mistakes) {
  for (const ConfigValue& value : reading.values) {
    if (value.row->setting.key != "rules" || value.value.is_null()) continue;
    const std::string file(std::string_view(value.value.as_string()));
    const auto text = read_file(file, kLargestYamlBytes + 1);
    if (!text) {
      if (text.error().kind != ErrorKind::missing_file) return;
      mistakes.push_back({.file = value.origin.name,
                          .line = value.origin.line,
                          .column = 1,
                          .message = fmt::format("'rules': there is no file '{}'.", file)});
      return;
    }
    const auto rules = read_rules(*text, file);
    mistakes.insert(mistakes.end(), rules.diagnostics.begin(), rules.diagnostics.end());
  }
}

int check_config(const Context& context, const ConfigOptions& options) {
  auto text = read_config_text(options.file);
  if (!text) return context.fail(text.error());
  const auto service = service_of(*text, options.service);
  if (!service) return context.fail(service.error());
  const ConfigRows& table = rows_of(*service);
  const ConfigReading reading =
      read_service_config(*service, {.file = std::move(*text), .environment = {}, .flags = {}});
  std::vector<Diagnostic> mistakes = reading.diagnostics;
  if (*service == Service::leader) add_mistakes_of_rules(reading, mistakes);
  if (!mistakes.empty()) return context.fail(mistakes_error(context, mistakes, config_hint(table)));
  const auto given = std::count_if(reading.values.begin(), reading.values.end(), [](const ConfigValue& value) {
    return value.origin.source == Origin::Source::file;
  });
  if (!context.json && !context.quiet) {
    const TerminalStyle style = context.out_style();
    print(fmt::format("{} {}: configuration of {} {}, {} setting{} given\n",
                      style.paint(Colour::green, style.pick("✔", "+")), options.file,
                      *service == Service::leader ? "a" : "an", table.about().kind, given, given == 1 ? "" : "s"));
  }
  return context.succeed({{"file", options.file}, {"kind", table.about().kind}, {"given", given}});
}

/// A canonical value without credentials.
json::value shareable(const ConfigValue& value) {
  return value.row->setting.rule.secret && !value.value.is_null() ? json::value(written_value(value)) : value.value;
}

json::object to_json(const ConfigValue& value) {
  json::object origin{{"source", name_of(value.origin.source)}};
  if (!value.origin.name.empty()) origin["name"] = value.origin.name;
  if (value.origin.line > 0) origin["line"] = value.origin.line;
  return {{"key", value.row->setting.key},
          {"value", shareable(value)},
          {"written", written_value(value)},
          {"origin", std::move(origin)}};
}

/// What would hold, and why. Mistakes are answered as such.
int show_config(const Context& context, Service service, const ConfigSources& sources) {
  const ConfigReading reading = read_service_config(service, sources);
  const ConfigRows& table = rows_of(service);
  if (!reading.diagnostics.empty()) {
    return context.fail(mistakes_error(context, reading.diagnostics, config_hint(table)));
  }
  Table shown({{"Setting"}, {"Value"}, {"From"}});
  json::array settings;
  for (const ConfigValue& value : reading.values) {
    const bool standard = value.origin.source == Origin::Source::standard;
    settings.push_back(to_json(value));
    shown.add({std::string(value.row->setting.key), Cell(written_value(value), standard ? Colour::dim : Colour::bold),
               Cell(value.origin.text(), standard ? Colour::dim : Colour::plain)});
  }
  if (!context.json) print(shown.render(context.out_style(), 0));
  return context.succeed({{"kind", table.about().kind}, {"settings", std::move(settings)}});
}

int show_file(const Context& context, const std::string& file) {
  if (file.empty()) {
    return context.fail({.kind = ErrorKind::usage,
                         .message = "say whose settings: `assay config show leader` or `assay config show agent`",
                         .hint = "`assay config show --config FILE` shows those of a file."});
  }
  auto text = read_config_text(file);
  if (!text) return context.fail(text.error());
  const auto service = service_of(*text, "");
  if (!service) return context.fail(service.error());
  return show_config(context, *service, {.file = std::move(*text), .environment = context.environment, .flags = {}});
}

/// `show leader` and `show agent` take the flags of the programs, so that any command line can be looked at.
Action add_show_config(CLI::App& parent, Context& context) {
  auto file = std::make_shared<std::string>();
  auto* show = parent.add_subcommand("show", "Show which settings hold, and where each comes from");
  show->require_subcommand(0, 1);
  show->add_option("--config", *file, "Whose it is, its keys tell")->type_name("FILE");
  std::vector<std::pair<CLI::App*, std::shared_ptr<ConfigFlags>>> services;
  for (const Service service : kServices) {
    const ConfigAbout& about = rows_of(service).about();
    auto* of_service = show->add_subcommand(
        std::string(about.kind), fmt::format("Those that `assay {}` would have with these flags", about.command));
    services.emplace_back(of_service, std::make_shared<ConfigFlags>(*of_service, rows_of(service)));
  }
  return [&context, file, services] {
    for (std::size_t i = 0; i < services.size(); ++i) {
      if (!services[i].first->parsed()) continue;
      if (!file->empty()) {
        return context.fail(
            {.kind = ErrorKind::usage,
             .message = fmt::format("--config {} stands before '{}'", *file, services[i].first->get_name()),
             .hint = "Put it behind that word, with the other flags."});
      }
      const auto sources = services[i].second->sources(context);
      return sources ? show_config(context, kServices[i], *sources) : context.fail(sources.error());
    }
    return show_file(context, *file);
  };
}

CLI::App* add_page(CLI::App& parent, const char* name, const char* description, ConfigOptions& options) {
  auto* page = parent.add_subcommand(name, description);
  page->add_option("WHOSE", options.service, "leader or agent")->required()->check(CLI::IsMember({"leader", "agent"}));
  return page;
}

}  // namespace

Action add_config(CLI::App& app, Context& context) {
  auto options = std::make_shared<ConfigOptions>();
  auto* command =
      app.add_subcommand("config", "Check, show and explain the settings of leader and agent")->group("Cluster");
  command->require_subcommand(1);
  auto* check = command->add_subcommand("check", "Find every mistake of a file");
  check->add_option("FILE", options->file, "A YAML file for `assay serve` or `assay agent`")->required();
  check->add_option("--as", options->service, "Whose it is [what its keys tell]")
      ->check(CLI::IsMember({"leader", "agent"}))
      ->type_name("WHOSE");
  const Action show = add_show_config(*command, context);
  const auto* example = add_page(*command, "example", "Print a file with every setting commented out", *options);
  const auto* schema = add_page(*command, "schema", "Print a JSON Schema for editors", *options);
  command->footer(R"(
Examples:
  assay config example leader > leader.yaml
  assay config check leader.yaml
  assay config show leader --config leader.yaml --workers 8)");
  return [&context, options, check, show, example, schema] {
    if (check->parsed()) return check_config(context, *options);
    if (!example->parsed() && !schema->parsed()) return show();
    const ConfigRows& table = rows_of(*service_from(options->service));
    if (schema->parsed()) {
      json::object made =
          file_schema(fmt::format("configuration of an assay {}", table.about().kind), table.settings());
      if (!context.json) print(pretty_json(made));
      return context.succeed({{"schema", std::move(made)}});
    }
    if (!context.json) print(config_example(table));
    return context.succeed({{"example", config_example(table)}});
  };
}

}  // namespace assay
