#include <fmt/format.h>
#include <gmock/gmock.h>

#include <mutex>

#include "base/clock.h"
#include "cluster_fixture.h"
#include "net/http_message.h"
#include "net/http_server.h"
#include "net/router.h"
#include "net/server_options.h"
#include "store/alert_table.h"
#include "store/cluster/sqlite_cluster_store.h"
#include "store/cluster_store.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// Takes what the leader sends to a webhook.
class WebhookReceiver {
 public:
  WebhookReceiver() {
    Router router;
    router.post("/alerts", [this](const HttpRequest& request) {
      const std::lock_guard lock(mutex_);
      bodies_.push_back(request.body);
      return HttpResponse::text(200, "OK");
    });
    auto server = HttpServer::start({.listen = {{.host = "127.0.0.1"}}}, std::move(router));
    EXPECT_TRUE(server.ok());
    if (server) server_ = std::move(*server);
  }
  std::string url() const { return "http://" + server_->addresses().front().text() + "/alerts"; }
  std::vector<std::string> bodies() {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> bodies_;
  std::unique_ptr<HttpServer> server_;  ///< last: it uses the others until it is gone
};

class ClusterAlerts : public ClusterTest {
 protected:
  json::array alerts(const std::vector<std::string>& arguments = {}) {
    std::vector<std::string> command = {"alerts"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const auto answer = leader_.cli().json(command);
    return answer.contains("result") ? answer.at("result").at("alerts").as_array() : json::array();
  }
};

TEST_F(ClusterAlerts, OfALostNodeAreRaisedSentAcknowledgedSilencedAndResolved) {
  WebhookReceiver webhook;
  AssayCli& cli = leader_.cli();
  const std::string rules = cli.write("rules.yaml", "node_lost: {for: 1s, clear_for: 1s}\n");
  const std::string sent = (cli.folder() / "by-command.json").string();
  leader_.start({"--rules", rules, "--webhook", webhook.url(), "--alert-command", "cat >> " + sent});
  EXPECT_THAT(cli.run({"alerts"}).out, HasSubstr("Nothing needs attention"));
  auto fleet = leader_.start_fleet(2, {"--gpus", "1", "--metrics", "4", "--fault", "node-dead:node2@2s"});
  leader_.expect_state("sim002", "online");
  ASSERT_TRUE(eventually([&] { return !alerts().empty(); })) << "nobody misses sim002";

  const auto raised = alerts();
  ASSERT_EQ(raised.size(), 1U);
  EXPECT_EQ(raised.at(0).at("rule").as_string(), "node_lost");
  EXPECT_EQ(raised.at(0).at("node").as_string(), "sim002");
  EXPECT_EQ(alerts({"--node", "sim001"}).size(), 0U);
  const std::string id(raised.at(0).at("id").as_string());
  EXPECT_TRUE(eventually([&] { return !webhook.bodies().empty() && fs::exists(sent); })) << "nobody is told";
  EXPECT_THAT(webhook.bodies(), Contains(HasSubstr("\"change\":\"raised\"")));
  EXPECT_THAT(webhook.bodies(), Contains(HasSubstr("sim002")));
  EXPECT_THAT(cli.run({"alerts"}).out, HasSubstr("sim002"));
  EXPECT_THAT(cli.run({"nodes"}).out, HasSubstr("1 offline, 1 online"));

  EXPECT_EQ(cli.run({"alerts", "ack", id, "--note", "on my way"}).exit_code, 0);
  EXPECT_THAT(cli.run({"alerts"}).out, HasSubstr("on my way"));
  EXPECT_NE(cli.run({"alerts", "ack", "no-such-alert"}).exit_code, 0);

  const auto silence = cli.json({"alerts", "silence", "--for", "1h", "--on", "sim001", "--reason", "moves"});
  const std::string silence_id(silence.at("result").at("id").as_string());
  EXPECT_THAT(cli.run({"alerts", "silences"}).out, HasSubstr("moves"));
  EXPECT_NE(cli.run({"alerts", "silence", "--for", "soon"}).exit_code, 0);

  // All are gone now; sim001 is silenced, and nobody is told.
  const std::size_t told = webhook.bodies().size();
  fleet.kill_now();
  ASSERT_TRUE(eventually([&] { return alerts().size() == 2; })) << "nobody misses sim001";
  EXPECT_TRUE(alerts({"--node", "sim001"}).at(0).at("silenced").as_bool());
  fleet = leader_.start_fleet(2, {"--gpus", "1", "--metrics", "4"});
  EXPECT_TRUE(eventually([&] { return alerts().empty() && webhook.bodies().size() > told; }))
      << "the nodes are back, and the alerts stay";
  for (const auto& body : webhook.bodies()) EXPECT_THAT(body, testing::Not(HasSubstr("\"node\":\"sim001\"")));
  EXPECT_THAT(webhook.bodies(), Contains(HasSubstr("\"change\":\"resolved\"")));
  EXPECT_EQ(alerts({"--all"}).size(), 2U);
  EXPECT_EQ(cli.run({"alerts", "unsilence", silence_id}).exit_code, 0);
  EXPECT_THAT(cli.run({"alerts", "silences"}).out, HasSubstr("Nothing is silenced"));
}

TEST_F(ClusterAlerts, AreAllCountedAndFoundHoweverManyThereAre) {
  // As a leader has them after a bad night, so that no page has all that are open.
  leader_.start();
  EXPECT_EQ(leader_.process().terminate(), 0);
  {
    auto store = open_cluster_store(leader_.cli().data() / "leader" / "cluster.db");
    ASSERT_TRUE(store.ok()) << store.error().text();
    std::vector<Stored<AlertRecord>> rows(5000);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool open = i < 2500;
      const WallTime since = SystemClock().wall() - std::chrono::seconds(i);
      rows[i].row.alert = {.id = fmt::format("a{:04}", i),
                           .rule = i % 1000 == 999 ? "xid" : "node_lost",
                           .severity = AlertSeverity::critical,
                           .node = "gone",
                           .since = since,
                           .state = open ? AlertState::open : AlertState::resolved};
      if (!open) rows[i].row.alert.resolved_at = since;
    }
    ASSERT_TRUE((*store)->alerts().put(rows).ok());
  }
  leader_.start();
  EXPECT_EQ(alerts().size(), 2500U);
  EXPECT_EQ(alerts({"--rule", "xid"}).size(), 2U);
  EXPECT_EQ(alerts({"--all", "--rule", "xid"}).size(), 5U);
  const auto all = leader_.cli().run({"alerts", "--all", "--brief"});
  EXPECT_THAT(all.out, HasSubstr("2500 critical"));
  EXPECT_THAT(all.out, HasSubstr("There are more"));
}

TEST_F(ClusterAlerts, WrongRulesKeepTheLeaderFromStarting) {
  AssayCli& cli = leader_.cli();
  const auto answer = cli.run({"serve", "--rules", cli.write("rules.yaml", "node_losst: {for: 1s}\n")});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.error, HasSubstr("node_lost"));
  EXPECT_EQ(cli.run({"serve", "--webhook", "nonsense"}).exit_code, 2);
}

}  // namespace
}  // namespace assay
