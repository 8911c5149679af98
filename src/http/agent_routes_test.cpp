#include <fmt/format.h>

#include <fstream>

#include "http/http_fixture.h"
#include "leader/node.h"
#include "leader/node_status.h"
#include "leader/test_agent_fixture.h"
#include "model/run.h"
#include "net/http_client.h"
#include "net/sse.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class AgentRoutes : public LeaderServerTest {
 protected:
  AgentRoutes() { serve(); }

  ClientResponse say_hello(const TestAgent& agent) {
    return send("POST", "/agent/v1/hello", this->agent(agent.node()),
                json::serialize(json::object{{"schema", 1},
                                             {"stream", agent.hello().stream},
                                             {"assay", "0.4.0"},
                                             {"allow", json::array{"doctor", "run"}}}));
  }
  ClientResponse send_batches(const TestAgent& agent, const std::vector<Batch>& batches) {
    Headers headers = this->agent(agent.node());
    headers.add("Content-Type", "application/x-assay-batches");
    headers.add("Assay-Sent", std::to_string(clock_.wall().time_since_epoch().count()));
    return send("POST", "/agent/v1/batch", headers, body_of(batches));
  }
};

TEST_F(AgentRoutes, HelloTellsTheTimeAndTheHeartbeat) {
  const auto response = say_hello(TestAgent());
  ASSERT_EQ(response.status, 200) << response.body;
  const auto answer = parsed(response.body);
  EXPECT_EQ(answer.at("now_ns").to_number<std::int64_t>(), clock_.wall().time_since_epoch().count());
  EXPECT_EQ(answer.at("heartbeat_ms").to_number<int>(), 1000);
  EXPECT_EQ(send("POST", "/agent/v1/hello", agent("gpu01"), "{}").status, 400);
}

TEST_F(AgentRoutes, BatchesHaveTheAnswersOfTheProtocol) {
  TestAgent agent;
  const auto first = agent.batch(clock_.wall(), {sample_of("host.load", 1)});
  const auto second = agent.batch(clock_.wall() + Nanos(1), {sample_of("host.load", 2)});
  EXPECT_EQ(send_batches(agent, {first}).status, 410);
  ASSERT_EQ(say_hello(agent).status, 200);
  const auto unnamed = send_batches(agent, {second});
  EXPECT_EQ(unnamed.status, 409);
  EXPECT_TRUE(parsed(unnamed.body).at("names").as_bool());
  EXPECT_THAT(parsed(unnamed.body).at("error").at("message").as_string(), HasSubstr("series"));
  const auto good = send_batches(agent, {first, second});
  ASSERT_EQ(good.status, 200) << good.body;
  EXPECT_EQ(parsed(good.body).at("sequence").to_number<int>(), 2);
  EXPECT_EQ(parsed(good.body).at("pause_ms").to_number<int>(), 0);
  EXPECT_EQ(status_of("gpu01").clock_skew_s, 0);
  EXPECT_EQ(send("POST", "/agent/v1/batch", this->agent("gpu01"), "garbage").status, 400);
  EXPECT_EQ(send("POST", "/agent/v1/batch", this->agent("gpu01"), std::string((4 << 20) + 1, 'x')).status, 413);
}

TEST_F(AgentRoutes, ADamagedStoreIsNoFaultOfTheBatch) {
  TestAgent agent;
  ASSERT_EQ(say_hello(agent).status, 200);
  cluster_.fail_writes(Error{.kind = ErrorKind::bad_file, .message = "database disk image is malformed"});
  Reading reading;
  reading.events = {{.time = clock_.wall(), .kind = "throttle", .message = "too hot"}};
  const auto response = send_batches(agent, {agent.batch(clock_.wall(), reading)});
  EXPECT_EQ(response.status, 503) << response.body;
}

TEST_F(AgentRoutes, AnAgentWritesUnderTheNameOfItsKey) {
  TestAgent agent("gpu02", "two");
  ASSERT_EQ(say_hello(agent).status, 200);
  Sample forged = sample_of("host.load", 99);
  forged.key.labels["node"] = "gpu01";
  ASSERT_EQ(send_batches(agent, {agent.batch(clock_.wall(), {forged})}).status, 200);
  EXPECT_THAT(stored("host.load"), testing::ElementsAre(testing::Key("node=gpu02 ")));
}

TEST_F(AgentRoutes, ATimeOfSendingThatIsNoneIsNotCounted) {
  ASSERT_EQ(say_hello(TestAgent()).status, 200);
  for (const std::string sent : {"", "soon", "12x", "99999999999999999999", "1.5"}) {
    Headers headers = agent("gpu01");
    headers.add("Assay-Sent", sent);
    EXPECT_EQ(send("POST", "/agent/v1/batch", headers).status, 200) << sent;
  }
  EXPECT_TRUE(std::isnan(status_of("gpu01").clock_skew_s));
}

TEST_F(AgentRoutes, ACommandGoesToTheAgentAndItsReportComesBack) {
  ASSERT_EQ(say_hello(TestAgent()).status, 200);
  auto stream = client_->open_events({.target = "/agent/v1/commands", .headers = agent("gpu01")});
  ASSERT_TRUE(stream.ok()) << stream.error().text();
  const auto made = answer("POST", "/api/v1/nodes/gpu01/commands", Role::admin, R"({"kind": "doctor"})");
  const auto event = stream->next(std::chrono::seconds(10));
  ASSERT_TRUE(event.ok()) << event.error().text();
  EXPECT_EQ(event->event, "command");
  const std::string id(parsed(event->data).at("id").as_string());
  EXPECT_EQ(made.at("id").as_string(), id);
  EXPECT_EQ(made.at("by").as_string(), "the-admin");
  const std::string path = "/agent/v1/commands/" + id;
  const std::string report = R"({"state": "done", "exit_code": 0, "output": "fine"})";
  EXPECT_EQ(send("POST", path, agent("gpu02"), report).status, 404) << "it is not this node's";
  EXPECT_EQ(send("POST", path, agent("gpu01"), "{}").status, 400);
  EXPECT_EQ(send("POST", path, agent("gpu01"), report).status, 200);
  const auto done = answer("GET", "/api/v1/commands/" + id, Role::user);
  EXPECT_EQ(done.at("state").as_string(), "done");
  EXPECT_EQ(done.at("output").as_string(), "fine");
  EXPECT_EQ(done.at("exit_code").to_number<int>(), 0);
}

TEST_F(AgentRoutes, AnAgentThatListensAgainEndsItsStreamBefore) {
  auto first = client_->open_events({.target = "/agent/v1/commands", .headers = agent("gpu01")});
  ASSERT_TRUE(first.ok());
  auto second = client_->open_events({.target = "/agent/v1/commands", .headers = agent("gpu01")});
  ASSERT_TRUE(second.ok());
  const auto ended = first->next(std::chrono::seconds(10));
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, ErrorKind::lost_peer);
}

}  // namespace
}  // namespace assay
