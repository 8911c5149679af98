#include "agent/job_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/fake_leader_fixture.h"
#include "api/run_types.h"
#include "base/files.h"
#include "base/process_tree.h"
#include "launch/fake_launcher.h"
#include "launch/local/local_launcher.h"
#include "net/http_message.h"
#include "runs/follow.h"
#include "runs/study_run.h"
#include "store/local/local_store.h"
#include "store/memory/run_memory.h"
#include "store/read_journals.h"
#include "store/run_query.h"
#include "store/run_writer.h"
#include "store/troubled_store_fixture.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Real processes, and what they were started with.
class RecordingLauncher final : public Launcher {
 public:
  std::string_view name() const override { return "recording"; }
  Result<std::unique_ptr<RunningJob>> start(const Job& job) override {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(job);
    }
    return local_->start(job);
  }
  Result<std::unique_ptr<RunningJob>> attach(std::string_view handle, PerStream<std::uint64_t> taken) override {
    return local_->attach(handle, taken);
  }
  std::vector<Job> jobs() const {
    const std::lock_guard lock(mutex_);
    return jobs_;
  }

 private:
  std::unique_ptr<Launcher> local_ = make_local_launcher();
  mutable std::mutex mutex_;
  std::vector<Job> jobs_;
};

class JobOutput final : public JournalVisitor {
 public:
  void on_output(OutputStream, WallTime, std::string_view bytes) override { text += bytes; }
  std::string text;
};

class JobKeeperTest : public testing::Test {
 protected:
  using Run = assay::Run;  // gtest has a function of that name

  JobKeeperTest() {
    http_.on_take = [this](const std::string& run) { return hand_over(run); };
  }

  HttpResponse hand_over(const std::string& run) {
    const auto lease = leader_memory_->take_run(run, {.owner = "gpu03", .length = 2min});
    if (!lease) {
      const int status = lease.error().kind == ErrorKind::busy    ? 409
                         : lease.error().kind == ErrorKind::usage ? 400
                                                                  : 404;
      const json::object error{{"kind", name_of(lease.error().kind)}, {"message", lease.error().message}};
      return HttpResponse::json(status, json::serialize(json::object{{"error", error}}));
    }
    return HttpResponse::json(200, json::serialize(json::object{{"lease", write_api(*lease)},
                                                                {"run", to_json(*leader_memory_->find_run(run))},
                                                                {"planned", to_json(plans_.at(run))}}));
  }

  /// The leader has a run for this node.
  void plan(const std::string& id, json::value command, std::vector<std::string> gpus = {}) {
    PlannedRun planned{.node = "gpu03"};
    planned.spec = {
        {"kind", "command"}, {"command", std::move(command)}, {"env", {{"HF_TOKEN", "hf_0123456789abcdef"}}}};
    Run run = prepare_run(planned, "name", {"tag"});
    run.id = id;
    run.placement = {.node = "gpu03", .gpus = std::move(gpus)};
    ASSERT_TRUE(leader_memory_->add_run(run).ok());
    const std::lock_guard lock(http_.mutex);
    plans_[id] = std::move(planned);
  }
  /// Prints a word, then waits for the file `go`.
  json::value waiting_command() const {
    const std::string script = "echo on $CUDA_VISIBLE_DEVICES; echo $$ >" + (folder_.path() / "pid").string() +
                               "; until [ -e " + (folder_.path() / "go").string() + " ]; do sleep 0.01; done; echo end";
    return json::value(json::string(script));
  }
  void let_it_end() { ASSERT_TRUE(write_file_atomically(folder_.path() / "go", "").ok()); }
  bool process_is_gone() const {
    const auto process = read_process_stat(static_cast<pid_t>(std::stol(*read_file(folder_.path() / "pid"))));
    return !process || !process->alive();
  }
  void list(const std::vector<std::string>& runs, bool stop = false) {
    json::array jobs;
    for (const auto& run : runs) jobs.push_back({{"run", run}, {"stop", stop}});
    http_.list_jobs(json::serialize(json::object{{"jobs", jobs}}));
  }

  void start() {
    auto connection = connect_to_leader(http_.access(), 10s);
    ASSERT_TRUE(connection.ok());
    services_.store = local_;
    auto keeper = JobKeeper::start({.access = http_.access(),
                                    .arrivals = [] { return std::uint64_t{1}; },
                                    .services = services_,
                                    .clock = clock_,
                                    .connection = *connection,
                                    .leader = std::shared_ptr<RunStore>(&leader_, [](RunStore*) {}),
                                    .look = 5ms,
                                    .ship_look = 5ms,
                                    .lease_length = 1s,
                                    .first_pause = 2ms,
                                    .longest_pause = 20ms});
    ASSERT_TRUE(keeper.ok()) << keeper.error().text();
    keeper_ = std::move(*keeper);
  }

