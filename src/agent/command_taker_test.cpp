#include "agent/command_taker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "agent/fake_leader_fixture.h"
#include "base/files.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Stands in for `assay`.
constexpr const char* kScript = R"sh(#!/bin/sh
here=$(dirname "$0")
case "$1" in
  doctor)
    [ ! -e "$here/hang" ] || sleep 1000
    echo '{"ok": true}'; echo "a word" >&2; exit 3 ;;
esac
)sh";

class CommandsTest : public testing::Test {
 protected:
  CommandsTest() {
    EXPECT_TRUE(write_file_atomically(script(), kScript).ok());
    EXPECT_EQ(::chmod(script().c_str(), 0755), 0);
  }
  fs::path script() const { return folder_.path() / "assay"; }

  void listen(std::set<Command::Kind> allow) {
    CommandTakerOptions options;
    options.executor.access = leader_.access();
    options.executor.self = {script().string()};
    options.executor.allow = std::move(allow);
    options.executor.first_pause = 2ms;
    options.executor.longest_pause = 20ms;
    options.executor.measuring = [this] { return measuring_.load(); };
    options.executor.doctor_time = doctor_time_;
    options.look = 20ms;
    options.arrivals = [this] { return arrivals_.load(); };
    auto commands = CommandTaker::start(std::move(options));
    ASSERT_TRUE(commands.ok());
    commands_ = std::move(*commands);
    EXPECT_TRUE(comes_true([this] { return streams() >= 1; }));
  }
  int streams() {
    return leader_.look([](const FakeLeader::Seen& seen) { return seen.command_streams; });
  }
  /// The last report of a command in a state; null while there is none.
  json::value report(const std::string& id, std::string_view state) {
    return leader_.look([&](const FakeLeader::Seen& seen) -> json::value {
      const auto found = seen.reports.find(id);
      if (found == seen.reports.end()) return nullptr;
      for (const auto& body : found->second) {
        auto value = parse_json(body);
        if (value && value->at("state").as_string() == state) return *value;
      }
      return nullptr;
    });
  }
  json::value await_report(const std::string& id, std::string_view state) {
    EXPECT_TRUE(comes_true([&] { return !report(id, state).is_null(); })) << id << " was never " << state;
    return report(id, state);
  }
  FakeLeader leader_;
  TemporaryFolder folder_;
  Nanos doctor_time_ = 30s;
  std::atomic<bool> measuring_ = false;
  std::atomic<std::uint64_t> arrivals_ = 1;
  std::unique_ptr<CommandTaker> commands_;
};

TEST_F(CommandsTest, DoctorIsCarriedOut) {
  listen({Command::Kind::doctor});
  leader_.send_command(R"({"id": "c1", "kind": "doctor", "arguments": {}})");
  const auto done = await_report("c1", "done");
  EXPECT_EQ(done.at("exit_code").as_int64(), 3);
  EXPECT_THAT(std::string(done.at("output").as_string()), HasSubstr("\"ok\": true"));
  EXPECT_EQ(done.at("message").as_string(), "a word");
}

TEST_F(CommandsTest, ADoctorThatHangsIsEnded) {
  ASSERT_TRUE(write_file_atomically(folder_.path() / "hang", "").ok());
  doctor_time_ = 50ms;
  listen({Command::Kind::doctor});
  leader_.send_command(R"({"id": "c1", "kind": "doctor", "arguments": {}})");
  EXPECT_THAT(std::string(await_report("c1", "failed").at("message").as_string()), HasSubstr("longer than"));
}

TEST_F(CommandsTest, WhatIsNotAllowedIsRefused) {
  listen({});
  leader_.send_command(R"({"id": "c1", "kind": "doctor", "arguments": {}})");
  EXPECT_THAT(std::string(await_report("c1", "refused").at("message").as_string()), HasSubstr("--allow doctor"));
}

TEST_F(CommandsTest, NothingDisturbsARun) {
  measuring_ = true;
  listen({Command::Kind::doctor});
  leader_.send_command(R"({"id": "c1", "kind": "doctor", "arguments": {}})");
  EXPECT_THAT(std::string(await_report("c1", "refused").at("message").as_string()), HasSubstr("busy"));
}

TEST_F(CommandsTest, WhatMakesNoSenseIsRefused) {
  listen({Command::Kind::doctor});
  leader_.send_command("nonsense");
  leader_.send_command(R"({"id": "c1", "kind": "shutdown"})");
  await_report("c1", "refused");
}

TEST_F(CommandsTest, ReportsAreRepeatedUntilTheyAreHeard) {
  leader_.report_troubles = {503, 503, 503};
  listen({Command::Kind::doctor});
  leader_.send_command(R"({"id": "c1", "kind": "doctor", "arguments": {}})");
  await_report("c1", "done");
}

TEST_F(CommandsTest, ALeaderThatComesBackIsHeardAgain) {
  listen({Command::Kind::doctor});
  leader_.go_away();
  leader_.come_back();
  EXPECT_TRUE(comes_true([this] { return streams() >= 2; }));
  leader_.send_command(R"({"id": "c1", "kind": "doctor", "arguments": {}})");
  await_report("c1", "done");
}

TEST_F(CommandsTest, AStreamFromBeforeTheLeaderWasAwayIsOpenedAnew) {
  listen({Command::Kind::doctor});
  arrivals_ = 2;
  EXPECT_TRUE(comes_true([this] { return streams() >= 2; }));
}

}  // namespace
}  // namespace assay
