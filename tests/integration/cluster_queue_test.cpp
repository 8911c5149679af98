// What people do with the queue of a leader, by the commands they do it with.

#include <gmock/gmock.h>

#include "base/ids.h"
#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ClusterQueue : public ClusterTest {
 protected:
  void SetUp() override {
    leader_.start({"--retry-wait", "1s"});
    for (const char* name : {"n1", "n2"}) {
      agents_.push_back(leader_.start_agent(name, {"--allow", "run"}));
      leader_.expect_state(name, "online");
    }
  }
  AssayCli& cli() { return leader_.cli(); }
  /// Goes on until somebody ends it, or for so many tenths of a second.
  std::string spec(const std::string& name, int steps = 100'000) {
    return cli().write(name + ".yaml", "kind: command\ncommand: \"for i in $(seq " + std::to_string(steps) +
                                           "); do sleep 0.1; done # " + mark_ + "\"\nprice: 3 EUR/h\n");
  }
  std::string submit(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "submit");
    int code = -1;
    const auto answer = cli().json(arguments, &code);
    EXPECT_EQ(code, 0);
    return std::string(answer.at("result").at("submitted").as_array().at(0).at("run").as_string());
  }
  json::array queue() { return cli().json({"queue"}).at("result").at("runs").as_array(); }
  json::object in_queue(const std::string& run) {
    for (const auto& one : queue()) {
      if (one.at("run").as_string() == run) return one.as_object();
    }
    return {{"state", "over"}, {"node", ""}};
  }
  bool is(const std::string& run, std::string_view key, std::string_view value) {
    const auto one = in_queue(run);
    return one.contains(key) && one.at(key).as_string() == value;
  }

  const std::string mark_ = "mark-" + new_id();
  std::vector<AssayProcess> agents_;
};

TEST_F(ClusterQueue, TakesRunsAndSaysWhereTheyAreAndWhyTheyWait) {
  const auto first = submit({spec("first")});
  const auto second = submit({spec("second")});
  ASSERT_TRUE(eventually([&] { return is(first, "state", "running") && is(second, "state", "running"); }));
  EXPECT_NE(in_queue(first).at("node"), in_queue(second).at("node"));
  const auto third = submit({spec("third"), "--name", "patient"});
  const auto held = submit({spec("fourth"), "--hold"});
  const auto after = submit({spec("fifth"), "--after", "patient"});
  EXPECT_EQ(in_queue(third).at("reason").as_string(), "gpus_busy");
  EXPECT_EQ(in_queue(held).at("reason").as_string(), "held");
  EXPECT_EQ(in_queue(after).at("reason").as_string(), "dependency");
  const auto table = cli().run({"queue"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.out, AllOf(HasSubstr("patient"), HasSubstr("running"), HasSubstr("held"),
                               HasSubstr("2 running, 2 "), HasSubstr("waits for free CPUs")));
  EXPECT_EQ(cli().run({"queue", "set", "patient", "--priority", "2"}).exit_code, 0);
  EXPECT_EQ(in_queue(third).at("priority").to_number<int>(), 2);
  EXPECT_EQ(cli().run({"release", held}).exit_code, 0);
  EXPECT_EQ(in_queue(held).at("reason").as_string(), "gpus_busy");
  EXPECT_EQ(cli().run({"hold", held}).exit_code, 0);
  EXPECT_EQ(cli().run({"hold", first}).exit_code, 3) << "it has begun";
  EXPECT_EQ(cli().run({"cancel", third}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return is(after, "state", "over"); })) << "what it waited for will never be";
  EXPECT_EQ(cli().run({"cancel", first, "nobody"}).exit_code, 2);
  EXPECT_EQ(in_queue(first).at("state").as_string(), "running") << "a mistyped name ends nothing";
  const auto cancelled = cli().run({"cancel", third, first, second, held});
  EXPECT_EQ(cancelled.exit_code, 2);
  EXPECT_THAT(cancelled.error, HasSubstr(third + "' has ended"));
  EXPECT_THAT(cancelled.out, AllOf(HasSubstr(first + " is told"), HasSubstr(second), HasSubstr(held)))
      << "one that is over does not let the others go on";
  EXPECT_TRUE(eventually([&] { return queue().empty(); }));
  EXPECT_THAT(cli().run({"queue"}).out, HasSubstr("Nothing waits"));
}