  Run theirs(const std::string& id) { return leader_memory_->find_run(id).value(); }
  bool ended(const std::string& id) { return theirs(id).state == RunState::ended; }
  bool nothing_here() { return local_->list_runs({})->rows.empty(); }
  std::string output(const std::string& id) {
    JobOutput output;
    EXPECT_TRUE(read_journal(*leader_memory_, id, output).ok());
    return output.text;
  }
  std::size_t takes() {
    return http_.look([](const FakeLeader::Seen& seen) { return seen.takes.size(); });
  }

  SystemClock clock_;
  TemporaryFolder folder_;
  std::map<std::string, PlannedRun> plans_;
  std::shared_ptr<RunStore> local_ = open_run_memory(make_run_memory(), clock_);
  std::unique_ptr<RunStore> leader_memory_ = open_run_memory(make_run_memory(), clock_);
  TroubledStore leader_{*leader_memory_};
  std::shared_ptr<RecordingLauncher> launcher_ = std::make_shared<RecordingLauncher>();
  JobServices services_{.store = {},
                        .launcher = launcher_,
                        .describe_machine =
                            [] {
                              Provenance here;
                              here.hostname = "gpu03";
                              return here;
                            },
                        .make_sources = [](auto) { return std::vector<std::unique_ptr<MetricSource>>(); }};
  FakeLeader http_;
  std::unique_ptr<JobKeeper> keeper_;
};

TEST_F(JobKeeperTest, WhatTheLeaderListsIsDoneOnce) {
  plan("r1", "echo hello");
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  const Run run = theirs("r1");
  EXPECT_EQ(run.verdict, Verdict::valid);
  EXPECT_EQ(run.provenance.hostname, "gpu03");
  EXPECT_EQ(run.name, "name");
  EXPECT_EQ(output("r1"), "hello\n");
  EXPECT_TRUE(comes_true([&] { return nothing_here() && !keeper_->running(); }));
  // A list from before the leader heard of the end.
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return takes() >= 2; }));
  list({});
  EXPECT_EQ(launcher_->jobs().size(), 1U);
}

TEST_F(JobKeeperTest, JobsGoOnSideBySideEachOnItsGpus) {
  plan("r1", waiting_command(), {"GPU-a"});
  plan("r2", waiting_command(), {"GPU-b", "GPU-c"});
  start();
  list({"r1", "r2"});
  EXPECT_TRUE(comes_true([&] { return output("r1") == "on GPU-a\n" && output("r2") == "on GPU-b,GPU-c\n"; }))
      << "both are under way, and seen while they are";
  EXPECT_TRUE(keeper_->running());
  EXPECT_EQ(theirs("r1").state, RunState::running);
  EXPECT_EQ(theirs("r2").state, RunState::running);
  std::set<std::string> visible;
  for (const auto& job : launcher_->jobs()) visible.insert(environment_with_devices(job).at("CUDA_VISIBLE_DEVICES"));
  EXPECT_EQ(visible, (std::set<std::string>{"GPU-a", "GPU-b,GPU-c"}));
  // The workload has the secret, the recording has not.
  EXPECT_EQ(launcher_->jobs().front().environment.at("HF_TOKEN"), "hf_0123456789abcdef");
  EXPECT_THAT(json::serialize(to_json(*local_->find_run("r1"))), testing::Not(HasSubstr("hf_0123456789abcdef")));
  let_it_end();
  EXPECT_TRUE(comes_true([&] { return ended("r1") && ended("r2"); }));
  EXPECT_THAT(output("r2"), HasSubstr("end"));
}

TEST_F(JobKeeperTest, AJobIsStoppedWhenTheLeaderWants) {
  plan("r1", waiting_command());
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return !output("r1").empty(); }));
  list({"r1"}, true);
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::interrupted);
  EXPECT_TRUE(process_is_gone());
}

TEST_F(JobKeeperTest, AJobThatIsStoppedBeforeItBeganNeverBegins) {
  plan("r1", waiting_command());
  start();
  list({"r1"}, true);
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::interrupted);
  EXPECT_THAT(theirs("r1").error->message, HasSubstr("before it began"));
  EXPECT_TRUE(launcher_->jobs().empty());
}

TEST_F(JobKeeperTest, AJobThatCannotBeStartedFailsWithTheReason) {
  plan("r1", json::array{"/no/such/program"});
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::failed);
  EXPECT_EQ(theirs("r1").error->kind, ErrorKind::missing_file);
  EXPECT_TRUE(comes_true([&] { return nothing_here(); }));
}

