#include "api/cluster_types.h"
#include "api/schema_fixture.h"
#include "base/clock.h"
#include "http/http_fixture.h"
#include "http/series_answer.h"

#include "leader/alert_desk.h"
#include "leader/command_desk.h"
#include "leader/live_hub.h"
#include "leader/node.h"
#include "leader/node_status.h"
#include "leader/test_agent_fixture.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/raw_connection_fixture.h"
#include "net/sse.h"
#include "store/bucket_answer.h"
#include "store/series_store.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class Endpoints : public LeaderServerTest {
 protected:
  Endpoints() {
    hello(agent_);
    Reading reading;
    reading.samples = {sample_of("host.load", 1.5), sample_of("gpu.util", 0.5, "GPU-1")};
    reading.devices = {{.id = "GPU-1", .facts = {{"name", "NVIDIA H200"}}}};
    reading.processes = {{.gpu = "GPU-1", .pid = 42, .memory_bytes = 1024}, {.gpu = "GPU-1", .pid = 43}};
    reading.events = {
        {.time = clock_.wall(), .kind = "xid", .about = "GPU-1", .message = "a fault", .values = {{"xid", 79}}},
        {.time = clock_.wall(), .kind = "throttle", .about = "GPU-1", .message = "too hot"}};
    taken(agent_, {agent_.batch(clock_.wall(), std::move(reading))});
    clock_.advance(std::chrono::milliseconds(1));  // a query goes up to now, and now is not in it
    serve();
  }
  int status(const std::string& method, const std::string& target, Role role, std::string body = "") {
    return send(method, target, bearer(role), std::move(body)).status;
  }

  TestAgent agent_;
};

TEST_F(Endpoints, NodesWithTheirNewestValues) {
  const auto plain = answer("GET", "/api/v1/nodes", Role::viewer);
  ASSERT_THAT(plain.at("nodes").as_array(), SizeIs(1));
  EXPECT_FALSE(plain.at("nodes").as_array()[0].as_object().contains("values"));
  const auto node = answer("GET", "/api/v1/nodes/gpu01", Role::viewer);
  EXPECT_EQ(node.at("state").as_string(), "online");
  EXPECT_EQ(node.at("values").at("host").at("host.load").to_number<double>(), 1.5);
  EXPECT_EQ(node.at("values").at("gpus").at("GPU-1").at("gpu.util").to_number<double>(), 0.5);
  const auto& processes = node.at("processes").as_array();
  ASSERT_THAT(processes, SizeIs(2));
  EXPECT_EQ(processes[0].at("memory_bytes").to_number<int>(), 1024);
  EXPECT_TRUE(processes[1].at("memory_bytes").is_null());
  EXPECT_TRUE(node.at("clock_skew_s").is_null()) << "nobody has said a time";
  EXPECT_EQ(node.at("history").at("series").to_number<int>(), 2);
  EXPECT_GT(node.at("history").at("bytes").to_number<int>(), 0);
  EXPECT_EQ(node.at("history").at("most_bytes").to_number<std::uint64_t>(), SeriesLimits().max_per_owner.bytes);
  EXPECT_EQ(status("GET", "/api/v1/nodes/gpu99", Role::viewer), 404);
  EXPECT_EQ(status("GET", "/api/v1/nodes/gpu99/trend", Role::viewer), 404);
}

TEST_F(Endpoints, TrendsOfAllNodesComeInPages) {
  hello(TestAgent("gpu02", "two"));
  const auto first = answer("GET", "/api/v1/trends?limit=1", Role::viewer);
  ASSERT_THAT(first.at("nodes").as_array(), SizeIs(1));
  EXPECT_EQ(first.at("nodes").at(0).at("node").as_string(), "gpu01");
  EXPECT_EQ(first.at("next").as_string(), "gpu01");
  const auto second = answer("GET", "/api/v1/trends?limit=1&after=gpu01", Role::viewer);
  EXPECT_EQ(second.at("nodes").at(0).at("node").as_string(), "gpu02");
  EXPECT_EQ(second.at("next").as_string(), "");
  EXPECT_EQ(status("GET", "/api/v1/trends?limit=51", Role::viewer), 400);
}

