#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "agent/agent.h"
#include "base/text.h"
#include "config/config_pages.h"
#include "config/config_reader.h"
#include "leader/leader.h"
#include "leader/leader_options.h"
#include "service/agent_config.h"
#include "service/leader_config.h"
#include "service/service_files.h"
#include "store/series/embedded_series_store.h"
#include "support/generated_page.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> mistakes(const ConfigReading& reading) {
  std::vector<std::string> texts;
  for (const Diagnostic& diagnostic : reading.diagnostics) texts.push_back(diagnostic.text());
  return texts;
}

Configured<LeaderConfig> leader(std::string text, std::map<std::string, std::string> environment = {},
                                std::vector<GivenFlag> flags = {}) {
  return read_config(leader_table(), {.file = ConfigText{"etc/leader.yaml", std::move(text)},
                                      .environment = std::move(environment),
                                      .flags = std::move(flags)});
}

std::vector<std::string> leader_mistakes(std::string text) { return mistakes(leader(std::move(text)).reading); }

Configured<AgentConfig> agent(std::string text, std::map<std::string, std::string> environment = {},
                              std::vector<GivenFlag> flags = {}) {
  return read_config(agent_table(), {.file = ConfigText{"agent.yaml", std::move(text)},
                                     .environment = std::move(environment),
                                     .flags = std::move(flags)});
}

TEST(LeaderConfig, DefaultsAreThoseOfTheProgram) {
  const LeaderConfig config = *read_config(leader_table(), {}).config;
  EXPECT_THAT(config.listen, ElementsAre(ListenAddress{.host = "127.0.0.1", .port = 8470}));
  EXPECT_EQ(config.keep_events, LeaderOptions().keep_events);
  EXPECT_EQ(config.events_per_node, LeaderOptions().events_per_node);
  const SeriesStoreOptions series;
  EXPECT_EQ(config.keep_raw, series.keep[0]);
  EXPECT_EQ(config.keep_minutes, series.keep[1]);
  EXPECT_EQ(config.keep_hours, series.keep[2]);
  EXPECT_EQ(config.workers, 4U);
  EXPECT_TRUE(config.backup_to.empty());
  EXPECT_EQ(config.backup_every, std::chrono::hours(24));
  EXPECT_EQ(config.backup_keep, 7U);
  EXPECT_FALSE(config.makes_certificate());
  EXPECT_EQ(config.ldap.user_filter, LdapSettings().user_filter);
  EXPECT_EQ(config.ldap.group_filter, LdapSettings().group_filter);
  EXPECT_EQ(config.ldap.timeout, LdapSettings().timeout);
  EXPECT_EQ(config.ldap.start_tls, LdapSettings().start_tls);
}

TEST(LeaderConfig, BackupsAreAGroup) {
  const auto config = leader("backup: {every: 12h, to: /mnt/backups, keep: 14}\n").config;
  ASSERT_TRUE(config);
  EXPECT_EQ(config->backup_to, "/mnt/backups");
  EXPECT_EQ(config->backup_every, std::chrono::hours(12));
  EXPECT_EQ(config->backup_keep, 14U);
  EXPECT_THAT(leader_mistakes("backup: {keep: 0}\n"), ElementsAre(HasSubstr("must be at least 1")));
}

TEST(AgentConfig, DefaultsAreThoseOfTheProgram) {
  const AgentConfig config = *read_config(agent_table(), {}).config;
  EXPECT_EQ(config.period, AgentOptions().period);
  EXPECT_EQ(config.run_period, AgentOptions().run_period);
  EXPECT_EQ(config.spool_limit, ReportingOptions().spool_limit);
  EXPECT_TRUE(config.allow.doctor);
  EXPECT_FALSE(config.allow.runs);
  EXPECT_FALSE(config.seed);
}

