#include "agent/command.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Command, IsReadFromWhatLeadersSend) {
  EXPECT_EQ(parse_command(R"({"id": "c3", "kind": "doctor"})")->kind, Command::Kind::doctor);
  EXPECT_EQ(parse_command(R"({"id": "c3", "kind": "doctor", "arguments": {}, "new": 1})")->id, "c3");
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
  const CommandReport report{
      .state = CommandReport::State::done, .exit_code = 3, .output = "out", .message = "message"};
  const auto again = command_report_from_json(to_json(report));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->state, report.state);
  EXPECT_EQ(again->exit_code, 3);
  EXPECT_EQ(again->output, "out");
  EXPECT_EQ(again->message, "message");
  EXPECT_FALSE(command_report_from_json(json::object{{"state", "lost"}}).ok());
}

}  // namespace
}  // namespace assay