TEST_F(Endpoints, DrainAndResume) {
  const auto drained = answer("POST", "/api/v1/nodes/gpu01/drain", Role::admin, R"({"reason": "a new fan"})");
  EXPECT_EQ(drained.at("state").as_string(), "draining");
  EXPECT_EQ(drained.at("drain_reason").as_string(), "a new fan");
  EXPECT_EQ(answer("POST", "/api/v1/nodes/gpu01/resume", Role::admin).at("state").as_string(), "online");
  EXPECT_EQ(status("POST", "/api/v1/nodes/gpu99/drain", Role::admin), 404);
  EXPECT_THAT(event_texts("gpu01"), testing::Contains("node_drained: by the-admin: a new fan"));
}

TEST_F(Endpoints, AMaintenanceIsPlannedAndCalledOff) {
  const auto planned = answer("POST", "/api/v1/nodes/gpu01/drain", Role::admin, R"({"in": "8h", "for": "2h"})");
  EXPECT_EQ(planned.at("state").as_string(), "online");
  const auto from = parse_iso8601(planned.at("maintenance_from").as_string());
  const auto until = parse_iso8601(planned.at("maintenance_until").as_string());
  EXPECT_EQ(*until - *from, std::chrono::hours(2));
  EXPECT_FALSE(answer("POST", "/api/v1/nodes/gpu01/resume", Role::admin).contains("maintenance_from"));
  EXPECT_EQ(answer("POST", "/api/v1/nodes/gpu01/drain", Role::admin, R"({"for": "2h"})").at("state").as_string(),
            "draining");
  for (const char* wrong : {R"({"in": "8h"})", R"({"for": "soon"})", R"({"for": "9999d"})", R"({"for": "0s"})"}) {
    EXPECT_EQ(status("POST", "/api/v1/nodes/gpu01/drain", Role::admin, wrong), 400) << wrong;
  }
  EXPECT_EQ(status("POST", "/api/v1/nodes/gpu01/resume", Role::admin, R"({"for": "2h"})"), 400);
  EXPECT_EQ(status("POST", "/api/v1/nodes/gpu01/drain", Role::user, R"({"for": "2h"})"), 403);
}

TEST_F(Endpoints, ALongReasonIsCutAndTheLeaderStillStarts) {
  std::string reason = "x";
  while (reason.size() <= 1024) reason += "é";
  answer("POST", "/api/v1/nodes/gpu01/drain", Role::admin, json::serialize(json::object{{"reason", reason}}));
  answer("POST", "/api/v1/silences", Role::user,
         json::serialize(json::object{{"for", "1h"}, {"reason", reason}, {"about", reason}}));
  server_.reset();
  open();
  EXPECT_TRUE(status_of("gpu01").record.draining);
  EXPECT_THAT(leader_->alerts().silences(), SizeIs(1));
}

TEST_F(Endpoints, OnlyAnOfflineNodeIsForgotten) {
  EXPECT_EQ(status("DELETE", "/api/v1/nodes/gpu01", Role::admin), 409);
  EXPECT_EQ(status("DELETE", "/api/v1/nodes/gpu99", Role::admin), 404);
}

