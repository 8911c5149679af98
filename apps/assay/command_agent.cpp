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
#include "commands.h"
#include "config/numbers.h"
#include "config_flags.h"
#include "gpu_source.h"
#include "launch/local/local_launcher.h"
#include "launch/slurm/job_listing.h"
#include "launch/slurm/slurm_commands.h"
#include "launch_places.h"
#include "net/tls.h"
#include "program_pages.h"
#include "protocol/hello.h"
#include "protocol/paths.h"
#include "run_services.h"
#include "service/agent_config.h"
#include "stop_signals.h"
#include "store/local/local_store.h"
#include "telemetry/metric_source.h"
#include "telemetry/procfs/procfs_source.h"
#include "telemetry/replay/replay_source.h"

namespace assay {
namespace {

/// Until every source was read and the leader knows the node.
constexpr int kStartUpMilliseconds = 5000;
/// Runs that the leader asks for touch code that is not needed afterwards, too.
constexpr int kTidyMilliseconds = 600'000;

/// For the limits of runs; nothing where there are none.
Result<std::optional<ControlGroups>> make_groups(const AgentConfig& config) {
  GroupLimits limits;
  if (config.run_memory) limits.memory_bytes = config.run_memory->count;
  if (config.run_processes) limits.processes = static_cast<std::int64_t>(*config.run_processes);
  if (!limits.any()) return std::optional<ControlGroups>();
  ASSAY_TRY(auto groups, ControlGroups::divide(limits).within("limiting runs"));
  return std::optional(std::move(groups));
}

/// Runs for the leader are done like those of `assay run --on` here, and kept beside the agent's state until it has
/// them.
Result<JobServices> make_job_services_elsewhere(const Context& context, const AgentConfig& config,
                                                const fs::path& state) {
  ASSAY_CHECK(check_runs_elsewhere(config.run_as));
  ASSAY_TRY(auto place, open_place(config.on, context, RunsFor::others));
  if (!place.launcher) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'on: {}' is a node of the leader's, which does its own runs", config.on)};
  }
  ASSAY_TRY(auto store,
            open_local_store(state / "runs", {.tidy = true}).within("opening the store of this agent's runs"));
  return JobServices{.store = std::move(store),
                     .launcher = std::move(place.launcher),
                     .describe_machine = describe_owner,
                     .make_sources = [](std::optional<pid_t>) { return std::vector<std::unique_ptr<MetricSource>>(); },
                     .place = std::move(place.text)};
}

/// Runs for the leader are done like those of `assay run` here, and kept beside the agent's state until it has them.
Result<JobServices> make_job_services(const Context& context, const AgentConfig& config, const fs::path& state) {
  ASSAY_TRY(auto groups, make_groups(config));
  ASSAY_TRY(auto confinement, confinement_of_runs({.state = state,
                                                   .token_file = config.token_file,
                                                   .environment = context.environment,
                                                   .run_as = config.run_as,
                                                   .limits_runs = groups.has_value()}));
  ASSAY_TRY(auto store,
            open_local_store(state / "runs", {.tidy = true}).within("opening the store of this node's runs"));
  return JobServices{.store = std::move(store),
                     .launcher = make_local_launcher(find_programs(), std::move(confinement), std::move(groups)),
                     .describe_machine = describe_this_machine,
                     .make_sources = [with_gpus = !config.no_gpu](std::optional<pid_t> workload) {
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

Result<std::vector<std::unique_ptr<MetricSource>>> make_sources(const AgentConfig& config) {
  std::vector<std::unique_ptr<MetricSource>> sources;
  if (!config.replay.empty()) {
    ASSAY_TRY(auto recording, load_recording(config.replay).within("loading the recording to replay"));
    sources.push_back(
        make_replay_source(std::make_shared<const Recording>(std::move(recording)), {.seed = config.seed}));
    return sources;
  }
  sources.push_back(make_procfs_source({}));
  sources.push_back(make_host_details_source({}));
  if (!config.no_gpu && has_nvidia_gpu()) sources.push_back(make_gpu_source());
  return sources;
}

/// Where other nodes of a run over several reach this one.
std::string own_address(const AgentConfig& config, const Url& leader) {
  if (!config.address.empty()) return config.address;
  auto address = leader.socket_path.empty() ? address_towards(leader.host, leader.port) : std::string("127.0.0.1");
  return address.empty() ? short_host_name() : address;
}

Result<ReportingOptions> make_reporting(const Context& context, const AgentConfig& config, const fs::path& state) {
  ReportingOptions reporting;
  ASSAY_TRY(reporting.url, parse_url(config.leader));
  ASSAY_CHECK(check_transport(reporting.url, config.insecure));
  reporting.node = config.name.empty() ? short_host_name() : config.name;
  if (!is_node_name(reporting.node)) {
    return Error{
        .kind = ErrorKind::usage,
        .message = fmt::format("this machine is called '{}', which cannot be the name of a node", reporting.node),
        .hint = "Give --name: 1 to 64 letters, digits, '-', '_' and '.'."};
  }
  if (!config.token_file.empty()) {
    ASSAY_TRY(const auto text, read_token(context, config.token_file).within("reading the join token"));
    ASSAY_TRY(const auto token, parse_join_token(text));
    reporting.join_secret = token.secret;
    // An authority that was named is to be believed also when it gives the leader another certificate.
    if (config.ca_file.empty()) reporting.trust.fingerprint = token.fingerprint.value_or("");
  }
  if (!config.fingerprint.empty()) {
    ASSAY_TRY(reporting.trust.fingerprint, parse_fingerprint(config.fingerprint));
  }
  reporting.trust.ca_file = config.ca_file;
  reporting.allow.clear();
  if (config.allow.doctor) reporting.allow.insert(Command::Kind::doctor);
  reporting.facts = node_facts(MachineView::real());
  if (!config.rack.empty()) reporting.facts[kRackFact] = config.rack;
  if (!config.holds.empty()) reporting.facts[kHoldsFact] = join(config.holds, ",");
  if (config.allow.runs) {
    ASSAY_TRY(reporting.jobs, config.on.empty() ? make_job_services(context, config, state)
                                                : make_job_services_elsewhere(context, config, state));
  }
  // Which nodes a run is done on elsewhere, that place decides: it does no parts.
  if (reporting.jobs && config.on.empty()) {
    reporting.jobs->address = own_address(config, reporting.url);
    reporting.facts[kAddressFact] = reporting.jobs->address;
  }
  if (config.slurm_jobs) {
    reporting.slurm_jobs = [commands = SlurmCommands()] { return read_slurm_jobs(commands); };
  }
  reporting.spool_limit = config.spool_limit;
  if (!config.on.empty()) {
    reporting.facts[kPlaceFact] = config.on;
    reporting.facts[kPlaceGpusFact] = std::to_string(config.on_gpus);
  }
  reporting.self = {self_path().string()};
  return reporting;
}

Result<AgentOptions> make_options(const Context& context, const AgentConfig& config) {
  AgentOptions options;
  options.state = config.state.empty() ? context.data_folder() / "agent" : config.state;
  options.period = config.period;
  options.run_period = config.run_period;
  if (!config.record.empty()) options.record = config.record;
  options.simulated = !config.replay.empty();
  if (!config.leader.empty()) {
    ASSAY_TRY(options.reporting, make_reporting(context, config, options.state));
  } else if (!options.record) {
    return Error{.kind = ErrorKind::usage,
                 .message = "nothing to do: neither a leader nor a recording was named",
                 .hint =
                     "For example: assay agent --leader https://leader:8470 --token-file join.token\n"
                     "         or: assay agent --record node.rec"};
  }
  return options;
}

std::string greeting(const AgentConfig& config, const AgentOptions& options, std::size_t sources) {
  const std::string what = options.reporting ? fmt::format("reporting to {}", config.leader)
                                             : fmt::format("recording to {}", options.record->string());
  return fmt::format("watching {} source{} on {}, {} every {}\n", sources, sources == 1 ? "" : "s",
                     options.reporting ? options.reporting->node : short_host_name(), what,
                     limit_text(seconds_of(config.period), SettingType::duration));
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

int agent(const Context& context, const AgentConfig& config) {
  auto options = make_options(context, config);
  if (!options) return context.fail(options.error());
  auto sources = make_sources(config);
  if (!sources) return context.fail(sources.error());
  const std::string hello = greeting(config, *options, sources->size());
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
  auto* command = app.add_subcommand("agent", "Watch this node and report to a leader")->group("Cluster");
  auto flags = std::make_shared<ConfigFlags>(*command, agent_table());
  command->footer(R"(
Reads this node's CPU, memory, disks, network and GPUs and sends them to the leader; while that is away they wait on
the disk. --leader URL (or ASSAY_LEADER) says where it is. Runs until SIGINT or SIGTERM; needs no root.

Examples:
  assay agent --leader https://leader:8470 --token-file join.token
  assay agent --leader https://leader:8470 --allow doctor,run
  assay agent --leader https://leader:8470 --allow run --on slurm:partition=gpu --on-gpus 8
  assay agent --config /etc/assay/agent.yaml
  assay agent --record node.rec --period 100ms)");
  return [&context, flags] {
    const auto config = configure(context, agent_table(), *flags);
    return config ? agent(context, *config) : context.fail(config.error());
  };
}

}  // namespace assay
