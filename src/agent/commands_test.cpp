#include "agent/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "agent/leader_fixture.h"
#include "base/process_tree.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Stands in for `assay`. A run records a little, then waits for the file `go` beside this script.
constexpr const char* kScript = R"sh(#!/bin/sh
here=$(dirname "$0")
case "$1" in
  doctor)
    [ ! -e "$here/hang" ] || sleep 1000
    echo '{"ok": true}'; echo "a word" >&2; exit 3 ;;
  run)
    grep -q 'kind:' "$2" || { echo "no spec" >&2; exit 2; }
    run="$6/runs/r1"
    mkdir -p "$run/artifacts"
    echo $$ >"$here/pid"
    printf first >"$run/journal"
    until [ -e "$here/go" ]; do sleep 0.02; done
    printf second >>"$run/journal"
    echo '{}' >"$run/run.json"
    echo text >"$run/artifacts/a"
    echo "answer $7 in $(basename "$PWD")"
    exit 4 ;;
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
    CommandsOptions options;
    options.executor.access = leader_.access();
    options.executor.self = {script().string()};
    options.executor.folder = folder_.path() / "runs";
    options.executor.allow = std::move(allow);
    options.executor.first_pause = 2ms;
    options.executor.longest_pause = 20ms;
    options.executor.copy_period = 10ms;
    options.executor.doctor_time = doctor_time_;
    options.look = 20ms;
    options.arrivals = [this] { return arrivals_.load(); };
    auto commands = Commands::start(std::move(options));
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
  std::string file_there(const std::string& name) {
    return leader_.look([&](const FakeLeader::Seen& seen) {
      const auto found = seen.files.find(name);
      return found == seen.files.end() ? std::string() : found->second;
    });
  }
  void start_run(const std::string& id) {
    leader_.send_command(R"({"id": ")" + id + R"(", "kind": "run", "arguments": {"spec": "kind: null", "name": "n"}})");
  }
  void let_it_end() { EXPECT_TRUE(write_file_atomically(folder_.path() / "go", "").ok()); }

  FakeLeader leader_;
  TemporaryFolder folder_;
  Nanos doctor_time_ = 30s;
  std::atomic<std::uint64_t> arrivals_ = 1;
  std::unique_ptr<Commands> commands_;
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
  listen({Command::Kind::doctor});
  start_run("c1");
  EXPECT_THAT(std::string(await_report("c1", "refused").at("message").as_string()), HasSubstr("--allow run"));
  leader_.send_command(R"({"id": "c2", "kind": "stop", "arguments": {"id": "c1"}})");
  await_report("c2", "refused");
  EXPECT_FALSE(fs::exists(folder_.path() / "pid"));
}

TEST_F(CommandsTest, TheLongestSpecificationArrives) {
  listen({Command::Kind::doctor});
  const json::object arguments{{"spec", std::string(kMaxSpecBytes, '\n')}};
  leader_.send_command(json::serialize(json::object{{"id", "c1"}, {"kind", "run"}, {"arguments", arguments}}));
  EXPECT_THAT(std::string(await_report("c1", "refused").at("message").as_string()), HasSubstr("--allow run"));
}

TEST_F(CommandsTest, WhatMakesNoSenseIsRefused) {
  listen({Command::Kind::doctor});
  leader_.send_command("nonsense");
  leader_.send_command(R"({"id": "c1", "kind": "shutdown"})");
  await_report("c1", "refused");
}

TEST_F(CommandsTest, ARunIsCopiedWhileItGoesOnAndReported) {
  listen({Command::Kind::run});
  start_run("c1");
  await_report("c1", "running");
  EXPECT_TRUE(commands_->running());
  EXPECT_TRUE(comes_true([this] { return file_there("r1/journal") == "first"; })) << "while it goes on";
  EXPECT_EQ(file_there("r1/run.json"), "");
  let_it_end();
  const auto done = await_report("c1", "done");
  EXPECT_EQ(done.at("exit_code").as_int64(), 4);
  EXPECT_EQ(done.at("output").as_string(), "answer --name=n in c1\n");
  EXPECT_EQ(file_there("r1/journal"), "firstsecond") << "everything is there before the report";
  EXPECT_EQ(file_there("r1/run.json"), "{}\n");
  EXPECT_EQ(file_there("r1/artifacts/a"), "text\n");
  EXPECT_TRUE(comes_true([this] { return !fs::exists(folder_.path() / "runs/c1"); }));
  EXPECT_FALSE(commands_->running());
}

