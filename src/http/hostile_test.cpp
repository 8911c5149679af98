#include <fmt/format.h>

#include <set>

#include "base/files.h"
#include "http/gatekeeper.h"
#include "http/http_fixture.h"
#include "http/leader_router.h"
#include "leader/node_registry.h"
#include "leader/test_agent_fixture.h"
#include "model/run.h"
#include "net/http_server.h"
#include "store/local/local_store.h"
#include "store/run_store.h"
#include "store/run_writer.h"

namespace assay {
namespace {

/// Bodies that nobody sends by accident. None may cost more than an answer below 500.
std::vector<std::string> hostile_bodies() {
  std::string deep(100'000, '[');
  std::string deep_object;
  for (int i = 0; i < 10'000; ++i) deep_object += R"({"a":)";
  std::string many_keys = "{";
  for (int i = 0; i < 20'000; ++i) many_keys += fmt::format(R"("k{}":{},)", i, i);
  many_keys += R"("end":0})";
  std::vector<std::string> bodies = {"",
                                     " ",
                                     "null",
                                     "[]",
                                     "0",
                                     "1e999999",
                                     "-",
                                     "\"",
                                     "{",
                                     "{}",
                                     "{}{}",
                                     "\xff\xfe",
                                     std::string(1, '\0'),
                                     "{\"reason\": \"\xc3\x28\"}",
                                     R"({"reason": "\u0000\u001b[2J"})",
                                     R"({"reason": "\ud800"})",
                                     deep,
                                     deep_object,
                                     many_keys};
  const std::vector<std::string> values = {"null",
                                           "true",
                                           "5",
                                           "-1",
                                           "1e308",
                                           "123456789012345678901234567890",
                                           "[]",
                                           "{}",
                                           R"("")",
                                           R"("\u0000")",
                                           "\"" + std::string(300'000, 'x') + "\""};
  for (const char* key : {"reason", "note", "kind", "arguments", "for", "rule", "folder", "node", "key", "schema",
                          "stream", "period_ms", "facts", "allow", "state", "exit_code", "output"}) {
    for (const auto& value : values) bodies.push_back(fmt::format(R"({{"{}": {}}})", key, value));
  }
  bodies.push_back(R"({"schema": 1, "stream": "x", "period_ms": 9223372036854775807})");
  bodies.push_back(R"({"schema": 1e300, "stream": "x"})");
  bodies.push_back(R"({"for": "9223372036854775807ns"})");
  bodies.push_back(R"({"for": "1e300s"})");
  bodies.push_back(R"({"state": "done", "exit_code": 1e300})");
  bodies.push_back(R"({"kind": "run", "arguments": {"spec": {"spec": []}}})");
  return bodies;
}

class Hostile : public LeaderServerTest {
 protected:
  Hostile() {
    for (const auto& agent : {TestAgent("gpu01", "one"), TestAgent("gpu02", "two")}) hello(agent);
    serve();
  }
};

TEST_F(Hostile, NoBodyOfAnAdministratorIsMoreThanAMistake) {
  for (const auto& body : hostile_bodies()) {
    for (const char* target :
         {"/api/v1/nodes/gpu01/drain", "/api/v1/nodes/gpu01/resume", "/api/v1/nodes/gpu01/commands",
          "/api/v1/alerts/x/acknowledge", "/api/v1/silences", "/agent/v1/join"}) {
      const auto response = send("POST", target, bearer(Role::admin), body);
      EXPECT_GE(response.status, 200) << target << " " << body.substr(0, 80);
      EXPECT_LT(response.status, 500) << target << " " << body.substr(0, 80);
      EXPECT_TRUE(parse_json(response.body).ok()) << target << " " << response.body.substr(0, 200);
    }
  }
  EXPECT_EQ(send("GET", "/health", {}).status, 200);
  server_.reset();
  open();
  EXPECT_NE(leader_->nodes().find("gpu01"), nullptr) << "what was kept can be read again";
}

TEST_F(Hostile, NoBodyOfAnAgentIsMoreThanAMistake) {
  for (const auto& body : hostile_bodies()) {
    for (const char* target : {"/agent/v1/hello", "/agent/v1/batch", "/agent/v1/commands/x", "/agent/v1/jobs/r/take",
                               "/api/v1/runs/r/frames?journal=j&owner=gpu01&epoch=1&offset=0"}) {
      const auto response = send("POST", target, agent("gpu01"), body);
      EXPECT_LT(response.status, 500) << target << " " << body.substr(0, 80);
    }
  }
  EXPECT_EQ(send("GET", "/health", {}).status, 200);
}

TEST_F(Hostile, NoPathOrQueryIsMoreThanAMistake) {
  const std::vector<std::string> texts = {
      "%FF%FE", "%00", "%0A%0D",    "..%2F..", "%27%20OR%201=1", std::string(4000, 'a'), "%1B[2J",
      "{node}", "*",   "%2A%2A%2A", "-1",      "1e999"};
  for (const auto& text : texts) {
    for (const std::string& target :
         {"/api/v1/nodes/" + text, "/api/v1/commands/" + text, "/api/v1/events?node=" + text,
          "/api/v1/events?limit=" + text, "/api/v1/events?before=" + text, "/api/v1/events?from=" + text,
          "/api/v1/events?from=9999-12-31T23:59:59Z&to=0000-01-01T00:00:00Z&kind=" + text, "/api/v1/series?q=" + text,
          "/api/v1/query?q=" + text, "/api/v1/query?q=x%20last=" + text, "/api/v1/query?q=x%20width=" + text,
          "/api/v1/query?q=x%20points=" + text, "/api/v1/alerts?node=" + text, "/api/v1/" + text}) {
      const auto response = send("GET", target, bearer(Role::admin));
      EXPECT_LT(response.status, 500) << target << ": " << response.body.substr(0, 200);
      EXPECT_TRUE(parse_json(response.body).ok()) << target << ": " << response.body.substr(0, 200);
    }
    for (const std::string& target : {"/api/v1/nodes/" + text, "/api/v1/silences/" + text}) {
      EXPECT_LT(send("DELETE", target, bearer(Role::admin)).status, 500) << target;
    }
  }
}

/// Over folders, where a name could lead to another one.
class HostileNames : public LeaderServerTest {
 protected:
  static constexpr const char* kSecret = "nobody's business";

  HostileNames() {
    leader_.reset();
    auto store = open_local_store(folder_.path() / "data", {.sharing = {}, .clock = &clock_});
    EXPECT_TRUE(store.ok()) << store.error().text();
    runs_ = std::move(*store);
    open();
    gatekeeper_ = make_gatekeeper(*leader_, *book_);
    Run run{.id = "r", .kind = "null"};
    EXPECT_TRUE(begin_run(*runs_, run).ok());
    for (const char* place : {"secret", "data/secret", "data/runs/secret", "data/runs/r/secret"}) {
      EXPECT_TRUE(write_file_atomically(folder_.path() / place, kSecret).ok());
    }
    serve();
    files_ = files();
  }
  /// Every file that there is, but those that a database writes beside its own.
  std::set<std::string> files() const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.path().filename().string().find(".db") == std::string::npos) found.insert(entry.path().string());
    }
    return found;
  }
  void expect_refused(const std::string& method, const std::string& target, const std::string& body = "") {
    const auto response = send(method, target, bearer(Role::admin), body);
    EXPECT_GE(response.status, 400) << method << " " << target << ": " << response.body.substr(0, 200);
    EXPECT_LT(response.status, 500) << method << " " << target << ": " << response.body.substr(0, 200);
    EXPECT_EQ(response.body.find(kSecret), std::string::npos) << method << " " << target;
    EXPECT_EQ(response.body.find("root:"), std::string::npos) << method << " " << target;
  }
  /// The same place in the spellings that servers have fallen for.
  std::vector<std::string> spellings(const std::string& place) const {
    std::vector<std::string> all;
    for (const char* up : {"../", "..%2F", "%2e%2e%2f", "%2E%2E/", "..%5C", "..%252F", "....//", ".%2F..%2F"}) {
      std::string path;
      for (int i = 0; i < 4; ++i) {
        path += up;
        all.push_back(path + place);
      }
    }
    all.push_back("%2F" + place);
    all.push_back("%2Fetc%2Fpasswd");
    all.push_back("..%2F" + place + "%00.txt");
    return all;
  }

  std::set<std::string> files_;
};

TEST_F(HostileNames, LeadToNoOtherFileOfARun) {
  for (const auto& name : spellings("secret")) {
    expect_refused("GET", "/api/v1/runs/r/artifacts/" + name);
    expect_refused("PUT", "/api/v1/runs/r/artifacts/" + name, "mine");
    expect_refused("GET", "/api/v1/runs/r/journals/" + name);
  }
  EXPECT_EQ(files(), files_) << "and none was written";
}

TEST_F(HostileNames, LeadToNoOtherFolderThanThoseOfRuns) {
  for (const auto& name : spellings("r")) {
    for (const char* part : {"", "/log", "/artifacts", "/artifacts/secret", "/journals", "/lease"}) {
      expect_refused("GET", "/api/v1/runs/" + name + part);
    }
    expect_refused("POST", "/api/v1/runs/" + name + "/curves", "{}");
    expect_refused("DELETE", "/api/v1/runs/" + name);
    expect_refused("GET", "/api/v1/studies/" + name);
    expect_refused("DELETE", "/api/v1/studies/" + name);
  }
  for (const char* dots : {".", "..", "%2e", "%2e%2e"}) expect_refused("DELETE", std::string("/api/v1/runs/") + dots);
  EXPECT_EQ(files(), files_);
  EXPECT_EQ(send("GET", "/api/v1/runs/r/log", bearer(Role::viewer)).status, 200) << "the run itself is there";
}

TEST_F(HostileNames, LeadToNoFileBesideTheDashboards) {
  for (const auto& name : spellings("secret")) {
    expect_refused("GET", "/" + name);
    expect_refused("GET", "/assets/" + name);
  }
}

}  // namespace
}  // namespace assay
