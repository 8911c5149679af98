#include "service/leader_config.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/config_reader.h"
#include "net/url.h"
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
  table.add(
      {.key = "events_per_hour",
       .type = SettingType::whole,
       .default_value = "10000",
       .description = "More events of a node that arrive within an hour than these are refused, whatever time they "
                      "are said to be from.",
       .example = "100000",
       .rule = {.range = Range{100, 10'000'000}}},
      &LeaderConfig::events_per_hour);
  table.add({.key = "series_per_node",
             .type = SettingType::whole,
             .default_value = "32768",
             .description = "So many series of a node are kept; `assay nodes forget --erase` makes room again.",
             .example = "100000",
             .rule = {.range = Range{100, 1'000'000}}},
            &LeaderConfig::series_per_node);
  table.add({.key = "bytes_per_node",
             .type = SettingType::bytes,
             .default_value = "8GiB",
             .description = "What the telemetry of one node may take on the disk; beyond it its readings are refused. "
                            "`assay nodes forget --erase` makes room again.",
             .example = "50GiB",
             .rule = {.range = Range{0x1p20, 0x1p50}}},
            &LeaderConfig::bytes_per_node);
  table.add({.key = "bytes_per_run",
             .type = SettingType::bytes,
             .default_value = "16GiB",
             .description = "What one run may record, its files included; one that records more is ended.",
             .example = "100GiB",
             .rule = {.range = Range{0x1p20, 0x1p50}}},
            &LeaderConfig::bytes_per_run);
  table.add({.key = "retry_wait",
             .type = SettingType::duration,
             .default_value = "1min",
             .description = "Time before a run that was lost with its node is tried again, where that was asked for; "
                            "doubles with each attempt.",
             .example = "30s",
             .rule = {.range = Range{0.1, kDay}}},
            &LeaderConfig::retry_wait);
  table.add(
      {.key = "lost_after",
       .type = SettingType::duration,
       .default_value = "5min",
       .description = "A node that does a run holds it for a minute at a time. Silent for so long beyond that, it "
                      "is lost: the run is interrupted, its GPUs are free, and further attempts begin.",
       .example = "30s",
       .rule = {.range = Range{1, kDay}}},
      &LeaderConfig::lost_after);
  table.add({.key = "slurm_from",
             .type = SettingType::text,
             .description = "Node whose agent tells which jobs Slurm has ('slurm_jobs' there); where they are, nothing "
                            "of ours begins.",
             .example = "login1",
             .rule = {.range = Range{1, 64}, .otherwise = "nobody is believed about Slurm"}},
            &LeaderConfig::slurm_from, {.value_name = "NODE", .check = wrong_node_name});
  table.add({.key = "workers",
             .type = SettingType::whole,
             .default_value = "4",
             .description = "Threads that answer people; agents have as many.",
             .example = "8",
             .rule = {.range = Range{1, 256}}},
            &LeaderConfig::workers);
}

/// A setting of the directory: one member of `LeaderConfig::ldap`.
template <typename T>
void add_ldap(ConfigTable<LeaderConfig>& table, Setting setting, T LdapSettings::* member, RowExtras extras = {}) {
  const auto put = [member](LeaderConfig& config, const json::value& value) {
    assign_member(config.ldap.*member, value);
  };
  table.add(std::move(setting), put, std::move(extras));
}

void add_directory(ConfigTable<LeaderConfig>& table) {
  table.group({.key = "ldap",
               .description = "A directory whose users may log in with their passwords (docs/guides/ldap.md).",
               .example = "{url: \"ldaps://ldap.example.org\"}"});
  add_ldap(table,
           {.key = "ldap.url",
            .type = SettingType::text,
            .description = "Where the directory is: ldaps://host, or ldap://host together with start_tls.",
            .example = "ldaps://ldap.example.org",
            .rule = {.range = Range{1, 512}, .otherwise = "no directory is asked"}},
           &LdapSettings::url, {.value_name = "URL", .check = wrong_by(parse_ldap_url)});
  add_ldap(table,
           {.key = "ldap.start_tls",
            .type = SettingType::boolean,
            .default_value = "false",
            .description = "TLS on a connection that begins without, before anything else is said.",
            .example = "true"},
           &LdapSettings::start_tls);
  add_ldap(table,
           {.key = "ldap.ca_file",
            .type = SettingType::path,
            .description = "PEM file with the authorities that the directory's certificate must come from.",
            .example = "/etc/assay/ldap-ca.crt",
            .rule = {.range = kPath, .otherwise = "those that the system's LDAP library trusts"}},
           &LdapSettings::ca_file);
  add_ldap(table,
           {.key = "ldap.timeout",
            .type = SettingType::duration,
            .default_value = "10s",
            .description = "How long the directory may take to answer for one log-in.",
            .example = "5s",
            .rule = {.range = Range{0.1, 120}}},
           &LdapSettings::timeout);
}

