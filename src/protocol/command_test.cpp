#include "protocol/command.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Command, IsReadFromWhatLeadersSend) {
  EXPECT_EQ(parse_command(R"({"id": "c3", "kind": "doctor"})")->kind, Command::Kind::doctor);
  EXPECT_EQ(parse_command(R"({"id": "c3", "kind": "doctor", "arguments": {}, "new": 1})")->id, "c3");
  const Command command{.id = "c-4_x", .kind = Command::Kind::doctor};
  EXPECT_EQ(parse_command(json::serialize(to_json(command))).value(), command);
}

TEST(Command, WhatMakesNoSenseIsAnError) {
  for (const char* text :
       {"", "[]", "{}", R"({"id": "c"})", R"({"id": "c", "kind": "shutdown"})", R"({"id": "", "kind": "doctor"})",
        R"({"id": "../x", "kind": "doctor"})", R"({"id": ".", "kind": "doctor"})", R"({"id": 5, "kind": "doctor"})",
        R"({"id": "c", "kind": "run", "arguments": {"spec": "kind: null"}})"}) {
    EXPECT_FALSE(parse_command(text).ok()) << text;
  }
}

TEST(Command, ABadOneCanStillBeAnswered) {
  EXPECT_EQ(command_id_in(R"({"id": "c7", "kind": "shutdown"})"), "c7");
  EXPECT_FALSE(command_id_in(R"({"id": "../c7"})"));
  EXPECT_FALSE(command_id_in("nonsense"));
}

TEST(Command, AReportComesBackAsItWas) {
  CommandReport report{.state = CommandReport::State::done, .exit_code = 3, .output = "out", .message = "message"};
  EXPECT_EQ(parse_command_report(json::serialize(to_json(report))).value(), report);
  report.exit_code.reset();
  EXPECT_EQ(parse_command_report(json::serialize(to_json(report))).value(), report);
  EXPECT_EQ(parse_command_report(R"({"state": "running", "exit_code": null})").value(), CommandReport{});
}

TEST(Command, WhatIsNoReportIsAMistakeOfTheSender) {
  for (const char* body : {"", "[]", "{}", R"({"state": "lost"})", R"({"state": "waiting"})", R"({"state": 1})",
                           R"({"state": "done", "exit_code": "0"})", R"({"state": "done", "output": 1})"}) {
    const auto report = parse_command_report(body);
    ASSERT_FALSE(report.ok()) << body;
    EXPECT_EQ(report.error().kind, ErrorKind::usage) << body;
  }
}

}  // namespace
}  // namespace assay