TEST_F(Endpoints, EventsArePagedAndChosen) {
  const auto kinds = [&](const std::string& query) {
    std::vector<std::string> list;
    const auto found = answer("GET", "/api/v1/events" + query, Role::viewer);
    for (const auto& event : found.at("events").as_array()) list.emplace_back(event.at("kind").as_string());
    return list;
  };
  EXPECT_THAT(kinds(""), ElementsAre("throttle", "xid"));
  EXPECT_THAT(kinds("?limit=1"), ElementsAre("throttle"));
  const auto newest = answer("GET", "/api/v1/events?limit=1", Role::viewer);
  const auto id = newest.at("events").as_array()[0].at("id").to_number<std::int64_t>();
  EXPECT_THAT(kinds("?before=" + std::to_string(id)), ElementsAre("xid"));
  EXPECT_THAT(kinds("?before=" + std::string(newest.at("next").as_string())), ElementsAre("xid"));
  EXPECT_TRUE(answer("GET", "/api/v1/events", Role::viewer).at("next").as_string().empty()) << "that is all";
  EXPECT_THAT(kinds("?kind=xid&node=gpu01&about=GPU-1"), ElementsAre("xid"));
  EXPECT_THAT(kinds("?node=gpu02"), IsEmpty());
  EXPECT_THAT(kinds("?from=" + iso8601(clock_.wall() + std::chrono::hours(1))), IsEmpty());
  EXPECT_THAT(kinds("?to=" + iso8601(clock_.wall() + std::chrono::hours(1))), SizeIs(2));
  for (const char* query : {"?limit=0", "?limit=10001", "?limit=x", "?before=x", "?before=4711", "?before=1.x",
                            "?before=1.2.3", "?from=yesterday", "?to=1"}) {
    EXPECT_EQ(status("GET", std::string("/api/v1/events") + query, Role::viewer), 400) << query;
  }
}

TEST_F(Endpoints, QueriesAnswerInBuckets) {
  const auto response = send("GET", "/api/v1/query?q=host.load%20node=gpu01%20last=1h", bearer(Role::viewer));
  ASSERT_EQ(response.status, 200) << response.body;
  const auto found = parse_answer_json(response.body);
  ASSERT_TRUE(found.ok()) << found.error().text();
  ASSERT_THAT(found->rows, SizeIs(1));
  EXPECT_EQ(found->rows[0].series.key.labels.at("node"), "gpu01");
  ASSERT_THAT(found->rows[0].buckets, SizeIs(1));
  EXPECT_EQ(found->rows[0].buckets[0].mean(), 1.5);
  EXPECT_EQ(status("GET", "/api/v1/query?q=last=soon", Role::viewer), 400);
  const auto series = answer("GET", "/api/v1/series?q=gpu.util", Role::viewer);
  ASSERT_THAT(series.at("series").as_array(), SizeIs(1));
  EXPECT_EQ(series.at("series").as_array()[0].at("labels").at("gpu").as_string(), "GPU-1");
  EXPECT_EQ(series.at("next").as_string(), "");
  std::size_t found_in_pages = 0;
  std::string after;
  do {
    const auto page = answer("GET", "/api/v1/series?limit=1&after=" + after, Role::viewer);
    found_in_pages += page.at("series").as_array().size();
    after = std::string(page.at("next").as_string());
  } while (!after.empty() && found_in_pages < 100);
  EXPECT_EQ(found_in_pages, leader_->series().stats().series);
  EXPECT_EQ(status("GET", "/api/v1/series?after=soon", Role::viewer), 400);
}

TEST_F(Endpoints, TelemetryIsErasedByNameOnly) {
  const auto refused = send("DELETE", "/api/v1/series?q=", bearer(Role::admin));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("everything"));
  for (const char* query : {"last=1h", "node=*", "node=g*", "node!=gpu99", "node=gpu01"}) {
    EXPECT_EQ(status("DELETE", std::string("/api/v1/series?all=true&q=") + query, Role::admin), 400) << query;
  }
  EXPECT_THAT(stored("gpu.util"), SizeIs(1));
  EXPECT_EQ(answer("DELETE", "/api/v1/series?q=host.load&all=true", Role::admin).at("series").to_number<int>(), 1);
  EXPECT_THAT(stored("host.load"), IsEmpty());
  EXPECT_THAT(stored("gpu.util"), SizeIs(1));
}

