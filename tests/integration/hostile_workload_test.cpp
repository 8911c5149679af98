#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "support/assay_cli.h"

// What a workload may do to whoever records it. Each of these has happened to somebody.

namespace assay {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HostileWorkload : public testing::Test {
 protected:
  AssayCli::Answer python(const std::string& script, std::vector<std::string> options = {}) {
    std::vector<std::string> arguments = {"exec"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "python3", cli_.write("workload.py", script)});
    return cli_.run(arguments);
  }
  std::vector<std::string> flags_of_last() {
    std::vector<std::string> kinds;
    const auto run = cli_.last_run();
    for (const auto& flag : run.at("flags").as_array()) kinds.emplace_back(flag.at("kind").as_string());
    return kinds;
  }
  AssayCli cli_;
};

TEST_F(HostileWorkload, BinaryOutput) {
  const auto answer = python("import os\nos.write(1, bytes(range(256)) * 4096)\nprint('\\nloss=0.5')");
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(cli_.last_series("loss"), testing::ElementsAre(0.5));
  const auto logs = cli_.run({"logs", "@last"});
  EXPECT_EQ(logs.exit_code, 0);
  EXPECT_EQ(logs.out.find('\x1b'), std::string::npos) << "a log must not steer the terminal";
}

TEST_F(HostileWorkload, ALineOf100Megabytes) {
  const auto answer =
      python("import sys\nfor _ in range(100): sys.stdout.write('x' * 1000000)\nprint()\nprint('loss=0.5')", {"-q"});
  EXPECT_EQ(answer.exit_code, 4) << answer.error;
  EXPECT_THAT(cli_.last_series("loss"), testing::ElementsAre(0.5));
  EXPECT_THAT(flags_of_last(), testing::UnorderedElementsAre("over_long_lines", "output_truncated"));
}

TEST_F(HostileWorkload, NoFinalNewline) {
  EXPECT_EQ(python("import sys\nsys.stdout.write('loss=0.25')").exit_code, 0);
  EXPECT_THAT(cli_.last_series("loss"), testing::ElementsAre(0.25));
}