void add_directory_log_in(ConfigTable<LeaderConfig>& table) {
  add_ldap(table,
           {.key = "ldap.bind_dn",
            .type = SettingType::text,
            .description = "Who searches the directory.",
            .example = "cn=assay,ou=services,dc=example,dc=org",
            .rule = {.range = Range{1, 1024}, .otherwise = "nobody in particular"}},
           &LdapSettings::bind_dn, {.value_name = "DN"});
  add_ldap(table,
           {.key = "ldap.bind_password_file",
            .type = SettingType::path,
            .description = "File with the password of bind_dn, readable by its owner alone.",
            .example = "/etc/assay/ldap.password",
            .rule = {.range = kPath, .otherwise = "there is no bind_dn"}},
           &LdapSettings::bind_password_file);
}

void add_directory_search(ConfigTable<LeaderConfig>& table) {
  add_ldap(table,
           {.key = "ldap.user_base",
            .type = SettingType::text,
            .description = "DN below which users are; needed with a url.",
            .example = "ou=people,dc=example,dc=org",
            .rule = {.range = Range{1, 1024}, .otherwise = "there is no url"}},
           &LdapSettings::user_base, {.value_name = "DN"});
  add_ldap(table,
           {.key = "ldap.user_filter",
            .type = SettingType::text,
            .default_value = "(uid={user})",
            .description = "Which entry is a user's; {user} stands for what was typed.",
            .example = "(sAMAccountName={user})",
            .rule = {.range = Range{1, 4096}}},
           &LdapSettings::user_filter, {.value_name = "FILTER", .check = wrong_by(parse_user_filter)});
  add_ldap(table,
           {.key = "ldap.group_base",
            .type = SettingType::text,
            .description = "DN below which groups are.",
            .example = "ou=groups,dc=example,dc=org",
            .rule = {.range = Range{1, 1024}, .otherwise = "groups are those of the user's attribute memberOf"}},
           &LdapSettings::group_base, {.value_name = "DN"});
  add_ldap(table,
           {.key = "ldap.group_filter",
            .type = SettingType::text,
            .default_value = "(|(member={dn})(memberUid={user}))",
            .description = "Which groups are a user's; {dn} stands for the DN of the user.",
            .example = "(member={dn})",
            .rule = {.range = Range{1, 4096}}},
           &LdapSettings::group_filter, {.value_name = "FILTER", .check = wrong_by(parse_group_filter)});
  table.add({.key = "ldap.roles",
             .type = SettingType::texts,
             .description = "GROUP=ROLE: which role the members of a group have, by its name or DN; of several the "
                            "greatest. *=ROLE is for everybody in the directory.",
             .example = "[gpu-admins=admin, gpu-users=user, \"*=viewer\"]",
             .rule = {.range = Range{1, 1024}, .items = "groups with their roles", .otherwise = "there is no url"}},
            [](LeaderConfig& config, const json::value& value) {
              config.ldap.roles.clear();
              for (const json::value& item : value.as_array()) {
                config.ldap.roles.push_back(parse_group_role(item.as_string()).value());
              }
            },
            {.flag = "ldap-role", .value_name = "GROUP=ROLE", .check = wrong_by(parse_group_role)});
}

void check_directory(const LeaderConfig& config, CrossCheck& cross) {
  for (const LdapMistake& mistake : mistakes_between(config.ldap)) {
    cross.refuse({mistake.key, mistake.other}, mistake.message);
  }
}

void add_backups(ConfigTable<LeaderConfig>& table) {
  table.group({.key = "backup",
               .description =
                   "Backups that the leader makes by itself, each in a folder of its own and read back before "
                   "it counts. One that fails stands among the leader's problems.",
               .example = "{to: /var/lib/assay-backups, every: 1d, keep: 7}"});
  table.add({.key = "backup.to",
             .type = SettingType::path,
             .description = "Folder for scheduled backups, which the leader's user must be able to write.",
             .example = "/var/lib/assay-backups",
             .rule = {.range = kPath, .otherwise = "no scheduled backups"}},
            &LeaderConfig::backup_to, {.value_name = "DIR"});
  table.add({.key = "backup.every",
             .type = SettingType::duration,
             .default_value = "1d",
             .description = "Time from one scheduled backup to the next.",
             .example = "1d",
             .rule = {.range = Range{60, 366 * kDay}}},
            &LeaderConfig::backup_every);
  table.add({.key = "backup.keep",
             .type = SettingType::whole,
             .default_value = "7",
             .description = "So many scheduled backups are kept; the oldest goes once a new one is there.",
             .example = "7",
             .rule = {.range = Range{1, 10'000}}},
            &LeaderConfig::backup_keep);
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
    add_directory(made);
    add_directory_log_in(made);
    add_directory_search(made);
    add_backups(made);
    add_people(made);
    made.check(check_certificate);
    made.check(check_keeping);
    made.check(check_directory);
    return made;
  }();
  return table;
}

}  // namespace assay
