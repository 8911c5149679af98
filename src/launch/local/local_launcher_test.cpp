#include "launch/local/local_launcher.h"

#include "launch/launcher_contract.h"

namespace assay {
namespace {

class LocalPlace final : public LauncherPlace {
 public:
  Launcher& launcher() override { return *launcher_; }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override { return {.arguments = {"sh", "-c", shell_for(script)}}; }
  /// The guard of its processes.
  bool vanish(const RunningJob& job) override {
    const auto first = read_process_stat(*job.first_process());
    return first && ::kill(first->parent, SIGKILL) == 0;
  }

 private:
  SystemClock clock_;
  std::unique_ptr<Launcher> launcher_ = make_local_launcher();
};

LauncherFactory local_factory() {
  return {.name = "local", .make_place = [] { return std::make_unique<LocalPlace>(); }};
}
INSTANTIATE_TEST_SUITE_P(Local, LauncherContract, testing::Values(local_factory()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(Local, OwnedLauncherContract, testing::Values(local_factory()), launcher_factory_name);

/// Waits for its ending and reads nothing else.
Result<JobEnding> ending_of(RunningJob& job) {
  const auto limit = SystemClock().now() + std::chrono::seconds(90);
  while (SystemClock().now() < limit) {
    std::array<char, 4096> buffer;
    const auto ready = job.wait(limit, -1);
    for (const auto stream : kJobStreams) {
      if (ready.streams[stream]) (void)job.read(stream, buffer);
    }
    ASSAY_TRY(auto ending, job.ending());
    if (ending) return std::move(*ending);
  }
  return Error{.kind = ErrorKind::timeout, .message = "it did not end"};
}

TEST(LocalLauncher, TellsTheFirstProcessAndWhatItUsed) {
  const auto launcher = make_local_launcher();
  const auto job =
      launcher->start({.arguments = {"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"}}).value();
  EXPECT_GT(job->first_process().value_or(0), 0);
  const auto ending = ending_of(*job);
  ASSERT_TRUE(ending.ok()) << ending.error().text();
  EXPECT_GT(ending->usage->user_time + ending->usage->system_time, Nanos(0));
  EXPECT_GT(ending->usage->peak_rss_bytes, 100'000);
}

TEST(LocalLauncher, AKilledGuardLeavesAnErrorAndNoProcess) {
  const ProcessMark mark;
  const auto launcher = make_local_launcher();
  const auto job =
      launcher->start({.arguments = {"sleep", "1000"}, .environment = {{mark.name(), mark.value()}}}).value();
  const auto first = read_process_stat(*job->first_process());
  ASSERT_TRUE(first);
  ::kill(first->parent, SIGKILL);
  const auto ending = ending_of(*job);
  ASSERT_FALSE(ending.ok());
  EXPECT_EQ(ending.error().kind, ErrorKind::crash);
  EXPECT_FALSE(job->wait(SystemClock().now(), -1).ended) << "it was told";
  const auto limit = SystemClock().now() + std::chrono::seconds(90);
  while (!mark.bearers().empty() && SystemClock().now() < limit) std::this_thread::yield();
  EXPECT_THAT(mark.bearers(), testing::IsEmpty());
}

TEST(LocalLauncher, KnowsThePathsOfThisMachine) {
  const TemporaryFolder scratch;
  const auto launcher = make_local_launcher(Programs{.self = "/bin/true", .engine = {}});
  const auto job = launcher->start({.arguments = {"{assay}"}, .scratch = scratch.path()});
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(ending_of(**job)->exit_code, 0);
  EXPECT_EQ(launcher->start({.arguments = {"{assay-engine}", "train"}}).error().kind, ErrorKind::no_engine);
  EXPECT_EQ(launcher->start({.arguments = {"true"}, .ranks = {.nodes = 2}}).error().kind, ErrorKind::unsupported);
  EXPECT_THAT(launcher->start({.arguments = {"true"}, .nodes = {"no-such-node"}}).error().message,
              testing::HasSubstr("pinned to the node 'no-such-node'"));
  EXPECT_EQ(make_local_launcher()->start({.arguments = {"{assay}"}}).error().kind, ErrorKind::missing_file)
      << "passed on as it is";
}

TEST(LocalLauncher, SeveralThreadsStartJobsAtOnce) {
  const auto launcher = make_local_launcher();
  std::vector<int> correct(4, 0);
  {
    std::vector<std::jthread> threads;
    threads.reserve(correct.size());
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (int round = 0; round < 5; ++round) {
          auto job = launcher->start({.arguments = {"sh", "-c", fmt::format("exit {}", thread + 10)},
                                      .token = fmt::format("{}/{}", thread, round)});
          if (!job) continue;
          const auto ending = ending_of(**job);
          if (ending && ending->exit_code == thread + 10) ++correct[static_cast<std::size_t>(thread)];
        }
      });
    }
  }
  EXPECT_THAT(correct, testing::Each(5));
}

}  // namespace
}  // namespace assay