TEST(LeaderConfig, ReadsAFile) {
  const auto read = leader(
      "listen: [\":8470\", unix:/run/x.sock]\ncertificate: tls/a.crt\nkey: /secret/a.key\nkeep: {raw: 30d}\n"
      "keep.minutes: 120d\nwebhooks: https://chat.example.org/hooks/1\nworkers: 8\nalert_command: \"logger -t 'a: "
      "b'\"\n");
  ASSERT_THAT(mistakes(read.reading), IsEmpty());
  const LeaderConfig& config = *read.config;
  EXPECT_EQ(config.listen.size(), 2U);
  EXPECT_EQ(config.listen[1].socket_path, "/run/x.sock");
  EXPECT_EQ(config.certificate, "etc/tls/a.crt") << "counts from the folder of the file";
  EXPECT_EQ(config.key, "/secret/a.key");
  EXPECT_EQ(config.keep_raw, std::chrono::hours(24 * 30));
  EXPECT_EQ(config.keep_minutes, std::chrono::hours(24 * 120));
  EXPECT_THAT(config.webhooks, ElementsAre("https://chat.example.org/hooks/1"));
  EXPECT_EQ(config.workers, 8U);
}

TEST(LeaderConfig, AnEmptyFileIsFine) {
  EXPECT_THAT(leader_mistakes(""), IsEmpty());
  EXPECT_THAT(leader_mistakes("# nothing\n"), IsEmpty());
  EXPECT_THAT(leader_mistakes("- a\n"),
              ElementsAre("etc/leader.yaml:1:1: this is a list. A configuration is a mapping, such as 'workers: 8'."));
}

TEST(LeaderConfig, SaysEveryMistakeAtItsPlaceAndWhatToWrite) {
  EXPECT_THAT(
      leader_mistakes("lisen: ':1'\nkeep: {raws: 1d, hours: 10}\nworkers: 0\ntls: yes\nlisten: [':1', 'nowhere']\n"
                      "raw: 3d\nwebhook: http://x/\n"),
      ElementsAre("etc/leader.yaml:1:1: unknown key 'lisen'. Did you mean 'listen'?",
                  "etc/leader.yaml:2:8: unknown key 'raws' in 'keep'. Did you mean 'raw'?",
                  HasSubstr("etc/leader.yaml:2:25: 'hours: 10' has no unit."),
                  "etc/leader.yaml:3:10: 'workers: 0' must be at least 1.",
                  "etc/leader.yaml:4:6: 'tls: yes' must be true or false. Write 'true'.",
                  "etc/leader.yaml:5:16: 'listen': 'nowhere' has no port. Write 'host:port', '[::]:port', ':port' or "
                  "'unix:/path'.",
                  "etc/leader.yaml:6:1: unknown key 'raw'. Did you mean 'keep.raw'?",
                  "etc/leader.yaml:7:1: unknown key 'webhook'. Did you mean 'webhooks'?"));
}

TEST(LeaderConfig, SaysWhatDoesNotFitTogether) {
  EXPECT_THAT(leader_mistakes("certificate: a.crt\n"),
              ElementsAre("etc/leader.yaml:1:14: 'certificate' and 'key' belong together. Give both, or neither."));
  EXPECT_THAT(leader_mistakes("names: [head]\n"), ElementsAre(HasSubstr("1:8: 'names' are for a certificate")));
  EXPECT_THAT(leader_mistakes("names: [head]\ntls: true\n"), IsEmpty());
  EXPECT_THAT(leader_mistakes("keep: {raw: 100d}\n"),
              ElementsAre(HasSubstr("1:13: 'keep.raw' is longer than 'keep.minutes'")));
  EXPECT_THAT(leader_mistakes("certificat: a.crt\nkey: a.key\n"), testing::SizeIs(1)) << "one mistake, one message";
  EXPECT_THAT(leader_mistakes("certificate: [a]\nkey: a.key\n"), testing::SizeIs(1));
}

TEST(LeaderConfig, ReadsWhatIsSaidOfADirectory) {
  const auto read = leader(
      "ldap:\n  url: ldap://ldap.example.org\n  start_tls: true\n  ca_file: ca.crt\n  user_base: ou=people,dc=x\n"
      "  roles: [admins=admin, 'cn=users,ou=groups,dc=x=user', '*=viewer']\n  timeout: 5s\n",
      {}, {{"ldap.group_base", {"ou=groups,dc=x"}}});
  ASSERT_THAT(mistakes(read.reading), IsEmpty());
  const LdapSettings& ldap = read.config->ldap;
  EXPECT_EQ(ldap.url, "ldap://ldap.example.org");
  EXPECT_TRUE(ldap.start_tls);
  EXPECT_EQ(ldap.ca_file, "etc/ca.crt");
  EXPECT_EQ(ldap.group_base, "ou=groups,dc=x");
  EXPECT_EQ(ldap.timeout, std::chrono::seconds(5));
  EXPECT_THAT(ldap.roles, ElementsAre(GroupRole{"admins", Role::admin},
                                      GroupRole{"cn=users,ou=groups,dc=x", Role::user}, GroupRole{"*", Role::viewer}));
}

