#include "service/agent_config.h"

#include "config/config_reader.h"
#include "launch/place_text.h"
#include "net/tls.h"
#include "net/url.h"
#include "service/text_checks.h"
#include "telemetry/sampler.h"

namespace assay {
namespace {

constexpr Range kPathLength{1, 4096};
const Range kPeriod{seconds_of(kShortestPeriod), seconds_of(kLongestPeriod)};

std::optional<std::string> wrong_address(const std::string& text) {
  constexpr std::string_view kFits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
  if (text.find_first_not_of(kFits) == std::string::npos) return std::nullopt;
  return "an address is the name of a host or an IP address, without a port.";
}

std::optional<std::string> wrong_held(const std::string& text) {
  if (text.starts_with('/') && text.find(',') == std::string::npos) return std::nullopt;
  return "what a node holds is named by its whole path, without commas.";
}

void add_connection(ConfigTable<AgentConfig>& table) {
  table.add({.key = "leader",
             .type = SettingType::text,
             .description = "URL of the leader.",
             .example = "https://leader.example.org:8470",
             .rule = {.range = kPathLength, .otherwise = "the agent only records"}},
            &AgentConfig::leader,
            {.variable = "ASSAY_LEADER", .value_name = "URL", .common_flag = true, .check = wrong_by(parse_url)});
  table.add({.key = "token_file",
             .type = SettingType::path,
             .description = "File with the join token; needed at the first start.",
             .example = "/etc/assay/join.token",
             .rule = {.range = kPathLength, .otherwise = "the node has joined before"}},
            &AgentConfig::token_file);
  table.add(
      {.key = "fingerprint",
       .type = SettingType::text,
       .description = "By what the leader is known: SHA-256 of its certificate, key or authority; several have commas.",
       .example = "sha256:4f2bd1e4c9a7c0d3b58e6f1a2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a",
       .rule = {.range = Range{1, 200}, .otherwise = "that of the join token"}},
      &AgentConfig::fingerprint, {.value_name = "SHA256", .check = wrong_by(parse_fingerprint)});
  table.add({.key = "ca_file",
             .type = SettingType::path,
             .description = "Authority that the leader's certificate must come from.",
             .example = "/etc/assay/ca.crt",
             .rule = {.range = kPathLength, .otherwise = "the system's, unless there is a fingerprint"}},
            &AgentConfig::ca_file);
  table.add({.key = "insecure",
             .type = SettingType::boolean,
             .default_value = "false",
             .description = "Allow plain http to another machine.",
             .example = "true"},
            &AgentConfig::insecure);
  table.add({.key = "allow",
             .type = SettingType::choices,
             .default_value = "doctor",
             .description = "What the leader may ask for.",
             .example = "[doctor, run]",
             .rule = {.choices = {"doctor", "run", "none"}}},
            [](AgentConfig& config, const json::value& value) {
              config.allow = {};
              for (const json::value& word : value.as_array()) {
                config.allow.doctor = config.allow.doctor || word == "doctor";
                config.allow.runs = config.allow.runs || word == "run";
                config.allow.nothing = config.allow.nothing || word == "none";
              }
            });
  table.add({.key = "run_as",
             .type = SettingType::text,
             .description = "User that runs for the leader run as; an agent of root's needs one.",
             .example = "bench",
             .rule = {.range = Range{1, 64}, .otherwise = "as the agent"}},
            &AgentConfig::run_as, {.value_name = "USER"});
  table.add({.key = "run_memory",
             .type = SettingType::bytes,
             .description = "Memory of the host that one run for the leader may take; takes cgroup v2.",
             .example = "64GiB",
             .rule = {.range = Range{0x1p20, 0x1p50}, .otherwise = "no limit"}},
            &AgentConfig::run_memory);
  table.add({.key = "run_processes",
             .type = SettingType::whole,
             .description = "Processes and threads that one run for the leader may have; takes cgroup v2.",
             .example = "10000",
             .rule = {.range = Range{8, 1e7}, .otherwise = "no limit"}},
            &AgentConfig::run_processes);
  table.add({.key = "on",
             .type = SettingType::text,
             .description = "Where runs for the leader are done instead of on this node, as the agent's own user: "
                            "slurm:partition=gpu and the like. They outlive the agent.",
             .example = "slurm:partition=gpu,folder=/shared/assay",
             .rule = {.range = kPathLength, .otherwise = "on this node"}},
            &AgentConfig::on, {.value_name = "PLACE", .check = wrong_by(parse_place)});
  table.add({.key = "on_gpus",
             .type = SettingType::whole,
             .default_value = "0",
             .description = "GPUs that runs may have at once where 'on' says, at most as many as one node has there.",
             .example = "8",
             .rule = {.range = Range{0, 64}}},
            &AgentConfig::on_gpus);
}

void add_node(ConfigTable<AgentConfig>& table) {
  table.add({.key = "name",
             .type = SettingType::text,
             .description = "Name of this node.",
             .example = "gpu03",
             .rule = {.range = Range{1, 200}, .otherwise = "the host name up to the first dot"}},
            &AgentConfig::name, {.value_name = "NAME", .check = wrong_node_name});
  table.add({.key = "address",
             .type = SettingType::text,
             .description = "Where other nodes reach this one in a run over several: a name or an IP address.",
             .example = "10.0.0.13",
             .rule = {.range = Range{1, 253}, .otherwise = "the address from which it reaches the leader"}},
            &AgentConfig::address, {.value_name = "HOST", .check = wrong_address});
  table.add({.key = "rack",
             .type = SettingType::text,
             .description = "Nodes with the same one talk to each other fastest; runs over several go there first.",
             .example = "r12",
             .rule = {.range = Range{1, 64}, .otherwise = "not known"}},
            &AgentConfig::rack, {.value_name = "NAME"});
  table.add({.key = "holds",
             .type = SettingType::texts,
             .description = "Paths of data sets that this node has at hand; runs that read them go there first.",
             .example = "[/data/cifar10]",
             .rule = {.range = kPathLength, .items = "paths", .otherwise = "none"}},
            &AgentConfig::holds, {.value_name = "PATH", .check = wrong_held});
  table.add({.key = "state",
             .type = SettingType::path,
             .description = "Folder for key, spool and runs; one agent at a time.",
             .example = "/var/lib/assay-agent",
             .rule = {.range = kPathLength, .otherwise = "`agent` in the data folder (`--data`)"}},
            &AgentConfig::state, {.value_name = "DIR"});
  table.add({.key = "spool_limit",
             .type = SettingType::bytes,
             .default_value = "256MiB",
             .description = "What may wait on the disk for the leader.",
             .example = "1GiB",
             .rule = {.range = Range{0x1p20, 0x1p50}}},
            &AgentConfig::spool_limit);
}

void add_readings(ConfigTable<AgentConfig>& table) {
  table.add({.key = "period",
             .type = SettingType::duration,
             .default_value = "1s",
             .description = "Time between readings; a leader may ask for another one.",
             .example = "10s",
             .rule = {.range = kPeriod}},
            &AgentConfig::period);
  table.add({.key = "run_period",
             .type = SettingType::duration,
             .default_value = "100ms",
             .description = "The same while a run is on this node.",
             .example = "50ms",
             .rule = {.range = kPeriod}},
            &AgentConfig::run_period);
  table.add({.key = "slurm_jobs",
             .type = SettingType::boolean,
             .default_value = "false",
             .description = "Tell the leader which jobs Slurm has, whoever's they are: one node of a cluster does "
                            "(docs/guides/slurm.md).",
             .example = "true"},
            &AgentConfig::slurm_jobs);
  table.add({.key = "no_gpu",
             .type = SettingType::boolean,
             .default_value = "false",
             .description = "Do not look for GPUs; without any of NVIDIA in the machine nobody does.",
             .example = "true"},
            &AgentConfig::no_gpu);
  table.add({.key = "record",
             .type = SettingType::path,
             .description = "Write everything that is read into a file, too.",
             .example = "node.rec",
             .rule = {.range = kPathLength, .otherwise = "nothing is written"}},
            &AgentConfig::record);
  table.add({.key = "replay",
             .type = SettingType::path,
             .description = "Play a recording instead of reading this machine.",
             .example = "node.rec",
             .rule = {.range = kPathLength, .otherwise = "this machine is read"}},
            &AgentConfig::replay);
  table.add({.key = "seed",
             .type = SettingType::whole,
             .description = "With a recording: GPUs of their own identity and character.",
             .example = "7",
             .rule = {.range = Range{0, 9007199254740991}, .otherwise = "those of the recording"}},
            &AgentConfig::seed);
}

void check_together(const AgentConfig& config, CrossCheck& cross) {
  if (config.seed && config.replay.empty()) {
    cross.refuse({"seed", "replay"},
                 "'seed' changes a recording that is played, and none is. Give 'replay', or leave "
                 "'seed' out.");
  }
  if (!config.on.empty() && (config.run_memory || config.run_processes)) {
    cross.refuse(
        {"on", config.run_memory ? "run_memory" : "run_processes"},
        "'run_memory' and 'run_processes' are for runs on this node, and 'on' has them done elsewhere. Say the "
        "limits there: 'slurm:memory=64G'.");
  }
  if (!config.on.empty() && !config.allow.runs) {
    cross.refuse({"on", "allow"}, "'on' says where runs are done, and none are allowed. Write 'allow: [doctor, run]'.");
  }
  if (config.on.empty() && config.on_gpus > 0) {
    cross.refuse({"on_gpus", "on"}, "'on_gpus' is for runs that are done elsewhere. Give 'on', or leave it out.");
  }
  if (config.allow.nothing && (config.allow.doctor || config.allow.runs)) {
    cross.refuse({"allow"}, "'allow' has 'none' beside others. Write 'allow: none', or leave 'none' out.");
  }
}

}  // namespace

const ConfigTable<AgentConfig>& agent_table() {
  static const ConfigTable<AgentConfig> table = [] {
    ConfigTable<AgentConfig> made({.kind = "agent",
                                   .command = "agent",
                                   .prefix = "ASSAY_AGENT_",
                                   .page = "docs/reference/configuration.md",
                                   .other_variables = {"ASSAY_AGENT_OPTIONS"}});
    add_connection(made);
    add_node(made);
    add_readings(made);
    made.check(check_together);
    return made;
  }();
  return table;
}

}  // namespace assay