TEST_F(Endpoints, SilencesAreMadeListedAndEnded) {
  const auto made = answer("POST", "/api/v1/silences", Role::user, R"({"for": "2h", "rule": "xid"})");
  EXPECT_EQ(made.at("by").as_string(), "the-user");
  EXPECT_EQ(made.at("until").as_string(), iso8601(clock_.wall() + std::chrono::hours(2)));
  EXPECT_THAT(answer("GET", "/api/v1/silences", Role::viewer).at("silences").as_array(), SizeIs(1));
  const std::string id(made.at("id").as_string());
  answer("DELETE", "/api/v1/silences/" + id, Role::user);
  EXPECT_EQ(status("DELETE", "/api/v1/silences/" + id, Role::user), 404);
  for (const char* body : {"{}", R"({"for": 2})", R"({"for": "2"})", R"({"for": "soon"})", R"({"for": "0s"})",
                           R"({"for": "-2h"})", R"({"for": "500d"})", R"({"for": "99999999999999d"})"}) {
    EXPECT_EQ(status("POST", "/api/v1/silences", Role::user, body), 400) << body;
  }
}

TEST_F(Endpoints, ASilenceOfEverythingMustBeMeant) {
  for (const char* body :
       {R"({"for": "7d"})", R"({"for": "7d", "node": ""})", R"({"for": "7d", "everything": false})",
        R"({"for": "7d", "everything": true, "node": "gpu03"})", R"({"for": "7d", "nodes": "gpu03"})",
        R"({"for": "7d", "node": "gpu03", "node": ""})", R"({"for": "7d", "everything": "true"})"}) {
    const auto response = send("POST", "/api/v1/silences", bearer(Role::user), body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_EQ(parsed(response.body).at("error").at("kind").as_string(), "usage") << body;
  }
  EXPECT_THAT(leader_->alerts().silences(), IsEmpty());
  EXPECT_THAT(send("POST", "/api/v1/silences", bearer(Role::user), R"({"for": "7d", "nodes": "gpu03"})").body,
              HasSubstr("Did you mean 'node'?"));
  answer("POST", "/api/v1/silences", Role::user, R"({"for": "7d", "everything": true})");
  EXPECT_THAT(leader_->alerts().silences(), SizeIs(1));
}

TEST_F(Endpoints, WhatIsMisspeltIsNotPassedOver) {
  struct Wrong {
    const char* method;
    const char* target;
    const char* body;
    const char* said;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {"DELETE", "/api/v1/nodes/gpu01?erase=True", "", "'erase=True' must be true or false"},
           {"DELETE", "/api/v1/nodes/gpu01?eras=true", "", "unknown parameter 'eras'. Did you mean 'erase'?"},
           {"DELETE", "/api/v1/nodes/gpu01", R"({"erase": true})", "unknown key 'erase'"},
           {"DELETE", "/api/v1/series?q=host.load&all=1", "", "'all=1' must be true or false"},
           {"DELETE", "/api/v1/series?all=true", "", "'q' is missing"},
           {"GET", "/api/v1/alerts?all=true&all=false", "", "the parameter 'all' stands there twice"},
           {"GET", "/api/v1/nodes?value=true", "", "Did you mean 'values'?"},
           {"GET", "/api/v1/events?from=yesterday", "", "'from=yesterday' is no time"},
           {"GET", "/api/v1/events?limit=ten", "", "'limit=ten' must be a whole number"},
           {"GET", "/api/v1/events?limit=0", "", "'limit=0' must be a number from 1 to 10000"},
           {"POST", "/api/v1/nodes/gpu01/drain", R"({"reasons": "x"})", "Did you mean 'reason'?"},
           {"POST", "/api/v1/nodes/gpu01/drain", R"({"reason": 5})", "'reason' must be a string"},
           {"POST", "/api/v1/nodes/gpu01/commands", R"({"kind": "doctor", "arguments": []})", "must be an object"},
           {"POST", "/api/v1/backup", R"({"folder": "/somewhere"})", "unknown key 'folder'"}}) {
    const auto response = send(wrong.method, wrong.target, bearer(Role::admin), wrong.body);
    EXPECT_EQ(response.status, 400) << wrong.target << ": " << response.body;
    EXPECT_EQ(parsed(response.body).at("error").at("kind").as_string(), "usage") << wrong.target;
    EXPECT_THAT(std::string(parsed(response.body).at("error").at("message").as_string()), HasSubstr(wrong.said));
  }
  EXPECT_THAT(stored("host.load"), SizeIs(1));
  EXPECT_FALSE(status_of("gpu01").record.draining);
}

