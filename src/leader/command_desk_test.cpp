#include "leader/command_desk.h"

#include "leader/leader_fixture.h"
#include "leader/test_agent_fixture.h"
#include "net/response_stream.h"
#include "net/sse.h"
#include "protocol/hello.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = AgentCommand::State;

class CommandDeskTest : public LeaderTest {
 protected:
  CommandDeskTest() {
    AgentHello said = TestAgent().hello();
    said.allow = {"doctor", "run"};
    EXPECT_TRUE(leader_->hello("gpu01", said).ok());
    said.allow = {};
    EXPECT_TRUE(leader_->hello("gpu02", said).ok());
  }
  CommandDesk& desk() { return leader_->commands(); }
  AgentCommand create(const std::string& kind = "doctor", json::object arguments = {}) {
    auto command = desk().create("gpu01", kind, std::move(arguments), "alice");
    EXPECT_TRUE(command.ok()) << command.error().text();
    return command ? *command : AgentCommand{};
  }
  ErrorKind refusal(const std::string& node, const std::string& kind, json::object arguments = {}) {
    const auto command = desk().create(node, kind, std::move(arguments), "alice");
    EXPECT_FALSE(command.ok());
    return command ? ErrorKind::crash : command.error().kind;
  }
};

TEST_F(CommandDeskTest, AListeningAgentGetsItAtOnce) {
  const auto stream = desk().listen("gpu01");
  const auto command = create();
  const auto events = events_of(stream);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].event, "command");
  const auto data = parsed(events[0].data);
  EXPECT_EQ(data.at("id").as_string(), command.id);
  EXPECT_EQ(data.at("kind").as_string(), "doctor");
  EXPECT_EQ(desk().find(command.id)->state, State::waiting);
  EXPECT_EQ(desk().find(command.id)->by, "alice");
}

TEST_F(CommandDeskTest, WhatWaitsIsDeliveredInOrderWhenTheAgentListens) {
  const auto first = create();
  clock_.advance(std::chrono::seconds(1));
  const auto second = create();
  EXPECT_THAT(events_of(desk().listen("gpu02")), IsEmpty()) << "these are not its own";
  const auto before = desk().listen("gpu01");
  const auto events = events_of(before);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].id, first.id);
  EXPECT_EQ(events[1].id, second.id);
  ASSERT_TRUE(desk().report("gpu01", first.id, R"({"state": "running"})").ok());
  const auto again = desk().listen("gpu01");
  EXPECT_FALSE(before.open()) << "one agent, one stream";
  EXPECT_THAT(events_of(again), SizeIs(1)) << "what it has taken does not come again";
}

TEST_F(CommandDeskTest, OnlyWhatTheAgentAllows) {
  EXPECT_EQ(refusal("gpu99", "doctor"), ErrorKind::not_found);
  EXPECT_EQ(refusal("gpu02", "doctor"), ErrorKind::denied);
  const auto refused = desk().create("gpu02", "doctor", {}, "alice");
  EXPECT_THAT(refused.error().hint, HasSubstr("--allow doctor"));
  EXPECT_EQ(refusal("gpu01", "reboot"), ErrorKind::usage);
  EXPECT_EQ(refusal("gpu01", "run", {{"spec", "kind: null"}}), ErrorKind::usage) << "runs are asked for as runs";
  EXPECT_EQ(refusal("gpu01", "doctor", {{"id", "x"}}), ErrorKind::usage);
  EXPECT_THAT(desk().list(), IsEmpty());
}

TEST_F(CommandDeskTest, AReportTellsWhatBecameOfIt) {
  const auto command = create();
  ASSERT_TRUE(desk().report("gpu01", command.id, R"({"state": "running"})").ok());
  EXPECT_EQ(desk().find(command.id)->state, State::running);
  EXPECT_EQ(desk().find(command.id)->exit_code, std::nullopt);
  ASSERT_TRUE(desk().report("gpu01", command.id, R"({"state": "done", "exit_code": 0, "output": "all is well"})").ok());
  const auto done = *desk().find(command.id);
  EXPECT_EQ(done.state, State::done);
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_EQ(done.output, "all is well");
  // A second report, or a late one, changes nothing.
  ASSERT_TRUE(desk().report("gpu01", command.id, R"({"state": "failed", "exit_code": 1})").ok());
  EXPECT_EQ(desk().find(command.id)->state, State::done);
}

TEST_F(CommandDeskTest, AnothersReportIsRefused) {
  const auto command = create();
  EXPECT_EQ(desk().report("gpu02", command.id, R"({"state": "done"})").error().kind, ErrorKind::not_found);
  EXPECT_EQ(desk().report("gpu01", "nothing", R"({"state": "done"})").error().kind, ErrorKind::not_found);
  EXPECT_EQ(desk().report("gpu01", "nothing", "no report").error().kind, ErrorKind::not_found) << "nobody reads it";
  EXPECT_EQ(desk().find(command.id)->state, State::waiting);
}

TEST_F(CommandDeskTest, ABodyThatIsNoReportIsRefused) {
  const auto command = create();
  for (const char* body : {"", "[]", "{", R"({"state": 5})", R"({"state": "waiting"})", R"({"state": "expired"})",
                           R"({"state": "done", "exit_code": 99999999999})", R"({"state": "done", "output": []})"}) {
    const auto reported = desk().report("gpu01", command.id, body);
    ASSERT_FALSE(reported.ok()) << body;
    EXPECT_EQ(reported.error().kind, ErrorKind::usage) << body;
  }
  EXPECT_EQ(desk().find(command.id)->state, State::waiting);
}

