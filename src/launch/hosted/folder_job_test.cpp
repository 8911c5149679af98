#include "launch/hosted/folder_job.h"

#include "base/text.h"
#include "launch/finished_job_fixture.h"
#include "launch/hosted/folder_launcher_fixture.h"
#include "launch/hosted/killed_host_fixture.h"
#include "launch/launcher_contract.h"

namespace assay {
namespace {

class FolderPlace final : public LauncherPlace {
 public:
  Launcher& launcher() override { return launcher_; }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override { return {.arguments = {"sh", "-c", shell_for(script)}}; }
  bool vanish(const RunningJob& job) override {
    return kill_host(JobFolder(folder_.path() / "jobs" / job.handle().substr(std::string_view("folder:").size())));
  }
  std::unique_ptr<Launcher> launcher_of_child() override {
    return std::make_unique<FolderLauncher>(folder_.path() / "jobs");
  }

 private:
  SystemClock clock_;
  TemporaryFolder folder_;
  FolderLauncher launcher_{folder_.path() / "jobs"};
};

LauncherFactory folder_factory() {
  return {.name = "folder", .make_place = [] { return std::make_unique<FolderPlace>(); }};
}
INSTANTIATE_TEST_SUITE_P(Folder, LauncherContract, testing::Values(folder_factory()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(Folder, OutlivingLauncherContract, testing::Values(folder_factory()), launcher_factory_name);

class FolderJob : public testing::Test {
 protected:
  FinishedJob run(const Job& job) {
    auto started = launcher_.start(job);
    if (!started) throw std::runtime_error(started.error().text());
    return finish_job(**started);
  }
  static Job shell(const std::string& script) { return {.arguments = {"sh", "-c", script}}; }

  TemporaryFolder root_;
  FolderLauncher launcher_{root_.path()};
};

TEST_F(FolderJob, SeveralProcessesOnSeveralNodesAreOneJob) {
  Job job = shell(
      "echo \"$RANK of $WORLD_SIZE, local $LOCAL_RANK of $LOCAL_WORLD_SIZE\"; echo $MASTER_ADDR:$MASTER_PORT >&2; "
      "echo event >/dev/fd/${ASSAY_EVENTS#fd:}");
  job.ranks = {.nodes = 2, .per_node = 2};
  const auto outcome = run(job);
  ASSERT_TRUE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending->exit_code, 0);
  std::vector<std::string> lines;
  for (const auto line : split(trim(outcome.text[JobStream::out]), '\n')) lines.emplace_back(line);
  EXPECT_THAT(lines, testing::UnorderedElementsAre("0 of 4, local 0 of 2", "[rank 1] 1 of 4, local 1 of 2",
                                                   "[rank 2] 2 of 4, local 0 of 2", "[rank 3] 3 of 4, local 1 of 2"));
  EXPECT_EQ(outcome.text[JobStream::events], "event\n") << "rank 0 speaks for the job";
  // All were told to meet at the same address.
  const std::string first(split(outcome.text[JobStream::error], '\n').front());
  const auto meeting = first.substr(first.find_last_of(' ') == std::string::npos ? 0 : first.find_last_of(' ') + 1);
  std::size_t count = 0;
  for (auto at = outcome.text[JobStream::error].find(meeting); at != std::string::npos;
       at = outcome.text[JobStream::error].find(meeting, at + 1)) {
    ++count;
  }
  EXPECT_EQ(count, 4U) << outcome.text[JobStream::error];
}

TEST_F(FolderJob, OneThatFailsEndsTheOthersAndDecides) {
  Job job = shell("[ $RANK = 1 ] && exit 7; exec sleep 1000");
  job.ranks = {.nodes = 2, .per_node = 2};
  job.grace = std::chrono::milliseconds(100);
  const auto outcome = run(job);
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_EQ(outcome.ending->exit_code, 7);
}

TEST_F(FolderJob, MergedOutputGoesOnAtTheRightByteOfEachPart) {
  Job job = shell("i=0; while [ $i -lt 200 ]; do echo $RANK-$i; i=$((i+1)); done; exec sleep 1000");
  job.ranks = {.nodes = 3};
  job.token = "merged";
  std::string all;
  const auto limit = SystemClock().now() + std::chrono::seconds(90);
  auto running = launcher_.start(job).value();
  // Some, then another owner, and so on: 3 × 200 lines in all.
  while (std::count(all.begin(), all.end(), '\n') < 600 && SystemClock().now() < limit) {
    std::array<char, 700> buffer;
    if (running->wait(limit, -1).streams[JobStream::out]) {
      all.append(buffer.data(), running->read(JobStream::out, buffer).value_or(0));
    }
    // What was read but not kept by the one who was killed comes again.
    if (!all.empty() && all.size() > 100) all.resize(all.size() - 50);
    running.reset();
    PerStream<std::uint64_t> taken;
    taken[JobStream::out] = all.size();
    running = launcher_.attach("merged", taken).value();
    if (all.size() < 100) continue;
    if (running->wait(limit, -1).streams[JobStream::out]) {
      all.append(buffer.data(), running->read(JobStream::out, buffer).value_or(0));
    }
  }
  running->kill();
  std::map<std::string, int> next;
  for (const auto line : split(trim(all), '\n')) {
    const auto text = line.starts_with("[rank") ? line.substr(9) : line;
    const std::string rank(text.substr(0, text.find('-')));
    EXPECT_EQ(text, fmt::format("{}-{}", rank, next[rank]++));
  }
  EXPECT_THAT(next, testing::ElementsAre(testing::Pair("0", 200), testing::Pair("1", 200), testing::Pair("2", 200)));
}

TEST_F(FolderJob, WhatIsMeasuredOfEveryNodeIsAStreamOfItsOwn) {
  Job job = shell("sleep 0.5");
  job.ranks = {.nodes = 2, .per_node = 2};
  EXPECT_EQ(run(job).text[JobStream::readings], "") << "nobody wants to know";
  job.reading_period = std::chrono::seconds(1);
  job.nodes = {"gpu01", "gpu02"};
  job.token = "measured";
  const auto whole = run(job).text[JobStream::readings];
  const auto lines = [](const std::string& text) {
    std::vector<std::string> sorted;
    for (const auto line : split(trim(text), '\n')) sorted.emplace_back(line);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  };
  EXPECT_THAT(lines(whole),
              testing::ElementsAre("gpu01 of 2 with 2: 0", "gpu01 of 2 with 2: 1", "gpu01 of 2 with 2: 2",
                                   "gpu02 of 2 with 2: 0", "gpu02 of 2 with 2: 1", "gpu02 of 2 with 2: 2"));
  // Whoever comes later gets what is behind that of each node, whichever comes first then.
  PerStream<std::uint64_t> taken;
  taken[JobStream::readings] = whole.find('\n') + 1;
  const auto rest = finish_job(*launcher_.attach("measured", taken).value()).text[JobStream::readings];
  EXPECT_EQ(lines(rest), lines(whole.substr(taken[JobStream::readings])));
}

TEST_F(FolderJob, AHostThatIsKilledIsNoticedAndNothingIsLeft) {
  const ProcessMark mark;
  Job job = shell("echo there; exec sleep 1000");
  job.environment[mark.name()] = mark.value();
  job.token = "lost";
  auto running = launcher_.start(job).value();
  const auto host = folder_for(root_.path(), "lost").read_host(0).value();
  ASSERT_TRUE(host);
  ::kill(host->pid, SIGKILL);
  const auto outcome = finish_job(*running);
  ASSERT_FALSE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending.error().kind, ErrorKind::crash);
  EXPECT_THAT(outcome.ending.error().message, testing::HasSubstr("hosted the job is gone"));
  const auto limit = SystemClock().now() + std::chrono::seconds(90);
  while (!mark.bearers().empty() && SystemClock().now() < limit) std::this_thread::yield();
  EXPECT_THAT(mark.bearers(), testing::IsEmpty());
}

TEST_F(FolderJob, APartIsNotHostedTwice) {
  Job job = shell("echo once");
  job.token = "once";
  finish_job(*launcher_.start(job).value());
  const auto local = make_local_launcher();
  const auto again = host_job(folder_for(root_.path(), "once"), {}, *local, SystemClock());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().kind, ErrorKind::busy);
  EXPECT_EQ(read_file(folder_for(root_.path(), "once").stream(0, JobStream::out)).value(), "once\n");
}

TEST_F(FolderJob, AJobThatNobodyWantsAnyMoreIsNotBegun) {
  const JobFolder folder = folder_for(root_.path(), "unwanted");
  ASSERT_TRUE(folder.create({.arguments = {"sh", "-c", "echo no"}, .token = "unwanted"}).ok());
  ASSERT_TRUE(folder.make_wish(0, JobWish::Kind::stop, Nanos(0)).ok());
  const auto local = make_local_launcher();
  const auto ending = host_job(folder, {}, *local, SystemClock());
  ASSERT_TRUE(ending.ok());
  EXPECT_TRUE(ending->stopped);
  EXPECT_FALSE(fs::exists(folder.stream(0, JobStream::out)));
}

TEST_F(FolderJob, AHostKeepsTheTimeLimitThatItsOwnerDoesNot) {
  const JobFolder folder = folder_for(root_.path(), "limit");
  ASSERT_TRUE(folder.create({.arguments = {"sleep", "1000"}, .time_limit = Nanos(1), .token = "limit"}).ok());
  const auto local = make_local_launcher();
  const auto ending = host_job(folder, {.extra_time = Nanos(1)}, *local, SystemClock());
  ASSERT_TRUE(ending.ok());
  EXPECT_EQ(ending->signal, SIGTERM);
}

TEST_F(FolderJob, WhatItLeavesComesBackAndOldFoldersGo) {
  const TemporaryFolder scratch;
  fs::create_directories(scratch.path() / "artifacts");
  Job job = shell("echo kept >\"$A/trace\"");
  job.environment["A"] = std::string(kScratchOfPlace) + "/artifacts";
  job.scratch = scratch.path();
  job.token = "artifacts";
  EXPECT_EQ(run(job).ending->exit_code, 0);
  EXPECT_EQ(read_file(scratch.path() / "artifacts/trace").value(), "kept\n");
  // One that goes on stays, whichever of its parts is here.
  const JobFolder busy = folder_for(root_.path(), "busy");
  ASSERT_TRUE(busy.create({.arguments = {"true"}, .token = "busy"}).ok());
  fs::create_directories(busy.part(3));
  const auto lock = FileLock::claim(busy.lock(3)).value();
  remove_old_jobs(root_.path(), std::chrono::hours(1));
  EXPECT_TRUE(fs::exists(folder_for(root_.path(), "artifacts").path()));
  remove_old_jobs(root_.path(), -std::chrono::hours(1));
  EXPECT_FALSE(fs::exists(folder_for(root_.path(), "artifacts").path()));
  EXPECT_TRUE(fs::exists(busy.path()));
}

}  // namespace
}  // namespace assay
