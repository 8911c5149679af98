#include "runs/execute.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <thread>

#include "base/files.h"
#include "base/spawn.h"
#include "launch/fake_launcher.h"
#include "launch/local/local_launcher.h"
#include "machine/job_place.h"
#include "model/run.h"
#include "runs/follow.h"
#include "runs/workload.h"
#include "store/local/local_store.h"
#include "store/read_journals.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "store/run_writer.h"
#include "telemetry/metric_source.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Everything that a run printed.
class PrintedOutput final : public JournalVisitor {
 public:
  void on_output(OutputStream, WallTime, std::string_view bytes) override { text += bytes; }
  std::string text;
};

class Execute : public testing::Test {
 protected:
  using Run = assay::Run;  // gtest has a function of that name

  static RunServices services(RunStore& store, Launcher& launcher, const Clock& clock, RunObserver& observer) {
    return {.store = store,
            .launcher = launcher,
            .clock = clock,
            .observer = observer,
            .make_sources = [](std::optional<pid_t>) { return std::vector<std::unique_ptr<MetricSource>>(); }};
  }
  static Run a_run(std::string name) {
    Run run;
    run.name = std::move(name);
    run.kind = "command";
    return run;
  }
  std::string printed_by(const std::string& id) {
    PrintedOutput output;
    EXPECT_TRUE(read_journal(*store_, id, output).ok());
    return output.text;
  }

  TemporaryFolder folder_;
  std::unique_ptr<RunStore> store_ = open_local_store(folder_.path()).value();
};

class ExecuteOnFake : public Execute {
 protected:
  RunServices services() { return Execute::services(*store_, launcher_, clock_, observer_); }

  ManualClock clock_;
  FakeLauncher launcher_{clock_};
  RunObserver observer_;
};

TEST_F(ExecuteOnFake, ARunIsStartedFollowedJudgedAndStored) {
  launcher_.script = {.steps = {JobScript::Say{"loss=0.25\n"}, JobScript::Wait{90s}},
                      .usage = JobUsage{.user_time = 2s, .system_time = 1s, .peak_rss_bytes = 4096}};
  const auto run = execute_run(a_run("mnist"), {.job = {.arguments = {"train.py"}}}, services());
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(run->verdict, Verdict::valid);
  EXPECT_EQ(run->duration, 90s);
  EXPECT_EQ(run->metrics.at("loss"), 0.25);
  EXPECT_EQ(run->metrics.at("cpu_seconds"), 3);
  EXPECT_EQ(run->metrics.at("host_rss_peak_bytes"), 4096);
  EXPECT_EQ(store_->find_run(run->id)->verdict, Verdict::valid);
  EXPECT_EQ(printed_by(run->id), "loss=0.25\n");

  ASSERT_EQ(launcher_.started.size(), 1U);
  EXPECT_EQ(launcher_.started[0].name, "mnist");
  EXPECT_EQ(launcher_.started[0].token, run->id);
  EXPECT_EQ(launcher_.started[0].environment.at("ASSAY_RUN_ID"), run->id);
}

TEST_F(ExecuteOnFake, WhatThePlaceCannotTellIsNoMetric) {
  const auto run = execute_run(a_run("mnist"), {.job = {.arguments = {"train.py"}}}, services());
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(run->metrics.contains("cpu_seconds"));
  EXPECT_FALSE(run->metrics.contains("host_rss_peak_bytes"));
}

TEST_F(ExecuteOnFake, TheGraceAndTheTimeLimitAreThoseOfTheWorkload) {
  launcher_.script = {.forever = true, .on_terminate = {.ignores = true}};
  const auto run =
      execute_run(a_run("stuck"), {.job = {.arguments = {"train.py"}, .grace = 30s}, .time_limit = 10min}, services());
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->error->kind, ErrorKind::timeout);
  EXPECT_EQ(run->duration, 10min + 30s);
}

TEST_F(ExecuteOnFake, TimeInAQueueIsNotTheRuns) {
  launcher_.script = {.steps = {JobScript::Wait{90s}}, .queued = 3h};
  const auto asked = clock_.wall();
  const auto run = execute_run(a_run("patient"), {.job = {.arguments = {"train.py"}}, .time_limit = 10min}, services());
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->verdict, Verdict::valid);
  EXPECT_EQ(run->created, asked);
  EXPECT_EQ(run->started, asked + 3h);
  EXPECT_EQ(run->duration, 90s);
}

TEST_F(ExecuteOnFake, ARunThatIsStoppedInAQueueNeverBegan) {
  launcher_.script = {.steps = {JobScript::Wait{90s}}, .queued = 3h};
  auto pipe = make_pipe().value();
  ASSERT_TRUE(write_all(pipe.write_end.get(), "i").ok());
  auto own = services();
  own.stop_fd = pipe.read_end.get();
  own.place = "fake:1";
  const auto run = execute_run(a_run("impatient"), {.job = {.arguments = {"train.py"}}}, own);
  ASSERT_TRUE(run.ok()) << run.error().text();
  EXPECT_EQ(run->verdict, Verdict::interrupted);
  EXPECT_EQ(run->error->message, "stopped by the user before it began");
  EXPECT_EQ(run->started, WallTime());
  EXPECT_EQ(run->duration, 0s);
  EXPECT_EQ(run->ended, clock_.wall());
}

/// Sees the start of the only run as it is stored, while it waits and once it runs.
class StartWatcher final : public RunObserver {
 public:
  explicit StartWatcher(RunStore& store) : store_(store) {}
  void on_waiting(std::string_view, Nanos) override { while_waiting.push_back(started()); }
  void on_progress(const RunFacts&, Nanos) override { while_running.push_back(started()); }