TEST_F(ClusterQueue, PreviewsWithoutAskingAndRefusesMistakes) {
  const auto preview = cli().run({"submit", spec("x"), "--dry-run"});
  EXPECT_EQ(preview.exit_code, 0) << preview.error;
  EXPECT_THAT(preview.out, AllOf(HasSubstr("n1"), HasSubstr("EUR"), HasSubstr("Nothing was asked for")));
  EXPECT_TRUE(queue().empty());
  EXPECT_EQ(cli().run({"submit", "no-such-file"}).exit_code, 2);
  EXPECT_EQ(cli().run({"submit", spec("x"), "--node", "nobody"}).exit_code, 2);
  EXPECT_EQ(cli().run({"submit", spec("x"), "--node", "n1", "--each-node"}).exit_code, 2);
  EXPECT_EQ(cli().run({"submit", spec("x"), "--after", "nobody"}).exit_code, 2);
  EXPECT_EQ(cli().run({"submit", spec("x"), spec("y"), "--key", "k"}).exit_code, 2);
  EXPECT_EQ(cli().run({"hold", "nobody"}).exit_code, 2);
  EXPECT_EQ(cli().run({"queue", "set", "nobody", "--priority", "1"}).exit_code, 2);
}

TEST_F(ClusterQueue, OneRunOnEachNodeAndAKeyForOne) {
  const auto each = cli().json({"submit", spec("each", 3), "--each-node"});
  EXPECT_TRUE(each.at("result").at("submitted").as_array().at(0).as_object().contains("study"));
  EXPECT_TRUE(eventually([&] { return queue().empty(); }));
  EXPECT_EQ(leader_.get("/api/v1/runs").at("total").to_number<int>(), 2);
  const auto first = submit({spec("keyed", 1), "--key", "nightly"});
  EXPECT_EQ(submit({spec("keyed", 1), "--key", "nightly"}), first);
  leader_.process().kill_now();
  leader_.start({"--retry-wait", "1s"});
  EXPECT_EQ(submit({spec("keyed", 1), "--key", "nightly"}), first);
  EXPECT_EQ(leader_.get("/api/v1/runs").at("total").to_number<int>(), 3);
}

TEST_F(ClusterQueue, ANodeThatDoesNotComeBackGivesItsRunBack) {
  leader_.process().kill_now();
  leader_.start({"--retry-wait", "1s", "--lost-after", "1s"});
  for (const char* name : {"n1", "n2"}) leader_.expect_state(name, "online");
  const auto first = submit({spec("lost", 30), "--retries", "1"});
  ASSERT_TRUE(eventually([&] { return is(first, "state", "running"); }));
  const std::size_t lost = in_queue(first).at("node").as_string() == "n1" ? 0 : 1;
  agents_[lost].kill_now();
  // A minute is what its hold on the run lasts.
  EXPECT_TRUE(eventually([&] { return in_queue(first).at("state").as_string() == "over"; }) ||
              eventually([&] { return in_queue(first).at("state").as_string() == "over"; }));
  EXPECT_EQ(leader_.get("/api/v1/runs/" + first).at("verdict").as_string(), "interrupted");
  EXPECT_TRUE(leader_.get("/api/v1/runs/" + first + "/lease").at("lease").is_null());
  EXPECT_TRUE(eventually([&] { return leader_.get("/api/v1/runs").at("total").to_number<int>() == 2; }));
  EXPECT_TRUE(eventually([&] { return queue().empty(); })) << "the other node does it";
  const auto runs = leader_.get("/api/v1/runs?sort=created").at("runs").as_array();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].at("verdict").as_string(), "valid");
}

TEST_F(ClusterQueue, ARunGoesOnElsewhereWhenItsNodeIsLost) {
  const auto first = submit({spec("lost", 30), "--retries", "3"});
  ASSERT_TRUE(eventually([&] { return is(first, "state", "running"); }));
  const std::size_t lost = in_queue(first).at("node").as_string() == "n1" ? 0 : 1;
  agents_[lost].kill_now();
  // The agent that comes back says that its run is over.
  agents_[lost] = leader_.start_agent(lost == 0 ? "n1" : "n2", {"--allow", "run"});
  EXPECT_TRUE(eventually([&] { return leader_.get("/api/v1/runs").at("total").to_number<int>() == 2; }))
      << "it is not tried again";
  EXPECT_TRUE(eventually([&] { return queue().empty(); }));
  const auto runs = leader_.get("/api/v1/runs?sort=created").at("runs").as_array();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[0].at("verdict").as_string(), "interrupted");
  EXPECT_EQ(runs[1].at("verdict").as_string(), "valid");
}

}  // namespace
}  // namespace assay