TEST_F(CommandDeskTest, LongTextsAreCutBetweenCharacters) {
  const auto command = create();
  std::string long_text = "x";  // so that the limit falls into the middle of a character
  while (long_text.size() <= (std::size_t{1} << 20)) long_text += "é";
  const json::object report{{"state", "failed"}, {"output", long_text}, {"message", long_text}};
  ASSERT_TRUE(desk().report("gpu01", command.id, json::serialize(report)).ok());
  const auto kept = *desk().find(command.id);
  EXPECT_LE(kept.output.size(), std::size_t{1} << 20);
  EXPECT_LE(kept.message.size(), 4096u);
  EXPECT_TRUE(parse_json(json::serialize(json::array{kept.output, kept.message})).ok());
}

TEST_F(CommandDeskTest, WhatNobodyTakesExpires) {
  const auto waiting = create();
  const auto running = create();
  ASSERT_TRUE(desk().report("gpu01", running.id, R"({"state": "running"})").ok());
  clock_.advance(CommandDesk::kPatience - Nanos(1));
  desk().expire();
  EXPECT_EQ(desk().find(waiting.id)->state, State::waiting);
  clock_.advance(Nanos(1));
  desk().expire();
  EXPECT_EQ(desk().find(waiting.id)->state, State::expired);
  EXPECT_EQ(desk().find(running.id)->state, State::running) << "a run may take its time";
  EXPECT_THAT(events_of(desk().listen("gpu01")), IsEmpty());
}

TEST_F(CommandDeskTest, TooManyThatWaitAreRefused) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < CommandDesk::kMaxWaiting; ++i) ids.push_back(create().id);
  EXPECT_EQ(refusal("gpu01", "doctor"), ErrorKind::busy);
  ASSERT_TRUE(desk().report("gpu01", ids[0], R"({"state": "done"})").ok());
  create();
}

TEST_F(CommandDeskTest, TheOldestThatAreOverAreForgotten) {
  const auto running = create();
  ASSERT_TRUE(desk().report("gpu01", running.id, R"({"state": "running"})").ok());
  for (std::size_t i = 0; i < CommandDesk::kMaxKept + 5; ++i) {
    clock_.advance(std::chrono::milliseconds(100));
    ASSERT_TRUE(desk().report("gpu01", create().id, R"({"state": "done"})").ok());
  }
  desk().expire();
  const auto kept = desk().list();
  EXPECT_THAT(kept, SizeIs(CommandDesk::kMaxKept));
  EXPECT_GT(kept[0].created, kept[1].created) << "newest first";
  EXPECT_TRUE(desk().find(running.id).ok()) << "what is under way is not forgotten";
}

TEST_F(CommandDeskTest, WhatRunsOnASilentNodeIsGivenUpInTheEnd) {
  const auto running = create();
  ASSERT_TRUE(desk().report("gpu01", running.id, R"({"state": "running"})").ok());
  clock_.advance(CommandDesk::kPatience - std::chrono::seconds(1));
  desk().expire();
  EXPECT_EQ(desk().find(running.id)->state, AgentCommand::State::running);
  clock_.advance(std::chrono::seconds(2));
  desk().expire();
  EXPECT_EQ(desk().find(running.id)->state, State::expired);
  ASSERT_TRUE(desk().report("gpu01", running.id, R"({"state": "done", "exit_code": 0, "output": "fine"})").ok());
  EXPECT_EQ(desk().find(running.id)->state, State::done) << "its agent knows better";
  EXPECT_EQ(desk().find(running.id)->output, "fine");
}

TEST_F(CommandDeskTest, WhoIsNoLongerAllowedHearsNothingMore) {
  bool allowed = true;
  const auto stream = desk().listen("gpu01", [&] { return allowed; });
  allowed = false;
  ASSERT_TRUE(desk().create("gpu01", "doctor", {}, "ada").ok());
  EXPECT_THAT(events_of(stream), IsEmpty());
  EXPECT_FALSE(stream.open());

  allowed = true;
  const auto idle = desk().listen("gpu02", [&] { return allowed; });
  desk().expire();
  EXPECT_TRUE(idle.open());
  allowed = false;
  clock_.advance(CommandDesk::kRecheck);
  desk().expire();
  EXPECT_FALSE(idle.open());
}

TEST_F(CommandDeskTest, AListIsShortAndOldOutputIsForgotten) {
  const std::string report = json::serialize(json::object{{"state", "done"}, {"output", std::string(1 << 20, 'x')}});
  const auto command = create();
  ASSERT_TRUE(desk().report("gpu01", command.id, report).ok());
  EXPECT_EQ(desk().list().at(0).output, "");
  EXPECT_EQ(desk().find(command.id)->output.size(), 1u << 20);
  std::string last;
  for (std::size_t kept = 0; kept < CommandDesk::kMaxKeptOutput; kept += 1 << 20) {
    clock_.advance(std::chrono::milliseconds(1));
    last = create().id;
    ASSERT_TRUE(desk().report("gpu01", last, report).ok());
  }
  EXPECT_EQ(desk().find(command.id)->output, "");
  EXPECT_EQ(desk().find(command.id)->state, State::done);
  EXPECT_EQ(desk().find(last)->output.size(), 1u << 20);
}

TEST_F(CommandDeskTest, FinishEndsTheStreams) {
  const auto stream = desk().listen("gpu01");
  desk().finish();
  EXPECT_FALSE(stream.open());
}

}  // namespace
}  // namespace assay