TEST_F(JobKeeperTest, AJobThatSomebodyHasIsTakenOnceItIsFree) {
  plan("r1", "echo hello");
  const auto other = leader_memory_->take_run("r1", {.owner = "gpu04", .length = 2min});
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return takes() >= 3; }));
  EXPECT_TRUE(launcher_->jobs().empty());
  leader_memory_->give_up(*other);
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::valid);
}

TEST_F(JobKeeperTest, AJobThatIsGoneIsForgottenUntilItIsListedAgain) {
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return takes() == 1; }));
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(takes(), 1U);
  plan("r1", "echo hello");
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
}

TEST_F(JobKeeperTest, WhatAnEarlierAgentLeftIsShippedAndNeverBegunAgain) {
  plan("r1", "echo again");
  Run run = theirs("r1");
  {
    auto writer = begin_run(*local_, run).value();
    ASSERT_TRUE(writer->append_output(OutputStream::out, WallTime(1s), "half\n").ok());
  }
  list({"r1"});
  start();
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::interrupted);
  EXPECT_EQ(output("r1"), "half\n");
  EXPECT_TRUE(comes_true([&] { return nothing_here(); }));
  EXPECT_TRUE(launcher_->jobs().empty());
}

/// Ends its agent, as far as the run is concerned, once it has seen some output.
class LastObserver final : public RunObserver {
 public:
  struct AgentDied {};
  void on_output(OutputStream, std::string_view) override { throw AgentDied(); }
};

TEST_F(JobKeeperTest, WhatHasOutlivedAnEarlierAgentIsTakenUp) {
  plan("r1", "train.py");
  ManualClock time;
  // The keeper's deadlines are of its own clock: one that is behind the job's would never let it go on.
  time.advance(clock_.now() - time.now());
  const auto outliving = std::make_shared<FakeLauncher>(time);
  outliving->script = {.steps = {JobScript::Say{"before\n"}, JobScript::Wait{1s}, JobScript::Say{"after\n"}},
                       .ran_for = 1s};
  LastObserver observer;
  const RunServices earlier{.store = *local_,
                            .launcher = *outliving,
                            .clock = time,
                            .observer = observer,
                            .make_sources = [](auto) { return std::vector<std::unique_ptr<MetricSource>>(); },
                            .place = "fake"};
  PlannedRun here = plans_.at("r1");
  here.node.clear();
  EXPECT_THROW((void)execute_planned(here, theirs("r1"), {}, earlier), LastObserver::AgentDied);
  ASSERT_TRUE(*is_without_owner(*local_, *local_->find_run("r1")));
  plan("r2", "train.py");
  Run lost = theirs("r2");
  lost.placement.place = "fake";
  begin_run(*local_, lost).value().reset();

  services_.launcher = outliving;
  services_.place = "fake";
  list({"r1", "r2"});
  start();
  EXPECT_TRUE(comes_true([&] { return ended("r1") && ended("r2"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::valid);
  EXPECT_EQ(output("r1"), "before\nafter\n");
  EXPECT_EQ(theirs("r2").verdict, Verdict::interrupted) << "it was never started";
  EXPECT_TRUE(comes_true([&] { return nothing_here(); }));
  EXPECT_EQ(outliving->started.size(), 1U);
}

TEST_F(JobKeeperTest, AnAgentThatIsStoppedLetsGoOfWhatIsDoneElsewhere) {
  plan("r1", "train.py");
  ManualClock time;
  time.advance(clock_.now() - time.now());
  const auto outliving = std::make_shared<FakeLauncher>(time);
  outliving->script = {.steps = {JobScript::Say{"before\n"}}, .forever = true};
  services_.launcher = outliving;
  services_.place = "fake";
  list({"r1"});
  start();
  EXPECT_TRUE(comes_true([&] { return output("r1") == "before\n"; }));
  keeper_->stop(0s);
  EXPECT_FALSE(ended("r1"));
  EXPECT_TRUE(*is_without_owner(*local_, *local_->find_run("r1")));

  start();
  EXPECT_TRUE(comes_true([&] { return keeper_->running(); })) << "taken up";
  list({"r1"}, true);
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::interrupted);
  EXPECT_EQ(outliving->started.size(), 1U);
}

TEST_F(JobKeeperTest, WhatCannotBeReachedWaitsForTheNextAgent) {
  plan("r1", "train.py");
  Run run = theirs("r1");
  run.placement.place = "fake";
  run.started = clock_.wall();
  begin_run(*local_, run).value().reset();
  services_.place = "elsewhere";
  list({"r1"});
  start();
  EXPECT_TRUE(comes_true([&] { return theirs("r1").state == RunState::running; }));
  keeper_->stop(0s);
  EXPECT_FALSE(ended("r1"));
  EXPECT_TRUE(*is_without_owner(*local_, *local_->find_run("r1")));
}

TEST_F(JobKeeperTest, AJobThatTheLeaderHasEndedIsEndedHere) {
  plan("r1", waiting_command());
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return !output("r1").empty(); }));
  ASSERT_TRUE(close_interrupted(*leader_memory_, **leader_memory_->find_lease("r1"), "gpu03", clock_.wall()).ok());
  list({});
  EXPECT_TRUE(comes_true([&] { return nothing_here() && !keeper_->running(); }));
  EXPECT_TRUE(process_is_gone());
  EXPECT_EQ(launcher_->jobs().size(), 1U);
}

