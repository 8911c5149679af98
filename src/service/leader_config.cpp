#include "service/leader_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/config_reader.h"
#include "service/text_checks.h"

namespace assay {
namespace {

constexpr double kDay = 86400;
constexpr Range kKeep{0, 36500 * kDay};
constexpr Range kPath{1, 4096};

std::optional<std::string> wrong_webhook(const std::string& text) {
  if (text.starts_with("unix:")) return "a webhook's URL begins with http:// or https://.";
  return wrong_by(parse_url)(text);
}

void add_network(ConfigTable<LeaderConfig>& table) {
  table.add(
      {.key = "listen",
       .type = SettingType::texts,
       .default_value = "127.0.0.1:8470",
       .description = "Addresses to listen on: host:port, :port (every address), unix:/path. Plain HTTP is spoken on "
                      "loopback alone.",
       .example = "[\":8470\", \"unix:/run/assay/leader.sock\"]",
       .rule = {.items = "addresses"}},
      [](LeaderConfig& config, const json::value& value) {
        config.listen.clear();
        for (const json::value& item : value.as_array()) {
          config.listen.push_back(parse_listen_address(item.as_string()).value());
        }
      },
      {.value_name = "ADDRESS", .check = wrong_by(parse_listen_address)});
  table.add({.key = "certificate",
             .type = SettingType::path,
             .description = "PEM file with the certificate chain.",
             .example = "/etc/assay/leader.crt",
             .rule = {.range = kPath, .otherwise = "the leader makes a certificate where it needs one"}},
            &LeaderConfig::certificate);
  table.add({.key = "key",
             .type = SettingType::path,
             .description = "PEM file with the key of the certificate.",
             .example = "/etc/assay/leader.key",
             .rule = {.range = kPath, .otherwise = "that of the certificate it makes"}},
            &LeaderConfig::key);
  table.add({.key = "tls",
             .type = SettingType::boolean,
             .default_value = "false",
             .description = "TLS on loopback, too, with a certificate of its own.",
             .example = "true"},
            &LeaderConfig::tls);
  table.add(
      {.key = "pin",
       .type = SettingType::choice,
       .default_value = "certificate",
       .description = "By what join tokens let nodes know the leader: its certificate, its key, which a renewed "
                      "certificate may keep, or the authority at the end of the chain in the file.",
       .example = "key",
       .rule = {.choices = {"certificate", "key", "authority"}}},
      [](LeaderConfig& config, const json::value& value) {
        config.pin = value == "key" ? Pinned::key : value == "authority" ? Pinned::authority : Pinned::certificate;
      },
      {.value_name = "WHAT"});
  table.add({.key = "names",
             .type = SettingType::texts,
             .description = "Further names or addresses of this machine, for the certificate that it makes itself.",
             .example = "[head.example.org]",
             .rule = {.range = Range{1, 253}, .otherwise = "those that the machine has"}},
            &LeaderConfig::names, {.flag = "name", .value_name = "NAME"});
}

void add_alerts(ConfigTable<LeaderConfig>& table) {
  table.add({.key = "rules",
             .type = SettingType::path,
             .description = "YAML file with rules for alerts (docs/reference/watch-rules.md).",
             .example = "rules.yaml",
             .rule = {.range = kPath, .otherwise = "the standard rules"}},
            &LeaderConfig::rules);
  table.add({.key = "webhooks",
             .type = SettingType::texts,
             .description = "URLs that get each alert as JSON.",
             .example = "[\"https://chat.example.org/hooks/gpu\"]",
             .rule = {.range = Range{1, 4096}, .items = "URLs", .otherwise = "none", .secret = true}},
            &LeaderConfig::webhooks, {.flag = "webhook", .value_name = "URL", .check = wrong_webhook});
  table.add({.key = "alert_command",
             .type = SettingType::text,
             .description = "Shell command that gets each alert as JSON on its standard input.",
             .example = "logger -t assay",
             .rule = {.range = Range{1, 4096}, .otherwise = "none", .secret = true}},
            &LeaderConfig::alert_command, {.value_name = "COMMAND"});
}

void add_keeping(ConfigTable<LeaderConfig>& table) {
  table.add({.key = "data",
             .type = SettingType::path,
             .description = "Folder where everything is kept.",
             .example = "/var/lib/assay",
             .rule = {.range = kPath, .otherwise = "$XDG_DATA_HOME/assay, else ~/.local/share/assay"}},
            &LeaderConfig::data, {.variable = "ASSAY_DATA", .value_name = "DIR", .common_flag = true});
  table.group({.key = "keep",
               .description = "How long telemetry and events are kept, counted back from the newest readings.",
               .example = "{raw: 30d}"});
  const auto keep = [&](std::string_view key, std::string_view standard, std::string_view description,
                        Nanos LeaderConfig::* member) {
    table.add({.key = key,
               .type = SettingType::duration,
               .default_value = standard,
               .description = description,
               .example = standard,
               .rule = {.range = kKeep}},
              member);
  };
  keep("keep.raw", "14d", "How long every value is kept.", &LeaderConfig::keep_raw);
  keep("keep.minutes", "90d", "How long minutes are kept.", &LeaderConfig::keep_minutes);
  keep("keep.hours", "730d", "How long hours are kept.", &LeaderConfig::keep_hours);
  keep("keep.events", "730d", "How long events and resolved alerts are kept.", &LeaderConfig::keep_events);
  table.add({.key = "events_per_node",
             .type = SettingType::whole,
             .default_value = "100000",
             .description = "Of more events of a node than these, the oldest are forgotten.",
             .example = "1000000",
             .rule = {.range = Range{100, 100'000'000}}},
            &LeaderConfig::events_per_node);
  table.add({.key = "series_per_node",
             .type = SettingType::whole,
             .default_value = "32768",
             .description = "So many series of a node are kept; `assay nodes forget --erase` makes room again.",
             .example = "100000",
             .rule = {.range = Range{100, 1'000'000}}},
            &LeaderConfig::series_per_node);
  table.add({.key = "workers",
             .type = SettingType::whole,
             .default_value = "4",
             .description = "Threads that answer people; agents have as many.",
             .example = "8",
             .rule = {.range = Range{1, 256}}},
            &LeaderConfig::workers);
}

void add_people(ConfigTable<LeaderConfig>& table) {
  table.add({.key = "anonymous",
             .type = SettingType::boolean,
             .default_value = "false",
             .description = "Whoever reaches the leader may look at everything, without an account or a token.",
             .example = "true"},
            &LeaderConfig::anonymous);
  table.add({.key = "behind_proxy",
             .type = SettingType::boolean,
             .default_value = "false",
             .description = "A proxy on this machine stands before the leader: what it says of where a request comes "
                            "from, and whether by TLS, is believed.",
             .example = "true"},
            &LeaderConfig::behind_proxy);
  table.group(
      {.key = "session", .description = "How long people stay signed in.", .example = "{idle: 1h, length: 24h}"});
  const auto time = [&](std::string_view key, std::string_view standard, std::string_view description,
                        Nanos LeaderConfig::* member) {
    table.add({.key = key,
               .type = SettingType::duration,
               .default_value = standard,
               .description = description,
               .example = standard,
               .rule = {.range = Range{60, 366 * kDay}}},
              member);
  };
  time("session.idle", "12h", "Signed out after so long without a request.", &LeaderConfig::session_idle);
  time("session.length", "7d", "Signed out after so long in any case.", &LeaderConfig::session_length);
}

void check_certificate(const LeaderConfig& config, CrossCheck& cross) {
  if (config.certificate.empty() != config.key.empty()) {
    cross.refuse({"certificate", "key"}, "'certificate' and 'key' belong together. Give both, or neither.");
  }
  if (config.names.empty() || config.makes_certificate()) return;
  cross.refuse({"names", "certificate", "tls", "listen"},
               config.certificate.empty()
                   ? "'names' are for a certificate that the leader makes itself, and on loopback it makes none. Leave "
                     "them out, or add 'tls: true'."
                   : "'names' are for a certificate that the leader makes itself, and one is given. Leave them out, or "
                     "'certificate' and 'key'.");
}

void check_keeping(const LeaderConfig& config, CrossCheck& cross) {
  if (config.keep_raw > config.keep_minutes) {
    cross.refuse(
        {"keep.raw", "keep.minutes"},
        "'keep.raw' is longer than 'keep.minutes': what is kept gets coarser with its age. Shorten it, or keep "
        "minutes for longer.");
  }
  if (config.keep_minutes > config.keep_hours) {
    cross.refuse({"keep.minutes", "keep.hours"},
                 "'keep.minutes' is longer than 'keep.hours': what is kept gets coarser with its age. Shorten it, or "
                 "keep hours for longer.");
  }
}

}  // namespace

bool LeaderConfig::is_reachable() const {
  return !std::all_of(listen.begin(), listen.end(),
                      [](const ListenAddress& address) { return address.is_unix() || is_loopback_host(address.host); });
}

const ConfigTable<LeaderConfig>& leader_table() {
  static const ConfigTable<LeaderConfig> table = [] {
    ConfigTable<LeaderConfig> made(
        {.kind = "leader", .command = "serve", .prefix = "ASSAY_SERVE_", .page = "docs/reference/configuration.md"});
    add_network(made);
    add_alerts(made);
    add_keeping(made);
    add_people(made);
    made.check(check_certificate);
    made.check(check_keeping);
    return made;
  }();
  return table;
}

}  // namespace assay
