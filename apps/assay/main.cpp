#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/guard.h"
#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "commands.h"
#include "gpu_source.h"
#include "launch/hosted/job_programs.h"
#include "launch/kubernetes/pod_host.h"
#include "launch/local/local_launcher.h"
#include "run_services.h"
#include "runs/judge.h"
#include "runs/null_workload.h"
#include "sampled_machine.h"
#include "serve_target.h"
#include "serving/serve_workload.h"
#include "stop_signals.h"

namespace assay {
namespace {

/// Commands of the design whose part does not exist yet: told apart from typing mistakes.
constexpr std::array<std::string_view, 3> kLaterCommands = {"migrate", "node-bench", "probe"};

constexpr const char* kFooter = R"(
Examples:
  assay exec python3 train.py --epochs 3         record any program: metrics, output, system load
  assay run examples/command.yaml                run what a specification says
  assay run bench.yaml --set batch_size=64       change one setting
  assay runs verdict=valid --sort -duration      what was recorded
  assay show @last                               the newest run
  assay report study:@last -o report.html        what a study says
  assay compare @last-1 @last                    what differs, and whether it matters
  assay doctor                                   is this machine ready?

Exit codes: 0 valid result, 1 the workload failed, 2 the request is wrong, 3 this machine cannot,
            4 finished, but flagged or invalid.
More: `assay COMMAND --help`, docs/ in the source tree.)";

struct Program {
  CLI::App app{
      "Assay tells what GPU machines are really worth: it runs workloads, records everything about them, and says "
      "what\n"
      "the figures are worth.",
      "assay"};
  Context context;
  std::string log_level;
  std::string log_format = "text";
  std::map<std::string, Action> actions;
};

void add_common_options(Program& program) {
  auto& app = program.app;
  auto& context = program.context;
  app.set_version_flag(
         "--version", [] { return fmt::format("assay {}", version()); }, "Print the version")
      ->group("Common");
  app.add_flag("--json", context.json, "Print one JSON object instead of text")->group("Common");
  app.add_option("--data", context.data_option, "Folder where runs are kept [$ASSAY_DATA, ~/.local/share/assay]")
      ->type_name("DIR")
      ->group("Common");
  app.add_option("--leader", context.leader.url, "Leader to talk to [$ASSAY_LEADER, the one of the data folder]")
      ->type_name("URL")
      ->envname("ASSAY_LEADER")
      ->group("Common");
  app.add_option("--token-file", context.leader.token_file, "File with the token for --leader [$ASSAY_TOKEN_FILE]")
      ->type_name("FILE")
      ->group("Common");
  app.add_option("--fingerprint", context.leader.fingerprint,
                 "SHA-256 of the leader's certificate, if it made its own [$ASSAY_FINGERPRINT]")
      ->type_name("SHA256")
      ->envname("ASSAY_FINGERPRINT")
      ->group("Common");
  app.add_option("--ca-file", context.leader.ca_file, "Certificates to trust instead of the system's")
      ->type_name("FILE")
      ->group("Common");
  app.add_flag("-q,--quiet", context.quiet, "No progress, no summary")->group("Common");
  app.add_flag("--no-color", context.no_colour, "No colours (also: NO_COLOR=1)")->group("Common");
  app.add_option("--log-level", program.log_level,
                 "What to log: debug, info, warning, error [info for serve and agent, else warning]")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->type_name("LEVEL")
      ->envname("ASSAY_LOG_LEVEL")
      ->group("Common");
  app.add_option("--log-format", program.log_format, "text or json (one object per line)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT")
      ->envname("ASSAY_LOG_FORMAT")
      ->group("Common");
}

void add_commands(Program& program, const PassedArguments& passed) {
  auto& app = program.app;
  auto& context = program.context;
  auto& actions = program.actions;
  actions["run"] = add_run(app, context);
  actions["exec"] = add_exec(app, context, passed);
  actions["validate"] = add_validate(app, context);
  actions["schema"] = add_schema(app, context);
  actions["runs"] = add_runs(app, context);
  actions["show"] = add_show(app, context);
  actions["logs"] = add_logs(app, context);
  actions["tag"] = add_tag(app, context);
  actions["rm"] = add_rm(app, context);
  actions["prune"] = add_prune(app, context);
  actions["reindex"] = add_reindex(app, context);
  actions["report"] = add_report(app, context);
  actions["compare"] = add_compare(app, context);
  actions["plot"] = add_plot(app, context);
  actions["import"] = add_import(app, context);
  actions["export"] = add_export(app, context);
  actions["doctor"] = add_doctor(app, context);
  actions["serve"] = add_serve(app, context);
  actions["agent"] = add_agent(app, context);
  actions["config"] = add_config(app, context);
  actions["token"] = add_token(app, context);
  actions["user"] = add_user(app, context);
  actions["audit"] = add_audit(app, context);
  actions["login"] = add_login(app, context);
  actions["logout"] = add_logout(app, context);
  actions["submit"] = add_submit(app, context);
  actions["queue"] = add_queue(app, context);
  actions["hold"] = add_hold(app, context);
  actions["release"] = add_release(app, context);
  actions["cancel"] = add_cancel(app, context);
  actions["nodes"] = add_nodes(app, context);
  actions["top"] = add_top(app, context);
  actions["query"] = add_query(app, context);
  actions["alerts"] = add_alerts(app, context);
  actions["events"] = add_events(app, context);
  actions["backup"] = add_backup(app, context);
  actions["restore"] = add_restore(app, context);
  actions["repair"] = add_repair(app, context);
  actions["fleet-sim"] = add_fleet_sim(app, context);
  actions["simulate"] = add_simulate(app, context);
  actions["version"] = add_version(app, context);
  actions["completion"] = add_completion(app, context, app);
}

/// Of the options that may stand before the command.
constexpr std::array<std::string_view, 7> kOptionsWithValue = {
    "--data", "--leader", "--token-file", "--fingerprint", "--ca-file", "--log-level", "--log-format"};

/// The first word that is not an option: the command the user asked for.
std::string_view first_word(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (std::find(kOptionsWithValue.begin(), kOptionsWithValue.end(), argument) != kOptionsWithValue.end()) {
      ++i;
    } else if (!argument.starts_with('-')) {
      return argument;
    }
  }
  return {};
}