TEST_F(Endpoints, NodesComeInPages) {
  hello(TestAgent("gpu02", "two"));
  hello(TestAgent("gpu03", "three"));
  const auto names = [&](const std::string& query) {
    std::vector<std::string> list;
    const auto found = answer("GET", "/api/v1/nodes" + query, Role::viewer);
    for (const auto& node : found.at("nodes").as_array()) list.emplace_back(node.at("name").as_string());
    return list;
  };
  EXPECT_THAT(names(""), SizeIs(3));
  EXPECT_THAT(names("?limit=2"), ElementsAre("gpu01", "gpu02"));
  EXPECT_THAT(names("?limit=2&after=gpu02"), ElementsAre("gpu03"));
  EXPECT_THAT(names("?after=gpu03"), IsEmpty());
}

TEST_F(Endpoints, AnUnknownAlertIsNotFound) {
  EXPECT_EQ(status("GET", "/api/v1/alerts?all=true&before=nothing", Role::viewer), 400);
  EXPECT_EQ(status("GET", "/api/v1/alerts?all=true&from=yesterday", Role::viewer), 400);
  EXPECT_EQ(status("POST", "/api/v1/alerts/nothing/acknowledge", Role::user), 404);
  EXPECT_THAT(answer("GET", "/api/v1/alerts", Role::viewer).at("alerts").as_array(), IsEmpty());
}

TEST_F(Endpoints, CommandsAreRefusedWithTheReason) {
  const std::string path = "/api/v1/nodes/gpu01/commands";
  EXPECT_EQ(status("POST", path, Role::admin, R"({"kind": "doctor"})"), 200);
  EXPECT_EQ(status("POST", path, Role::admin, R"({"kind": "run", "arguments": {"spec": "x"}})"), 400);
  EXPECT_EQ(status("POST", path, Role::admin, R"({"kind": "reboot"})"), 400);
  EXPECT_EQ(status("POST", path, Role::admin, "{}"), 400);
  EXPECT_EQ(status("POST", "/api/v1/nodes/gpu99/commands", Role::admin, R"({"kind": "doctor"})"), 404);
  EXPECT_EQ(status("GET", "/api/v1/commands/nothing", Role::user), 404);
  EXPECT_THAT(answer("GET", "/api/v1/commands", Role::user).at("commands").as_array(), SizeIs(1));
}

TEST_F(Endpoints, AListOfCommandsLeavesTheirOutputOut) {
  const auto command = leader_->commands().create("gpu01", "doctor", {}, "test");
  ASSERT_TRUE(command.ok());
  ASSERT_TRUE(leader_->commands().report("gpu01", command->id, R"({"state": "done", "output": "long"})").ok());
  const auto listed = answer("GET", "/api/v1/commands", Role::user);
  EXPECT_FALSE(listed.at("commands").as_array()[0].as_object().contains("output"));
  EXPECT_EQ(answer("GET", "/api/v1/commands/" + command->id, Role::user).at("output").as_string(), "long");
}

TEST_F(Endpoints, ABackupComesToWhoeverAskedForIt) {
  const auto response = send("POST", "/api/v1/backup", bearer(Role::admin));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.find("Content-Type"), "application/x-tar");
  EXPECT_EQ(response.body, "an archive");
}