TEST(LeaderConfig, SaysWhatIsWrongWithADirectory) {
  EXPECT_THAT(leader_mistakes("ldap: {url: ldap.example.org, user_filter: (uid=x), roles: [admins]}\n"),
              ElementsAre(HasSubstr("1:13: 'url': 'ldap.example.org' does not begin with ldaps://"),
                          HasSubstr("'user_filter': '(uid=x)' would find the same for everybody"),
                          HasSubstr("'roles': 'admins' gives no role. Write GROUP=ROLE")));
  EXPECT_THAT(leader_mistakes("ldap: {url: ldap://ldap.example.org, user_base: dc=x, roles: a=user}\n"),
              ElementsAre(HasSubstr("1:13: passwords would travel in the clear.")));
  EXPECT_THAT(leader_mistakes("ldap: {user_base: dc=x}\n"), ElementsAre(HasSubstr("1:19: 'ldap.user_base' is of a")));
}

TEST(LeaderConfig, FlagsWinOverVariablesAndThoseOverTheFile) {
  const auto read = leader("workers: 5\ntls: true\nevents_per_node: 1000\n",
                           {{"ASSAY_SERVE_WORKERS", "6"}, {"ASSAY_SERVE_EVENTS_PER_NODE", "2000"}, {"OTHER", "x"}},
                           {{"workers", {"7"}}, {"listen", {":1", ":2"}}});
  ASSERT_THAT(mistakes(read.reading), IsEmpty());
  EXPECT_EQ(read.config->workers, 7U);
  EXPECT_EQ(read.config->events_per_node, 2000U);
  EXPECT_EQ(read.config->listen.size(), 2U);
  std::map<std::string_view, std::string> origins;
  for (const ConfigValue& value : read.reading.values) origins[value.row->setting.key] = value.origin.text();
  EXPECT_EQ(origins["workers"], "--workers");
  EXPECT_EQ(origins["events_per_node"], "ASSAY_SERVE_EVENTS_PER_NODE");
  EXPECT_EQ(origins["tls"], "etc/leader.yaml:2");
  EXPECT_EQ(origins["keep.raw"], "default");
}

TEST(LeaderConfig, NamesVariablesAndFlagsInMessages) {
  EXPECT_THAT(mistakes(leader("", {{"ASSAY_SERVE_WORKER", "6"}, {"ASSAY_SERVE_TLS", "1"}}).reading),
              ElementsAre("ASSAY_SERVE_TLS=1: 'tls: 1' must be true or false. Write 'true'.",
                          "ASSAY_SERVE_WORKER=6: no setting belongs to this environment variable. Did you mean "
                          "'ASSAY_SERVE_WORKERS'?"));
  EXPECT_THAT(mistakes(leader("", {}, {{"keep.raw", {"soon"}}}).reading),
              ElementsAre(HasSubstr("--keep-raw soon: 'keep.raw: soon' ")));
  EXPECT_THAT(mistakes(leader("", {}, {{"names", {"head.example.org"}}}).reading),
              ElementsAre(HasSubstr("--name head.example.org: 'names' are for a certificate")));
  EXPECT_THAT(mistakes(leader("", {{"ASSAY_SERVE_WORKERS", ""}}).reading), IsEmpty()) << "an empty one is not given";
}