  std::vector<WallTime> while_waiting, while_running;

 private:
  WallTime started() { return store_.find_run(store_.list_runs({})->rows.at(0).id)->started; }
  RunStore& store_;
};

TEST_F(ExecuteOnFake, ARunThatWaitsElsewhereHasNoStart) {
  launcher_.script = {.steps = {JobScript::Wait{90s}}, .queued = 3min};
  const auto asked = clock_.wall();
  StartWatcher watcher(*store_);
  auto services = Execute::services(*store_, launcher_, clock_, watcher);
  services.place = "fake:1";
  ASSERT_TRUE(execute_run(a_run("patient"), {.job = {.arguments = {"train.py"}}}, services).ok());
  EXPECT_THAT(watcher.while_waiting, testing::AllOf(testing::SizeIs(testing::Gt(0U)), testing::Each(WallTime{})));
  EXPECT_THAT(watcher.while_running, testing::AllOf(testing::SizeIs(testing::Gt(0U)), testing::Each(asked + 3min)));
}

TEST_F(ExecuteOnFake, AJobThatIsLostIsAFailedRunWithItsData) {
  launcher_.script = {.steps = {JobScript::Say{"loss=0.25\n"}},
                      .lost = Error{.kind = ErrorKind::crash, .message = "the guard died"}};
  const auto run = execute_run(a_run("lost"), {.job = {.arguments = {"train.py"}}}, services());
  ASSERT_TRUE(run.ok());
  EXPECT_EQ(run->verdict, Verdict::failed);
  EXPECT_THAT(run->error->message, HasSubstr("the guard died"));
  EXPECT_EQ(run->metrics.at("loss"), 0.25);
}

TEST_F(ExecuteOnFake, WhatCannotBeStartedLeavesNoRun) {
  const auto run = execute_run(a_run("nothing"), {}, services());
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.error().kind, ErrorKind::usage);
  EXPECT_TRUE(store_->list_runs({})->rows.empty());
}

TEST_F(ExecuteOnFake, AFurtherRankAddsItsOutputToTheRunOfTheFirst) {
  const JobPlace place{.launcher = "srun", .job = "4711", .rank = 3, .size = 4};
  Run first = a_run("job");
  first.id = job_run_id(place, 0);
  first.state = RunState::running;
  const auto writer = begin_run(*store_, first).value();
  launcher_.script = {.steps = {JobScript::Say{"from rank 3\n"}}};
  const auto joined = join_run(a_run("job"), place, {.job = {.arguments = {"train.py"}}}, services());
  ASSERT_TRUE(joined.ok()) << joined.error().text();
  EXPECT_EQ(joined->id, first.id);
  EXPECT_EQ(launcher_.started[0].token, first.id + "/rank-3");
  EXPECT_EQ(printed_by(first.id), "from rank 3\n");
}

/// Asks for a stop once the workload has said a word.
class StoppingObserver final : public RunObserver {
 public:
  explicit StoppingObserver(std::string word) : word_(std::move(word)) {}
  void on_output(OutputStream, std::string_view text) override {
    said_ += text;
    if (said_.find(word_) == std::string::npos) return;
    EXPECT_TRUE(write_all(pipe_.write_end.get(), "s").ok());
  }
  int fd() const { return pipe_.read_end.get(); }

 private:
  std::string word_;
  std::string said_;
  Pipe pipe_ = make_pipe().value();
};

TEST_F(Execute, RunsSideBySideInOneProcessKeepTheirOwn) {
  constexpr int kRuns = 4;
  // Each waits until all of them run. The last one goes on until it is stopped, which is its own affair.
  const TemporaryFolder meeting;
  const auto script = [&](int i) {
    return fmt::format(
        "echo loss=0.{0}; touch {1}/{0}; until [ $(ls {1} | wc -l) = {2} ]; do sleep 0.01; done; pwd -P; {3}", i,
        meeting.path().string(), kRuns, i == 3 ? "echo stop me; exec sleep 1000" : fmt::format("exit {}", i));
  };
  const auto launcher = make_local_launcher();
  const SystemClock clock;
  std::vector<std::optional<Result<Run>>> runs(kRuns);
  const std::vector<TemporaryFolder> folders(kRuns);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kRuns);
    for (std::size_t i = 0; i < kRuns; ++i) {
      threads.emplace_back([&, i] {
        StoppingObserver observer("stop me\n");
        RunServices own = services(*store_, *launcher, clock, observer);
        own.stop_fd = observer.fd();
        const Job job{.arguments = {"sh", "-c", script(static_cast<int>(i))}, .folder = folders[i].path()};
        runs[i] = execute_run(a_run(fmt::format("run {}", i)), {.job = job}, own);
      });
    }
  }
  for (int i = 0; i < kRuns; ++i) {
    const auto& run = *runs[static_cast<std::size_t>(i)];
    ASSERT_TRUE(run.ok()) << run.error().text();
    EXPECT_EQ(run->metrics.at("loss"), i / 10.0);
    EXPECT_EQ(printed_by(run->id),
              fmt::format("loss=0.{}\n{}\n{}", i, fs::canonical(folders[static_cast<std::size_t>(i)].path()).string(),
                          i == 3 ? "stop me\n" : ""));
    EXPECT_EQ(run->exit_code, i < 3 ? std::optional(i) : std::nullopt);
    EXPECT_EQ(run->verdict, i == 0 ? Verdict::valid : i < 3 ? Verdict::failed : Verdict::interrupted);
    EXPECT_EQ(store_->find_run(run->id)->verdict, run->verdict);
  }
}

}  // namespace
}  // namespace assay
