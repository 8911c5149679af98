#include <gmock/gmock.h>

#include <csignal>
#include <thread>

#include "support/assay_cli.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::ptrdiff_t lines_of(const fs::path& file) {
  const std::string text = read_file(file).value_or("");
  return std::count(text.begin(), text.end(), '\n');
}

class Studies : public testing::Test {
 protected:
  AssayCli cli_;
};

TEST_F(Studies, SixMistakesGiveSixMessages) {
  const auto spec = cli_.write("bad.yaml",
                               "kind: train\n"
                               "modle: mlp\n"
                               "epochs: many\n"
                               "batch_size: 0\n"
                               "time_limit: 10\n"
                               "precision: fp12\n"
                               "epochs: 5\n");
  const auto answer = cli_.run({"validate", spec});
  EXPECT_EQ(answer.exit_code, 2);
  std::vector<std::string> places;
  std::istringstream lines(answer.error);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(spec))
      places.push_back(line.substr(spec.size(), line.find(':', spec.size() + 1) - spec.size()));
  }
  EXPECT_THAT(places, testing::ElementsAre(":2", ":3", ":4", ":5", ":6", ":7")) << answer.error;
}

TEST_F(Studies, ASweepWithRepeatsIsInterleavedAndExitCodesTell) {
  const auto spec = cli_.write("sweep.yaml",
                               "kind: command\n"
                               "name: sweep\n"
                               "command: echo loss={lr}\n"
                               "params: {lr: 1}\n"
                               "sweep: {params.lr: [0.1, 0.2]}\n"
                               "repeat: 3\n");
  int code = -1;
  const auto result = cli_.json({"run", spec}, &code).at("result").as_object();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(result.at("valid").as_int64(), 6);
  std::vector<std::int64_t> repeats;
  for (const auto& run : result.at("runs").as_array()) {
    repeats.push_back(run.at("repeat").as_int64());
    const double expected = run.at("variant").as_string().find("0.1") != json::string::npos ? 0.1 : 0.2;
    EXPECT_EQ(run.at("metrics").at("loss").to_number<double>(), expected);
  }
  EXPECT_THAT(repeats, testing::ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST_F(Studies, AStudyIsDeletedWithItsRuns) {
  const auto spec = cli_.write("three.yaml", "kind: command\nname: three\ncommand: 'true'\nrepeat: 3\n");
  for (int i = 0; i < 2; ++i) ASSERT_EQ(cli_.run({"run", spec}).exit_code, 0);
  const auto unsure = cli_.run({"rm", "study:@last"});
  EXPECT_EQ(unsure.exit_code, 2);
  EXPECT_THAT(unsure.error, HasSubstr("Delete 1 study with 3 runs?"));
  EXPECT_EQ(cli_.run({"rm", "--yes", "study:@last", "study:three"}).out, "1 study with 3 runs deleted\n");
  EXPECT_EQ(cli_.run({"prune", "--yes", "study=three"}).exit_code, 0);
  EXPECT_EQ(cli_.run({"rm", "study:three"}).out, "1 study deleted\n") << "no run of it is left";
  EXPECT_THAT(cli_.run({"rm", "study:@last"}).error, HasSubstr("there are no studies yet"));
}

TEST_F(Studies, SomeFailedIs4NoneValidIs1) {
  const auto some =
      cli_.write("some.yaml", "kind: command\ncommand: exit {code}\nparams: {code: 0}\nsweep: {params.code: [0, 1]}\n");
  EXPECT_EQ(cli_.run({"run", some}).exit_code, 4);
  const auto none =
      cli_.write("none.yaml", "kind: command\ncommand: exit {code}\nparams: {code: 1}\nsweep: {params.code: [1, 2]}\n");
  EXPECT_EQ(cli_.run({"run", none}).exit_code, 1);
}

TEST_F(Studies, AnInterruptedStudyResumesWhereItStopped) {
  const auto log = cli_.folder() / "log";
  const auto gate = cli_.folder() / "gate";
  // Every run notes itself; the third waits until the gate is there.
  const auto spec =
      cli_.write("slow.yaml", "kind: command\nname: slow\ncommand: |\n  echo {n} >> " + log.string() +
                                  "\n  if [ $(wc -l < " + log.string() + ") -ge 3 ] && [ ! -e " + gate.string() +
                                  " ]; then sleep 1000; fi\nparams: {n: 0}\nsweep: {params.n: [1, 2, 3, 4]}\n");
  std::jthread runner([&] {
    (void)run_command({AssayCli::program().string(), "run", spec},
                      {.deadline = std::chrono::seconds(80), .environment = {{"ASSAY_DATA", cli_.data().string()}}})
        .ok();
  });
  ASSERT_TRUE(eventually([&] { return lines_of(log) == 3; }));
  const auto assays = processes_with(spec);
  ASSERT_THAT(assays, SizeIs(1));
  ::kill(assays.front(), SIGKILL);
  runner.join();
  ASSERT_TRUE(write_file_atomically(gate, "").ok());

  int code = -1;
  const auto result = cli_.json({"run", "--resume", "@last"}, &code).at("result").as_object();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(result.at("valid").as_int64(), 4);
  EXPECT_EQ(lines_of(log), 5) << "two were done, the third done again, one new";
  EXPECT_EQ(cli_.json({"runs", "verdict=interrupted"}).at("result").at("runs").as_array().size(), 1U);
}

TEST_F(Studies, CtrlCStopsTheStudyAndSaysHowToGoOn) {
  const auto spec = cli_.write(
      "sleep.yaml", "kind: command\ncommand: echo started; sleep 1000\nsweep: {params.n: [1, 2]}\nparams: {n: 0}\n");
  Result<CommandOutput> output = CommandOutput{};
  std::jthread runner([&] {
    output = run_command({AssayCli::program().string(), "run", spec},
                         {.deadline = std::chrono::seconds(80), .environment = {{"ASSAY_DATA", cli_.data().string()}}});
  });
  ASSERT_TRUE(eventually([&] { return cli_.run({"logs", "@last"}).out == "started\n"; }));
  const auto twice = cli_.run({"run", "--resume", "@last"});
  EXPECT_EQ(twice.exit_code, 3) << "it still runs";
  EXPECT_THAT(twice.error, HasSubstr("still runs"));
  const auto assays = processes_with(spec);
  ASSERT_THAT(assays, SizeIs(1));
  ::kill(assays.front(), SIGINT);
  runner.join();
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, 1);
  EXPECT_THAT(output->out, HasSubstr("assay run --resume "));
  EXPECT_EQ(cli_.last_run().at("verdict").as_string(), "interrupted");
}

TEST_F(Studies, TheNullKindLosesNothing) {
  const auto spec = cli_.write("null.yaml", "kind: null\nsteps: 20000\nmetrics_per_step: 3\n");
  int code = -1;
  const auto run = cli_.json({"run", spec}, &code).at("result").as_object();
  EXPECT_EQ(code, 0);
  EXPECT_EQ(run.at("metrics").at("events_recorded").to_number<double>(), 20000);
  EXPECT_THAT(cli_.last_series("m2"), SizeIs(20'000));
}

TEST_F(Studies, SettingsReachTheWorkload) {
  const auto spec =
      cli_.write("env.yaml",
                 "kind: command\ncommand: [sh, -c, 'echo \"$PWD $GREETING $ASSAY_SEED\"']\nfolder: /usr\nseed: 7\n"
                 "env: {GREETING: hello}\n");
  EXPECT_EQ(cli_.run({"run", spec}).exit_code, 0);
  EXPECT_EQ(cli_.run({"logs", "@last"}).out, "/usr hello 7\n");
  EXPECT_EQ(cli_.run({"run", spec, "--set", "env.GREETING=bye"}, {{"ASSAY_SET_SEED", "8"}}).exit_code, 0);
  EXPECT_EQ(cli_.run({"logs", "@last"}).out, "/usr bye 8\n");
}

TEST_F(Studies, TimeLimitExpectAndMetricsChangeTheRun) {
  const auto limit = cli_.write("limit.yaml", "kind: command\ncommand: sleep 1000\ntime_limit: 300ms\ngrace: 100ms\n");
  EXPECT_EQ(cli_.run({"run", limit}).exit_code, 1);
  EXPECT_EQ(cli_.last_run().at("error").at("kind").as_string(), "timeout");
  const auto expect = cli_.write(
      "expect.yaml", "kind: command\ncommand: echo samples_per_second=10\nexpect: {samples_per_second: 20}\n");
  EXPECT_EQ(cli_.run({"run", expect}).exit_code, 4);
  EXPECT_EQ(cli_.last_run().at("flags").as_array().at(0).at("kind").as_string(), "expect_missed");
  const auto metric =
      cli_.write("metric.yaml", "kind: command\ncommand: echo took 12 ms\nmetrics: {latency: 'took ([0-9]+) ms'}\n");
  EXPECT_EQ(cli_.run({"run", metric}).exit_code, 0);
  EXPECT_THAT(cli_.last_series("latency"), testing::ElementsAre(12));
  const auto output = cli_.write("output.yaml",
                                 "kind: command\noutput_limit: 4KiB\n"
                                 "command: printf '%5000s\\n' first; sleep 0.3; echo second\n");
  EXPECT_EQ(cli_.run({"run", output}).exit_code, 0);
  EXPECT_EQ(cli_.run({"logs", "@last"}).out, std::string(4995, ' ') + "first\n");
}

TEST_F(Studies, RanksOfOneJobMakeOneRun) {
  const auto rank = [&](int number) {
    return run_command({AssayCli::program().string(), "exec", "--", "sh", "-c", "echo loss=0.5; sleep 1"},
                       {.deadline = std::chrono::seconds(80),
                        .environment = {{"ASSAY_DATA", cli_.data().string()},
                                        {"SLURM_JOB_ID", "77"},
                                        {"SLURM_STEP_ID", "0"},
                                        {"SLURM_NTASKS", "2"},
                                        {"SLURM_PROCID", std::to_string(number)},
                                        {"SLURM_LOCALID", std::to_string(number)}}});
  };
  for (int round = 1; round <= 2; ++round) {
    Result<CommandOutput> second = CommandOutput{};
    std::jthread other([&] { second = rank(1); });
    const auto first = rank(0);
    other.join();
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->exit_code, 0) << first->error;
    EXPECT_EQ(second->exit_code, 0) << second->error;
    EXPECT_THAT(cli_.json({"runs"}).at("result").at("runs").as_array(), SizeIs(static_cast<std::size_t>(round)));
  }
  const auto series =
      cli_.json({"show", "@last", "--series", "host.memory_used_bytes"}).at("result").at("series").as_array();
  EXPECT_THAT(series, SizeIs(2)) << "rank 1 adds its system metrics";
}

}  // namespace
}  // namespace assay