TEST_F(Endpoints, WhatIsNotThereAndWhatIsTooMuch) {
  EXPECT_EQ(status("GET", "/api/v1/nothing", Role::admin), 404);
  EXPECT_EQ(status("GET", "/api/v2/nodes", Role::admin), 404);
  const auto wrong = send("PUT", "/api/v1/nodes", bearer(Role::admin));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_THAT(std::string(wrong.headers.find("Allow").value_or("")), HasSubstr("GET"));
  EXPECT_TRUE(parsed(wrong.body).contains("error"));
  EXPECT_EQ(status("POST", "/api/v1/silences", Role::user, std::string((1 << 20) + 1, ' ')), 413);
}

TEST_F(Endpoints, LiveThroughHttp) {
  auto stream = client_->open_events({.target = "/api/v1/live?metrics=host.*", .headers = bearer(Role::viewer)});
  ASSERT_TRUE(stream.ok()) << stream.error().text();
  const auto snapshot = stream->next(std::chrono::seconds(10));
  ASSERT_TRUE(snapshot.ok()) << snapshot.error().text();
  EXPECT_EQ(snapshot->event, "snapshot");
  const auto told = parsed(snapshot->data);
  EXPECT_THAT(schema_problems<LiveEvent>(told), IsEmpty());
  ASSERT_THAT(told.at("series").as_array(), SizeIs(1));
  EXPECT_EQ(told.at("series").as_array()[0].at("name").as_string(), "host.load");
  taken(agent_, {agent_.batch(clock_.wall() + Nanos(1), {sample_of("host.load", 2.5)})});
  leader_->live().tick();
  const auto delta = stream->next(std::chrono::seconds(10));
  ASSERT_TRUE(delta.ok()) << delta.error().text();
  EXPECT_EQ(delta->event, "delta");
  EXPECT_THAT(schema_problems<LiveEvent>(parsed(delta->data)), IsEmpty());
  EXPECT_EQ(parsed(delta->data).at("values").as_array()[0].as_array()[2].to_number<double>(), 2.5);
  std::string names = "a";
  for (int i = 0; i < 300; ++i) names += ",a";
  EXPECT_EQ(status("GET", "/api/v1/live?metrics=" + names, Role::viewer), 400);
  EXPECT_EQ(send("GET", "/api/v1/live", {}).status, 401);
}

TEST_F(Endpoints, TheLiveStreamEndsWithItsToken) {
  auto stream = client_->open_events({.target = "/api/v1/live", .headers = bearer(Role::viewer)});
  ASSERT_TRUE(stream.ok()) << stream.error().text();
  ASSERT_TRUE(stream->next(std::chrono::seconds(10)).ok());
  ASSERT_TRUE(book_->revoke("the-viewer").ok());
  ASSERT_EQ(leader_->live().clients(), 1u) << "and the server is done with the clock";
  clock_.advance(LiveHub::kRecheck);
  leader_->live().tick();
  EXPECT_EQ(leader_->live().clients(), 0u);
  const auto end = stream->next(std::chrono::seconds(10));
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().kind, ErrorKind::lost_peer);
}

TEST_F(Endpoints, WhoAsksForTheHeadOfTheLiveStreamTakesNoPlace) {
  EXPECT_EQ(send("HEAD", "/api/v1/live", bearer(Role::viewer)).status, 200);
  // The answer may be here before the server has let go of the stream.
  EXPECT_TRUE(comes_true([this] {
    leader_->live().tick();
    return leader_->live().clients() == 0;
  }));
}

TEST_F(Endpoints, PrometheusGetsItsContentType) {
  const auto response = send("GET", "/metrics", bearer(Role::viewer));
  EXPECT_EQ(response.headers.find("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(response.body, HasSubstr("DCGM_FI_DEV_GPU_UTIL"));
}

}  // namespace
}  // namespace assay