TEST(LeaderConfig, NeverRepeatsASecret) {
  const std::string secret = "T0KEN-b1gsecret";
  for (const std::string& url : {"https://u:" + secret + "@chat.example.org/x", "ftp://chat.example.org/" + secret,
                                 "unix:/run/" + secret, "https://chat.example.org/" + secret + "#x"}) {
    for (const auto& read : {leader("webhooks: ['" + url + "']\n"), leader("", {{"ASSAY_SERVE_WEBHOOKS", url}}),
                             leader("", {}, {{"webhooks", {url}}})}) {
      ASSERT_THAT(mistakes(read.reading), testing::SizeIs(1)) << url;
      EXPECT_THAT(mistakes(read.reading)[0], testing::Not(HasSubstr(secret)));
    }
  }
  const auto read = leader("webhooks: ['https://chat.example.org/hooks/" + secret + "', 'http://plain:81']\n");
  for (const ConfigValue& value : read.reading.values) {
    if (value.row->setting.key == "webhooks") {
      EXPECT_EQ(written_value(value), "[https://chat.example.org/[redacted], http://plain:81]");
    }
  }
}

TEST(AgentConfig, ReadsAFileVariablesAndFlags) {
  const auto read =
      agent("leader: https://head:8470\nname: gpu03\nspool_limit: 1GiB\nperiod: 500ms\nallow: [doctor, run]\n",
            {{"ASSAY_LEADER", "https://other:8470"}, {"ASSAY_AGENT_OPTIONS", "--no-gpu"}});
  ASSERT_THAT(mistakes(read.reading), IsEmpty());
  EXPECT_EQ(read.config->leader, "https://other:8470");
  EXPECT_EQ(read.config->spool_limit.count, std::int64_t{1} << 30);
  EXPECT_EQ(read.config->period, std::chrono::milliseconds(500));
  EXPECT_TRUE(read.config->allow.doctor && read.config->allow.runs);
  EXPECT_EQ(agent("", {{"ASSAY_LEADER", "https://a:1"}, {"ASSAY_AGENT_LEADER", "https://b:1"}}).config->leader,
            "https://b:1");
  EXPECT_TRUE(agent("", {}, {{"allow", {"doctor,run"}}}).config->allow.runs);
  EXPECT_TRUE(agent("", {{"ASSAY_AGENT_ALLOW", "run"}}).config->allow.runs);
  EXPECT_FALSE(agent("allow: none\n").config->allow.doctor);
  EXPECT_EQ(agent("replay: a.rec\nseed: 7\n").config->seed, 7U);
}

TEST(AgentConfig, SaysEveryMistake) {
  EXPECT_THAT(mistakes(agent("leader: head:8470\nname: no name\nperiod: 1ms\nspool_limit: 5\nallow: [everything]\n"
                             "fingerprint: abc\nseed: -1\ntoken: x\n")
                           .reading),
              ElementsAre(HasSubstr("agent.yaml:1:9: 'leader': 'head:8470' is no URL that can be called. Write"),
                          HasSubstr("agent.yaml:2:7: 'name': a node's name is 1 to 64 letters"),
                          "agent.yaml:3:9: 'period: 1ms' must be at least 10ms.",
                          HasSubstr("agent.yaml:4:14: 'spool_limit: 5' has no unit."),
                          "agent.yaml:5:9: 'allow: everything' is not one of doctor, run, none.",
                          HasSubstr("agent.yaml:6:14: 'fingerprint': 'abc' is no fingerprint"),
                          HasSubstr("agent.yaml:7:7: 'seed: -1' must be at least 0"),
                          "agent.yaml:8:1: unknown key 'token'. Did you mean 'token_file'?"));
  EXPECT_THAT(mistakes(agent("allow: [none, run]\n").reading), ElementsAre(HasSubstr("'none' beside others")));
  EXPECT_THAT(mistakes(agent("seed: 3\n").reading), ElementsAre(HasSubstr("1:7: 'seed' changes a recording")));
}

class EachService : public testing::TestWithParam<Service> {};
INSTANTIATE_TEST_SUITE_P(All, EachService, testing::ValuesIn(kServices),
                         [](const auto& test) { return std::string(rows_of(test.param).about().kind); });

TEST_P(EachService, EveryRowIsComplete) {
  const ConfigRows& table = rows_of(GetParam());
  std::set<std::string> names;
  for (const ConfigRow& row : table.rows()) {
    const Setting& setting = row.setting;
    EXPECT_TRUE(setting.description.ends_with('.')) << setting.key;
    EXPECT_FALSE(setting.example.empty()) << setting.key;
    EXPECT_TRUE(!setting.default_value.empty() || !setting.rule.otherwise.empty() || row.is_group()) << setting.key;
    EXPECT_TRUE(names.insert(std::string(setting.key)).second) << setting.key;
    if (row.is_group()) continue;
    EXPECT_TRUE(names.insert(row.flag()).second) << row.flag();
    EXPECT_TRUE(row.put) << setting.key;
    if (const auto dot = setting.key.find('.'); dot != std::string_view::npos) {
      ASSERT_TRUE(table.find(setting.key.substr(0, dot))) << setting.key;
    }
  }
}

