#include <fmt/format.h>
#include <poll.h>

#include <memory>

#include "access/secrets.h"
#include "access/token_record.h"
#include "agent/agent.h"
#include "agent/node_facts.h"
#include "agent/run_confinement.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "commands.h"
#include "gpu_source.h"
#include "launch/local/local_launcher.h"
#include "program_pages.h"
#include "run_services.h"
#include "stop_signals.h"
#include "store/local/local_store.h"
#include "telemetry/procfs/procfs_source.h"
#include "telemetry/replay/replay_source.h"

namespace assay {
namespace {

struct AgentArguments {
  std::string token_file;
  std::string name;
  std::string state;
  std::string spool_limit = "256MiB";
  std::string period = "1s";
  std::string run_period = "100ms";
  std::string record;
  std::string replay;
  std::optional<std::uint64_t> seed;
  std::string allow = "doctor";
  std::string run_as;
  std::string fingerprint;
  std::string ca_file;
  bool no_gpu = false;
  bool insecure = false;
};

/// Until every source was read and the leader knows the node.
constexpr int kStartUpMilliseconds = 5000;
/// Runs that the leader asks for touch code that is not needed afterwards, too.
constexpr int kTidyMilliseconds = 600'000;

Error bad_option(std::string_view option, std::string_view value, std::string_view rule) {
  return {.kind = ErrorKind::usage, .message = fmt::format("'{} {}' {}", option, value, rule)};
}

Result<Nanos> parse_period(std::string_view option, const std::string& text) {
  const auto period = parse_duration(text);
  if (!period) return bad_option(option, text, period.error().message);
  if (*period < kShortestPeriod || *period > kLongestPeriod) {
    return bad_option(option, text, "is not between 10ms and 10min.");
  }
  return *period;
}

struct Allowed {
  std::set<Command::Kind> commands;
  bool runs = false;
};

Result<Allowed> parse_allowed(const std::string& text) {
  Allowed allowed;
  if (text == "none") return allowed;
  for (const auto word : split(text, ',')) {
    if (trim(word) == "run") {
      allowed.runs = true;
    } else if (const auto kind = command_kind_from(trim(word))) {
      allowed.commands.insert(*kind);
    } else {
      return bad_option("--allow", text, "is not a list of doctor and run, nor none.");
    }
  }
  return allowed;
}

/// Runs for the leader are done like those of `assay run` here, and kept beside the agent's state until it has them.
Result<JobServices> make_job_services(const Context& context, const AgentArguments& arguments, const fs::path& state) {
  ASSAY_TRY(auto confinement, confinement_of_runs({.state = state,
                                                   .token_file = arguments.token_file,
                                                   .environment = context.environment,
                                                   .run_as = arguments.run_as}));
  ASSAY_TRY(auto store,
            open_local_store(state / "runs", {.tidy = true}).within("opening the store of this node's runs"));
  return JobServices{.store = std::move(store),
                     .launcher = make_local_launcher(std::move(confinement)),
                     .programs = find_programs(),
                     .describe_machine = describe_this_machine,
                     .make_sources = [with_gpus = !arguments.no_gpu](std::optional<pid_t> workload) {
                       return run_sources(workload, with_gpus);
                     }};
}

/// The service manager has checked who may read the credentials it hands over, and shows modes of its own.
Result<std::string> read_token(const Context& context, const fs::path& path) {
  const auto credentials = context.environment.find("CREDENTIALS_DIRECTORY");
  if (credentials == context.environment.end() || path.parent_path() != fs::path(credentials->second)) {
    return read_secret_file(path);
  }
  ASSAY_TRY(const auto text, read_file(path, 4096));
  return std::string(trim(text));
}

Result<std::vector<std::unique_ptr<MetricSource>>> make_sources(const AgentArguments& arguments) {
  std::vector<std::unique_ptr<MetricSource>> sources;
  if (!arguments.replay.empty()) {
    ASSAY_TRY(auto recording, load_recording(arguments.replay).within("loading the recording to replay"));
    sources.push_back(
        make_replay_source(std::make_shared<const Recording>(std::move(recording)), {.seed = arguments.seed}));
    return sources;
  }
  sources.push_back(make_procfs_source({}));
  sources.push_back(make_host_details_source({}));
  if (!arguments.no_gpu && has_nvidia_gpu()) sources.push_back(make_gpu_source());
  return sources;
}

Result<ReportingOptions> make_reporting(const Context& context, const AgentArguments& arguments,
                                        const fs::path& state) {
  ReportingOptions reporting;
  ASSAY_TRY(reporting.url, parse_url(context.leader.url));
  ASSAY_CHECK(check_transport(reporting.url, arguments.insecure));
  reporting.node = arguments.name.empty() ? short_host_name() : arguments.name;
  if (!is_node_name(reporting.node)) {
    return bad_option("--name", reporting.node, "is not 1 to 64 letters, digits, '-', '_' and '.'.");
  }
  if (!arguments.token_file.empty()) {
    ASSAY_TRY(const auto text, read_token(context, arguments.token_file).within("reading the join token"));
    ASSAY_TRY(const auto token, parse_join_token(text));
    reporting.join_secret = token.secret;
    reporting.trust.fingerprint = token.fingerprint.value_or("");
  }
  if (!arguments.fingerprint.empty()) {
    ASSAY_TRY(reporting.trust.fingerprint, parse_fingerprint(arguments.fingerprint));
  }
  reporting.trust.ca_file = arguments.ca_file;
  ASSAY_TRY(const auto allowed, parse_allowed(arguments.allow));
  reporting.allow = allowed.commands;
  if (allowed.runs) {
    ASSAY_TRY(reporting.jobs, make_job_services(context, arguments, state));
  }
  const auto limit = parse_bytes(arguments.spool_limit);
  if (!limit) return bad_option("--spool-limit", arguments.spool_limit, limit.error().message);
  if (limit->count < std::int64_t{1} << 20) return bad_option("--spool-limit", arguments.spool_limit, "is below 1MiB.");
  reporting.spool_limit = *limit;
  reporting.facts = node_facts(MachineView::real());
  reporting.self = {self_path().string()};
  return reporting;
}

Result<AgentOptions> make_options(const Context& context, const AgentArguments& arguments) {
  AgentOptions options;
  options.state = arguments.state.empty() ? context.data_folder() / "agent" : fs::path(arguments.state);
  ASSAY_TRY(options.period, parse_period("--period", arguments.period));
  ASSAY_TRY(options.run_period, parse_period("--run-period", arguments.run_period));
  if (!arguments.record.empty()) options.record = arguments.record;
  options.simulated = !arguments.replay.empty();
  if (!context.leader.url.empty()) {
    ASSAY_TRY(options.reporting, make_reporting(context, arguments, options.state));
  } else if (!options.record) {
    return Error{.kind = ErrorKind::usage,
                 .message = "nothing to do: neither a leader nor a recording was named",
                 .hint =
                     "For example: assay agent --leader https://leader:8470 --token-file join.token\n"
                     "         or: assay agent --record node.rec"};
  }
  return options;
}

std::string greeting(const Context& context, const AgentArguments& arguments, const AgentOptions& options,
                     std::size_t sources) {
  const std::string what = options.reporting ? fmt::format("reporting to {}", context.leader.url)
                                             : fmt::format("recording to {}", options.record->string());
  return fmt::format("watching {} source{} on {}, {} every {}\n", sources, sources == 1 ? "" : "s",
                     options.reporting ? options.reporting->node : short_host_name(), what, arguments.period);
}

/// Until a signal comes or the agent cannot go on.
void wait_for_end(const StopSignals& signals, const Agent& agent) {
  std::array<pollfd, 2> watched = {{{signals.fd(), POLLIN, 0}, {agent.failed_fd(), POLLIN, 0}}};
  const auto wait = [&](int milliseconds) {
    if (!signals.requested() && !agent.failure())
      static_cast<void>(::poll(watched.data(), watched.size(), milliseconds));
  };
  wait(kStartUpMilliseconds);
  while (!signals.requested() && !agent.failure()) {
    release_program_pages();
    wait(kTidyMilliseconds);
  }
}

json::object summary_of(const AgentState& state) {
  return {{"readings", state.readings},
          {"batches", state.outbox.pushed},
          {"sent", state.outbox.acknowledged},
          {"refused", state.outbox.given_up},
          {"lost", state.outbox.overflowed + state.outbox.unwritten},
          {"kept_bytes", state.outbox.spool_bytes}};
}

int agent(Context& context, const AgentArguments& arguments) {
  auto options = make_options(context, arguments);
  if (!options) return context.fail(options.error());
  auto sources = make_sources(arguments);
  if (!sources) return context.fail(sources.error());
  const std::string hello = greeting(context, arguments, *options, sources->size());
  const StopSignals signals;
  auto started = Agent::start(std::move(*options), std::move(*sources));
  if (!started) return context.fail(std::move(started).error().within("starting the agent"));
  if (!context.quiet) print_error(hello);
  wait_for_end(signals, **started);
  (*started)->stop();
  if (const auto failure = (*started)->failure()) return context.fail(*failure);
  return context.succeed(summary_of((*started)->state()));
}

}  // namespace

Action add_agent(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<AgentArguments>();
  auto* command = app.add_subcommand("agent", "Watch this node and report to a leader")->group("Cluster");
  command->add_option("--token-file", arguments->token_file, "Join token; needed at the first start")
      ->type_name("FILE");
  command->add_option("--name", arguments->name, "Name of this node [its host name up to the first dot]");
  command->add_option("--state", arguments->state, "Folder for key, spool and runs [DATA/agent]")->type_name("DIR");
  command->add_option("--spool-limit", arguments->spool_limit, "What may wait on the disk for the leader [256MiB]")
      ->type_name("BYTES");
  command->add_option("--period", arguments->period, "Time between readings [1s]")->type_name("DURATION");
  command->add_option("--run-period", arguments->run_period, "The same while a run is on this node [100ms]")
      ->type_name("DURATION");
  command->add_option("--record", arguments->record, "Write everything that is read into a file, too")
      ->type_name("FILE");
  command->add_option("--replay", arguments->replay, "Play a recording instead of reading this machine")
      ->type_name("FILE");
  command->add_option("--seed", arguments->seed, "With --replay: GPUs of their own identity and character");
  command->add_option("--allow", arguments->allow, "What the leader may ask for: doctor, run, none [doctor]")
      ->type_name("LIST");
  command->add_option("--run-as", arguments->run_as, "User that runs for the leader run as; root's agent needs one")
      ->type_name("USER");
  command->add_option("--fingerprint", arguments->fingerprint, "Of the leader's certificate [the join token's]");
  command->add_option("--ca-file", arguments->ca_file, "Authority that the leader's certificate must come from")
      ->type_name("FILE");
  command->add_flag("--no-gpu", arguments->no_gpu, "Do not look for GPUs");
  command->add_flag("--insecure", arguments->insecure, "Allow plain http to another machine");
  command->footer(R"(
Reads this node's CPU, memory, disks, network and GPUs and sends them to the leader; while that is away they wait on
the disk. --leader URL (or ASSAY_LEADER) says where it is. Runs until SIGINT or SIGTERM; needs no root.

Examples:
  assay agent --leader https://leader:8470 --token-file join.token
  assay agent --leader https://leader:8470 --allow doctor,run
  assay agent --record node.rec --period 100ms)");
  return [&context, arguments] { return agent(context, *arguments); };
}

}  // namespace assay