TEST_F(CommandsTest, OneRunAtATime) {
  listen({Command::Kind::run, Command::Kind::doctor});
  start_run("c1");
  await_report("c1", "running");
  start_run("c2");
  EXPECT_THAT(std::string(await_report("c2", "refused").at("message").as_string()), HasSubstr("busy"));
  leader_.send_command(R"({"id": "c3", "kind": "doctor", "arguments": {}})");
  EXPECT_THAT(std::string(await_report("c3", "refused").at("message").as_string()), HasSubstr("busy"));
  start_run("c1");  // said again, since the leader did not hear: nothing new begins
  let_it_end();
  await_report("c1", "done");
}

TEST_F(CommandsTest, ARunIsStoppedOnRequest) {
  listen({Command::Kind::run});
  start_run("c1");
  await_report("c1", "running");
  leader_.send_command(R"({"id": "c2", "kind": "stop", "arguments": {"id": "other"}})");
  await_report("c2", "refused");
  leader_.send_command(R"({"id": "c3", "kind": "stop", "arguments": {"id": "c1"}})");
  await_report("c3", "done");
  EXPECT_THAT(std::string(await_report("c1", "failed").at("message").as_string()), HasSubstr("stopped on request"));
}

TEST_F(CommandsTest, NothingOutlivesTheAgentAndTheNextOneFinishesTheCopy) {
  listen({Command::Kind::run});
  start_run("c1");
  EXPECT_TRUE(comes_true([this] { return file_there("r1/journal") == "first"; }));
  const auto pid = static_cast<pid_t>(std::stol(*read_file(folder_.path() / "pid")));
  commands_->stop();
  const auto process = read_process_stat(pid);
  EXPECT_TRUE(!process || !process->alive());
  EXPECT_TRUE(report("c1", "failed").is_null());
  // What it had recorded and the leader has not seen.
  ASSERT_TRUE(write_file_atomically(folder_.path() / "runs/c1/data/runs/r1/journal", "firstmore").ok());
  ASSERT_TRUE(write_file_atomically(folder_.path() / "runs/c1/data/runs/r1/run.json", "{}").ok());
  listen({Command::Kind::run});
  await_report("c1", "failed");
  EXPECT_EQ(file_there("r1/journal"), "firstmore");
  EXPECT_TRUE(comes_true([this] { return !fs::exists(folder_.path() / "runs/c1"); }));
}

TEST_F(CommandsTest, AReportWaitsUntilTheLeaderIsBack) {
  listen({Command::Kind::run});
  start_run("c1");
  await_report("c1", "running");
  leader_.go_away();
  let_it_end();
  EXPECT_TRUE(comes_true([this] { return fs::exists(folder_.path() / "runs/c1/report.json"); }));
  leader_.come_back();
  EXPECT_EQ(await_report("c1", "done").at("exit_code").as_int64(), 4);
  EXPECT_TRUE(comes_true([this] { return streams() >= 2; })) << "and commands can come again";
}

TEST_F(CommandsTest, ARecordingThatTheLeaderDoesNotTakeStays) {
  leader_.unwanted_file = "r1/run.json";
  listen({Command::Kind::run});
  start_run("c1");
  let_it_end();
  EXPECT_THAT(std::string(await_report("c1", "done").at("message").as_string()), HasSubstr("stays in"));
  commands_->stop();
  EXPECT_TRUE(fs::exists(folder_.path() / "runs/c1/data/runs/r1/run.json"));
  // The next agent finds a leader that takes it.
  {
    const std::lock_guard lock(leader_.mutex);
    leader_.unwanted_file.clear();
  }
  listen({Command::Kind::run});
  EXPECT_TRUE(comes_true([this] { return file_there("r1/run.json") == "{}\n"; }));
  EXPECT_TRUE(comes_true([this] { return !fs::exists(folder_.path() / "runs/c1"); }));
}

TEST_F(CommandsTest, ALeaderInTroubleGetsTheRecordingLater) {
  leader_.record_troubles = {429, 503, 503};
  listen({Command::Kind::run});
  start_run("c1");
  let_it_end();
  await_report("c1", "done");
  EXPECT_EQ(file_there("r1/run.json"), "{}\n");
  EXPECT_TRUE(comes_true([this] { return !fs::exists(folder_.path() / "runs/c1"); }));
}

TEST_F(CommandsTest, ThatARunIsUnderWayIsSaidUntilItIsHeard) {
  leader_.report_troubles = {503, 503};
  listen({Command::Kind::run});
  start_run("c1");
  await_report("c1", "running");
  let_it_end();
  await_report("c1", "done");
}

TEST_F(CommandsTest, AStreamFromBeforeTheLeaderWasAwayIsOpenedAnew) {
  listen({Command::Kind::doctor});
  arrivals_ = 2;
  EXPECT_TRUE(comes_true([this] { return streams() >= 2; }));
}

}  // namespace
}  // namespace assay