TEST_F(JobKeeperTest, ALeaderThatDoesNotKnowTheNodeForAWhileEndsNoRun) {
  plan("r1", waiting_command());
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return !output("r1").empty(); }));
  const json::object error{{"kind", "denied"}, {"message", "this needs a token that is good here"}};
  const auto refusal = json::serialize(json::object{{"error", error}});
  {
    const std::lock_guard lock(http_.mutex);
    http_.on_take = [refusal](const std::string&) { return HttpResponse::json(401, refusal); };
  }
  const auto before = takes();
  leader_memory_->give_up(**leader_memory_->find_lease("r1"));
  EXPECT_TRUE(comes_true([&] { return takes() > before + 2; })) << "it asks again";
  EXPECT_TRUE(keeper_->running());
  EXPECT_FALSE(process_is_gone());
  {
    const std::lock_guard lock(http_.mutex);
    http_.on_take = [this](const std::string& run) { return hand_over(run); };
  }
  let_it_end();
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::valid);
}

TEST_F(JobKeeperTest, ARunThatIsReallyNotOursIsEnded) {
  plan("r1", waiting_command());
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return !output("r1").empty(); }));
  const json::object error{{"kind", "denied"}, {"message", "this node may not"}};
  const auto refusal = json::serialize(json::object{{"error", error}});
  {
    const std::lock_guard lock(http_.mutex);
    http_.on_take = [refusal](const std::string&) { return HttpResponse::json(403, refusal); };
  }
  leader_memory_->give_up(**leader_memory_->find_lease("r1"));
  EXPECT_TRUE(comes_true([&] { return nothing_here() && !keeper_->running(); }));
  EXPECT_TRUE(process_is_gone());
}

TEST_F(JobKeeperTest, AJobThatIsNotListedAnyMoreButStillOursGoesOn) {
  plan("r1", waiting_command());
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return !output("r1").empty(); }));
  list({});
  EXPECT_TRUE(comes_true([&] { return takes() >= 2; }));
  let_it_end();
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::valid);
}

TEST_F(JobKeeperTest, WithTheAgentItsJobsEndAndTheLeaderHearsOfIt) {
  plan("r1", waiting_command());
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return !output("r1").empty(); }));
  keeper_->stop(1min);
  EXPECT_TRUE(process_is_gone());
  EXPECT_TRUE(ended("r1"));
  EXPECT_EQ(theirs("r1").verdict, Verdict::interrupted);
  EXPECT_TRUE(nothing_here());
}

TEST_F(JobKeeperTest, ANetworkThatIsCutAndAnAgentThatEndsMeanwhileLoseNothing) {
  local_ = open_local_store(folder_.path() / "runs").value();
  plan("r1", waiting_command());
  start();
  list({"r1"});
  EXPECT_TRUE(comes_true([&] { return !output("r1").empty(); }));
  leader_.go_away(ErrorKind::unreachable);
  http_.go_away();
  let_it_end();
  EXPECT_TRUE(comes_true([&] { return !keeper_->running(); }));
  keeper_->stop(1min);
  keeper_.reset();
  EXPECT_FALSE(nothing_here());
  EXPECT_EQ(theirs("r1").state, RunState::running);
  http_.come_back();
  leader_.go_away({});
  start();
  EXPECT_TRUE(comes_true([&] { return ended("r1"); }));
  EXPECT_EQ(theirs("r1").verdict, Verdict::valid);
  EXPECT_EQ(output("r1"), "on\nend\n");
  EXPECT_TRUE(comes_true([&] { return nothing_here(); }));
  EXPECT_EQ(launcher_->jobs().size(), 1U);
}

}  // namespace
}  // namespace assay