/// Whether the word after this option is its value.
bool takes_value(const CLI::App& app, const CLI::App& command, const std::string& option) {
  if (option.find('=') != std::string::npos) return false;
  const CLI::Option* known = command.get_option_no_throw(option);
  if (known == nullptr) known = app.get_option_no_throw(option);
  return known != nullptr && known->get_items_expected_min() > 0;
}

/// The words of `assay exec` that are not assay's own: from the first one that is no option, or behind two dashes. They
/// are taken out of `arguments`.
PassedArguments split_off_command(const CLI::App& app, std::vector<std::string>& arguments) {
  const CLI::App& exec = *app.get_subcommand("exec");
  auto word = std::find(arguments.begin(), arguments.end(), "exec");
  for (++word; word != arguments.end() && word->starts_with('-') && *word != "--"; ++word) {
    if (!takes_value(app, exec, *word)) continue;
    ++word;
    if (word == arguments.end()) break;
  }
  if (word == arguments.end()) return std::nullopt;
  std::vector<std::string> passed(*word == "--" ? word + 1 : word, arguments.end());
  arguments.erase(word, arguments.end());
  return passed;
}

/// What may be given to this command: its own options and those of every command.
std::vector<std::string> options_of(const CLI::App& app, const CLI::App& command) {
  std::vector<std::string> names;
  for (const auto* one : {&app, &command}) {
    for (const auto* option : one->get_options()) {
      for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

/// A parsing error in the words of the command that it is about, which may be a command of a command.
Error usage_error(const Program& program, const CLI::ParseError& problem) {
  const CLI::App* command = &program.app;
  std::string name = "assay";
  for (auto chosen = command->get_subcommands(); !chosen.empty(); chosen = command->get_subcommands()) {
    command = chosen.front();
    name += " " + command->get_name();
  }
  Error error{.kind = ErrorKind::usage,
              .message = problem.what(),
              .hint = fmt::format("`{} --help` shows how it is used.", name)};
  const auto words = program.app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) == nullptr || words.empty()) return error;
  const bool is_option = words.front().starts_with("--");
  std::vector<std::string> known;
  if (is_option) known = options_of(program.app, *command);
  for (const auto* inner : command->get_subcommands([&](const CLI::App*) { return !is_option; })) {
    known.push_back(inner->get_name());
  }
  error.message = is_option       ? fmt::format("`{}` has no option '{}'.", name, words.front())
                  : known.empty() ? fmt::format("'{}' was not expected after `{}`", words.front(), name)
                                  : fmt::format("`{}` has no command '{}'.", name, words.front());
  if (const auto meant = nearest(words.front(), known)) error.message += fmt::format(" Did you mean '{}'?", *meant);
  return error;
}

std::optional<Error> check_command_name(const Program& program, std::string_view word) {
  if (word.empty() || program.actions.contains(std::string(word))) return std::nullopt;
  if (std::find(kLaterCommands.begin(), kLaterCommands.end(), word) != kLaterCommands.end()) {
    return Error{.kind = ErrorKind::unsupported,
                 .message = fmt::format("'{}' is not part of this version of assay yet", word),
                 .hint = "README.md lists what is there."};
  }
  std::vector<std::string> names;
  names.reserve(program.actions.size());
  for (const auto& [name, action] : program.actions) names.push_back(name);
  std::string message = fmt::format("unknown command '{}'.", word);
  if (const auto meant = nearest(word, names)) message += fmt::format(" Did you mean '{}'?", *meant);
  return Error{.kind = ErrorKind::usage, .message = message, .hint = "`assay --help` lists the commands."};
}

/// What this program does where a launcher to another machine has brought it.
int host_program(int argc, char** argv) {
  const StopSignals signals;
  const Programs programs = find_programs();
  const HostServices services{.self = programs.self,
                              .make_launcher = [&] { return make_local_launcher(programs); },
                              .describe_machine = [] { return to_json(describe_this_machine()); },
                              .stop_fd = signals.fd(),
                              .watch = watch_machine};
  const bool in_pod = std::string_view(argv[1]) == kHostPodArgument;
  return in_pod ? host_pod_main(argc, argv, services) : job_program_main(argc, argv, services);
}

int run_program(std::vector<std::string> arguments) {
  const std::string command(first_word(arguments));
  PassedArguments passed;
  Program program;
  program.context.environment = process_environment();
  program.app.require_subcommand(0, 1);
  program.app.fallthrough();
  program.app.set_help_flag("-h,--help", "Show this help");
  program.app.get_formatter()->column_width(30);
  add_common_options(program);
  add_commands(program, passed);
  // After the commands, which would inherit it.
  program.app.footer(kFooter);

  if (command == "exec") passed = split_off_command(program.app, arguments);
  program.context.command = command;
  // Known before parsing, so that a parsing error can be answered in JSON, too.
  program.context.json = std::find(arguments.begin(), arguments.end(), "--json") != arguments.end();
  if (const auto error = check_command_name(program, command)) return program.context.fail(*error);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    program.app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = program.app.get_subcommands();
    print(chosen.empty() ? program.app.help()
                         : chosen.front()->help("assay") +
                               "\nEvery command takes --json, --data, --leader and more: `assay --help`\n");
    return 0;
  } catch (const CLI::CallForVersion& asked) {
    print(fmt::format("{}\n", asked.what()));
    return 0;
  } catch (const CLI::ParseError& problem) {
    return program.context.fail(usage_error(program, problem));
  }
  static const std::map<std::string, LogLevel> kLevels = {
      {"debug", LogLevel::debug}, {"info", LogLevel::info}, {"warning", LogLevel::warning}, {"error", LogLevel::error}};
  const auto chosen = program.app.get_subcommands();
  const bool is_service = command == "serve" || command == "agent";
  if (program.log_level.empty()) program.log_level = is_service ? "info" : "warning";
  // The journal of systemd knows the time of each line.
  const bool timed = is_service && !program.context.environment.contains("JOURNAL_STREAM");
  const LogFormat text = timed ? LogFormat::timed_text : LogFormat::text;
  configure_log(kLevels.at(program.log_level), program.log_format == "json" ? LogFormat::json_lines : text);

  if (chosen.empty()) {
    print(program.app.help());
    return arguments.empty() ? 0 : 2;
  }
  return program.actions.at(chosen.front()->get_name())();
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == assay::kGuardArgument) return assay::guard_main(argc, argv);
  // A reader that goes away (`| head`) must not kill a recording.
  std::signal(SIGPIPE, SIG_IGN);
  if (mode == assay::kNullWorkloadArgument) return assay::null_workload_main(argc, argv);
  if (mode == assay::kServeWorkloadArgument) return assay::serve_workload_main(argc, argv, assay::make_serve_target);
  if (mode == assay::kSensorArgument) return assay::sensor_main();
  if (assay::is_job_program(mode) || mode == assay::kHostPodArgument) return assay::host_program(argc, argv);
  try {
    const int code = assay::run_program(std::vector<std::string>(argv + 1, argv + argc));
    const auto printed = assay::check_printed();
    if (printed) return code;
    assay::print_error(fmt::format("assay: {}\n", printed.error().text()));
    return code == 0 ? assay::exit_code_of(printed.error().kind) : code;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "assay: %s\n       This is a bug; please report it with the command you ran.\n",
                 problem.what());
    return 1;
  }
}