/// Settings of one row alone, since some of them exclude each other.
TEST_P(EachService, EveryDefaultAndExampleIsAccepted) {
  const ConfigRows& table = rows_of(GetParam());
  for (const ConfigRow& row : table.rows()) {
    for (const std::string_view value : {row.setting.default_value, row.setting.example}) {
      if (value.empty()) continue;
      const auto reading =
          read_config_values(table, {.file = ConfigText{"x.yaml", fmt::format("{}: {}\n", row.setting.key, value)},
                                     .environment = {},
                                     .flags = {}});
      EXPECT_THAT(mistakes(reading), IsEmpty()) << row.setting.key;
    }
  }
}

TEST_P(EachService, TheExampleFileIsTheTable) {
  const ConfigRows& table = rows_of(GetParam());
  // As it is, it says nothing; with every '#' of a setting gone it says everything once.
  const ConfigText as_it_is{"x.yaml", config_example(table)};
  for (const ConfigValue& value :
       read_config_values(table, {.file = as_it_is, .environment = {}, .flags = {}}).values) {
    EXPECT_EQ(value.origin.source, Origin::Source::standard);
  }
  const std::string uncommented = std::regex_replace(as_it_is.text, std::regex("(^|\n)( *)#([a-z_]+:)"), "$1$2$3");
  const auto all =
      read_config_values(table, {.file = ConfigText{"x.yaml", uncommented}, .environment = {}, .flags = {}});
  EXPECT_THAT(mistakes(all), IsEmpty()) << uncommented;
  for (const ConfigValue& value : all.values) {
    EXPECT_EQ(value.origin.source, Origin::Source::file) << value.row->setting.key;
  }
}

TEST_P(EachService, TheSchemaKnowsEverySetting) {
  const ConfigRows& table = rows_of(GetParam());
  const json::object schema = file_schema("x", table.settings());
  EXPECT_EQ(schema.at("additionalProperties"), false);
  for (const ConfigRow& row : table.rows()) {
    EXPECT_TRUE(schema.at("properties").as_object().contains(row.setting.key)) << row.setting.key;
  }
}

TEST(ServiceFiles, TellsWhatAFileIsFor) {
  const auto kind = [](std::string text, std::string name = "x.yaml") {
    return kind_of_file({std::move(name), std::move(text)}).service;
  };
  EXPECT_EQ(kind("listen: ':1'\n"), Service::leader);
  EXPECT_EQ(kind("leader: https://x\nname: a\n"), Service::agent);
  EXPECT_EQ(kind("lisen: ':1'\n"), Service::leader) << "a slip";
  EXPECT_EQ(kind("", "/etc/assay/agent.yaml"), Service::agent);
  EXPECT_EQ(kind("a: [\n", "leader.yaml"), Service::leader) << "not even YAML";
  EXPECT_EQ(kind("", "x.yaml"), std::nullopt);
  EXPECT_TRUE(kind_of_file({"x.yaml", "kind: train\nname: a\n"}).specification);
  EXPECT_FALSE(kind_of_file({"x.yaml", "name: a\n"}).specification);
}

/// So that the keys of a file tell which one it is.
TEST(ServiceFiles, NoKeyIsOfBothTables) {
  for (const ConfigRow& row : leader_table().rows())
    EXPECT_FALSE(agent_table().find(row.setting.key)) << row.setting.key;
}

TEST(GeneratedPage, OfExampleConfigurations) {
  for (const Service service : kServices) {
    const std::string file = fmt::format("packaging/{}.yaml", rows_of(service).about().kind);
    test::expect_generated_page(file.c_str(), config_example(rows_of(service)));
  }
}

TEST(GeneratedPage, OfConfiguration) {
  test::expect_generated_page("docs/reference/configuration.md", configuration_reference());
}

}  // namespace
}  // namespace assay