TEST_F(HostileWorkload, ManyLines) {
  const auto answer = python(
      "import os\n"
      "fd = int(os.environ['ASSAY_EVENTS'][3:])\n"
      "with os.fdopen(fd, 'w') as events:\n"
      "    for i in range(200000): events.write('{\"assay\":1,\"type\":\"step\",\"step\":%d,\"loss\":0.5}\\n' % i)\n");
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(cli_.last_series("loss"), SizeIs(200'000));
}

TEST_F(HostileWorkload, UnknownEventsAndANewerProtocol) {
  const auto unknown = python("print('{\"assay\":1,\"type\":\"stpe\",\"loss\":1}')");
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_THAT(unknown.error, HasSubstr("did you mean 'step'?"));
  const auto newer = python("print('{\"assay\":7,\"type\":\"step\",\"loss\":1}')");
  EXPECT_EQ(newer.exit_code, 4);
  EXPECT_THAT(newer.error, HasSubstr("Update assay"));
  EXPECT_THAT(flags_of_last(), testing::ElementsAre("newer_protocol"));
}

TEST_F(HostileWorkload, ADaemonIsEndedAndFlagged) {
  const std::string mark = "assay_test_daemon_" + cli_.folder().filename().string();
  const auto answer = python(
      "import os, subprocess\n"
      "subprocess.Popen(['setsid', 'sh', '-c', 'sleep 1000 # " +
      mark +
      "'], close_fds=True)\n"
      "print('done')\n");
  EXPECT_EQ(answer.exit_code, 4);
  EXPECT_THAT(flags_of_last(), testing::ElementsAre("left_processes"));
  EXPECT_THAT(processes_with(mark), IsEmpty());
}

TEST_F(HostileWorkload, IgnoringSigtermDoesNotHelp) {
  const auto answer = python(
      "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('deaf', "
      "flush=True)\ntime.sleep(1000)\n",
      {"--time-limit", "1s", "--grace", "200ms"});
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_EQ(cli_.last_run().at("error").at("kind").as_string(), "timeout");
}

TEST_F(HostileWorkload, ClosingItsDescriptorsDoesNotEndTheRun) {
  const auto answer = python(
      "import os, time\nprint('loss=0.5', flush=True)\nfor fd in range(256):\n  try: os.close(fd)\n  except OSError: "
      "pass\ntime.sleep(0.5)\nos._exit(7)\n");
  EXPECT_EQ(answer.exit_code, 1);
  EXPECT_EQ(cli_.last_run().at("exit_code").as_int64(), 7);
}

TEST_F(HostileWorkload, BeingKilledIsReported) {
  EXPECT_EQ(python("import os, signal\nprint('loss=0.5', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)").exit_code,
            1);
  const auto run = cli_.last_run();
  EXPECT_EQ(run.at("signal").as_int64(), SIGKILL);
  EXPECT_EQ(run.at("error").at("kind").as_string(), "crash");
  EXPECT_THAT(cli_.last_series("loss"), testing::ElementsAre(0.5));
}

TEST_F(HostileWorkload, AFullDiskIsReportedAndWhatWasWrittenStays) {
  // A limit on file size stands for a full disk: writes fail in the middle of the run.
  const auto script = cli_.write("flood.py", "for i in range(400): print('%06d' % i, 'y' * 5000)\nprint('loss=0.5')\n");
  const auto answer = cli_.run({"exec", "-q", "--", "python3", script});
  ASSERT_EQ(answer.exit_code, 0);
  const auto limited = run_command(
      {"bash", "-c",
       "trap '' XFSZ; ulimit -f 256; exec '" + AssayCli::program().string() + "' exec -- python3 " + script},
      {.deadline = std::chrono::seconds(60), .environment = {{"ASSAY_DATA", cli_.data().string()}}});
  ASSERT_TRUE(limited.ok());
  EXPECT_EQ(limited->exit_code, 4) << limited->error;
  EXPECT_THAT(limited->error, HasSubstr("recording_incomplete"));
  const auto logs = cli_.run({"logs", "@last"});
  EXPECT_EQ(logs.exit_code, 0);
  EXPECT_THAT(logs.out, HasSubstr("000000 yyy"));
}

TEST_F(HostileWorkload, AResultThatIsNotFiniteIsNeverValid) {
  for (const auto* value : {"NaN", "null", "Infinity", "\"NaN\""}) {
    const auto answer =
        python("print('{\"assay\":1,\"type\":\"result\",\"metrics\":{\"val_loss\":" + std::string(value) + "}}')");
    EXPECT_EQ(answer.exit_code, 4) << value;
    EXPECT_EQ(cli_.last_run().at("verdict").as_string(), "invalid") << value;
  }
}

TEST_F(HostileWorkload, ArtifactsThatCannotBeKeptAreFlaggedBeforeTheVerdict) {
  const auto spec = cli_.write(
      "leaves.yaml",
      "kind: command\n"
      "command: mkdir $ASSAY_ARTIFACTS/checkpoints && echo x > $ASSAY_ARTIFACTS/kept.txt && echo loss=0.5\n");
  EXPECT_EQ(cli_.run({"run", spec}).exit_code, 4);
  EXPECT_THAT(flags_of_last(), testing::ElementsAre("artifact_lost"));
  EXPECT_EQ(cli_.last_run().at("verdict").as_string(), "flagged");
}

TEST_F(HostileWorkload, CtrlCReachesTheProgramAsSigint) {
  const auto script = cli_.write("train.py",
                                 "import time\n"
                                 "print('loss=0.5', flush=True)\n"
                                 "try: time.sleep(1000)\n"
                                 "except KeyboardInterrupt: print('checkpoint saved', flush=True)\n");
  std::jthread runner([&] {
    (void)run_command({AssayCli::program().string(), "exec", "--", "python3", script},
                      {.deadline = std::chrono::seconds(80), .environment = {{"ASSAY_DATA", cli_.data().string()}}})
        .ok();
  });
  ASSERT_TRUE(eventually([&] { return cli_.run({"logs", "@last"}).out.find("loss=0.5") != std::string::npos; }));
  for (const int pid : processes_with(script)) {
    const auto name = read_file(fs::path("/proc") / std::to_string(pid) / "comm");
    if (name && name->starts_with("assay") && !name->starts_with("assay-guard")) ::kill(pid, SIGINT);
  }
  runner.join();
  EXPECT_THAT(cli_.run({"logs", "@last"}).out, HasSubstr("checkpoint saved"));
  EXPECT_EQ(cli_.last_run().at("verdict").as_string(), "interrupted");
}

TEST_F(HostileWorkload, KillingAssayLeavesNoProcessAndAllData) {
  const std::string mark = "assay_test_kill_" + cli_.folder().filename().string();
  const auto script = cli_.write("train.py",
                                 "import subprocess, time, sys\n"
                                 "subprocess.Popen(['setsid', 'sh', '-c', 'sleep 1000; : " +
                                     mark +
                                     "'])\n"
                                     "for i in range(5): print(f'step {i} loss={1/(i+1)}', flush=True)\n"
                                     "print('" +
                                     mark +
                                     "', file=sys.stderr, flush=True)\n"
                                     "time.sleep(1000)\n");
  std::jthread runner([&] {
    (void)run_command({AssayCli::program().string(), "exec", "--", "python3", script, mark},
                      {.deadline = std::chrono::seconds(80), .environment = {{"ASSAY_DATA", cli_.data().string()}}})
        .ok();
  });
  // The whole output has been recorded when the mark, its last line, can be read.
  ASSERT_TRUE(eventually([&] { return cli_.run({"logs", "@last"}).out.find(mark) != std::string::npos; }));
  std::vector<int> assays;
  for (const int pid : processes_with(script)) {
    const auto exe = read_file(fs::path("/proc") / std::to_string(pid) / "comm");
    if (exe && exe->starts_with("assay") && !exe->starts_with("assay-guard")) assays.push_back(pid);
  }
  ASSERT_THAT(assays, SizeIs(1));
  ASSERT_EQ(::kill(assays.front(), SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return processes_with(mark).empty(); }));
  const auto run = cli_.last_run();
  EXPECT_EQ(run.at("verdict").as_string(), "interrupted");
  EXPECT_EQ(run.at("state").as_string(), "ended");
  EXPECT_THAT(cli_.last_series("loss"), SizeIs(5));
}

}  // namespace
}  // namespace assay
