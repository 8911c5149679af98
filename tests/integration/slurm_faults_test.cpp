#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>

#include "base/text.h"
#include "launch/hosted/job_folder.h"
#include "launch/job.h"
#include "launch/job_ending.h"
#include "slurm_fixture.h"
#include "support/source_tree.h"

// What becomes of jobs when people, limits or kill -9 get in their way. With a real Slurm.

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

/// What a job wrote, and how it ended.
struct SlurmOutcome {
  PerStream<std::string> text;
  Result<JobEnding> ending = Error{.kind = ErrorKind::timeout, .message = "it did not end"};
};

/// Reads everything until it has ended, or `until` was in its output.
SlurmOutcome follow_slurm_job(RunningJob& job, std::string_view until = {}) {
  SlurmOutcome outcome;
  const SystemClock clock;
  const auto limit = clock.now() + 4min;
  PerStream<bool> closed;
  bool ended = false;
  std::array<char, 4096> buffer;
  auto drained = limit;
  while (clock.now() < drained && !(ended && all_of(closed))) {
    const auto ready = job.wait(drained, -1);
    for (const auto stream : kJobStreams) {
      if (!ready.streams[stream]) continue;
      const auto got = job.read(stream, buffer);
      closed[stream] = !got;
      outcome.text[stream].append(buffer.data(), got.value_or(0));
    }
    if (!until.empty() && outcome.text[JobStream::out].find(until) != std::string::npos) return outcome;
    if (!ready.ended) continue;
    auto ending = job.ending();
    ended = !ending || ending->has_value();
    // One that never began has streams without an end.
    if (ended) drained = clock.now() + 10s;
    if (!ending) outcome.ending = ending.error();
    if (ending && *ending) outcome.ending = **ending;
  }
  return outcome;
}

class Slurm : public testing::Test {
 protected:
  void SetUp() override {
    auto cluster = shared_slurm();
    if (!cluster && cluster.error().kind == ErrorKind::unsupported) GTEST_SKIP() << cluster.error().text();
    ASSERT_TRUE(cluster.ok()) << cluster.error().text();
    cluster_ = *cluster;
    place_.emplace();
  }
  void use(std::string_view settings, Nanos start_patience = 60s) { place_.emplace(settings, start_patience); }

  /// One that says `ready`, then goes on until it is ended.
  static Job endless() {
    Job job{.arguments = {"sh", "-c", "echo ready; while :; do sleep 1000 & wait; done"}, .name = "endless"};
    job.token = "r-81/1";
    return job;
  }
  std::unique_ptr<RunningJob> start(const Job& job) {
    auto started = place_->launcher().start(job);
    if (!started) throw std::runtime_error(started.error().text());
    return std::move(*started);
  }
  std::unique_ptr<RunningJob> start_ready(const Job& job) {
    auto running = start(job);
    EXPECT_THAT(follow_slurm_job(*running, "ready\n").text[JobStream::out], HasSubstr("ready\n"));
    return running;
  }
  /// The ids of all jobs that have not ended.
  std::string job_ids() const { return cluster_->run({"squeue", "-h", "-o", "%i"}); }

  SlurmCluster* cluster_ = nullptr;
  std::optional<SlurmPlaceFixture> place_;
};

TEST_F(Slurm, WhatSlurmRefusesIsSaidAtOnce) {
  const auto refusal = [&](std::string_view settings, const Job& job) {
    use(settings);
    const auto started = place_->launcher().start(job);
    EXPECT_FALSE(started.ok());
    return started ? Error{} : started.error();
  };
  const auto partition = refusal("partition=nope", endless());
  EXPECT_EQ(partition.kind, ErrorKind::usage);
  EXPECT_THAT(partition.message, HasSubstr("Invalid partition name"));
  EXPECT_EQ(refusal("gres=gpu:a100:1", endless()).kind, ErrorKind::unsupported);
  EXPECT_EQ(refusal("constraint=nope", endless()).kind, ErrorKind::unsupported);
  EXPECT_EQ(refusal("nodelist=nope", endless()).kind, ErrorKind::usage);
  Job wide = endless();
  wide.ranks.nodes = 3;
  const auto nodes = refusal("", wide);
  EXPECT_EQ(nodes.kind, ErrorKind::unsupported);
  EXPECT_THAT(nodes.message, HasSubstr("PartitionNodeLimit"));
  EXPECT_EQ(job_ids(), "") << "none is left in the queue";
}

TEST_F(Slurm, AJobKnowsItsNodesRanksAndGpus) {
  use("partition=whole,gres=gpu:h100:2");
  Job job{.arguments = {"sh", "-c",
                        "echo $SLURMD_NODENAME $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE "
                        "$CUDA_VISIBLE_DEVICES ${MASTER_PORT:+meets}"}};
  job.ranks = {.nodes = 2, .per_node = 2};
  const auto outcome = follow_slurm_job(*start(job));
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_EQ(outcome.ending->exit_code, 0);
  EXPECT_THAT(split(trim(outcome.text[JobStream::out]), '\n'),
              testing::UnorderedElementsAre("node1 0/4 0/2 0,1 meets", "[rank 1] node1 1/4 1/2 0,1 meets",
                                            "[rank 2] node2 2/4 0/2 0,1 meets", "[rank 3] node2 3/4 1/2 0,1 meets"));
}

TEST_F(Slurm, AJobThatHasToWaitSaysWhy) {
  use("partition=whole", 0s);
  Job all = endless();
  all.ranks.nodes = 2;
  const auto first = start_ready(all);
  Job second = endless();
  second.token = "r-81/2";
  const auto waiting = start(second);
  EXPECT_TRUE(eventually([&] {
    (void)waiting->wait(SystemClock().now(), -1);
    return waiting->waiting().find("Resources") != std::string::npos;
  })) << waiting->waiting();
  EXPECT_FALSE(waiting->wait(SystemClock().now(), -1).ended);
  waiting->interrupt(5s);
  const auto outcome = follow_slurm_job(*waiting);
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_EQ(outcome.ending->signal, SIGINT);
  EXPECT_TRUE(outcome.ending->stopped);
  EXPECT_EQ(waiting->waiting(), "");
}

TEST_F(Slurm, SomebodyElsesScancelIsSaidSo) {
  const auto job = start_ready(endless());
  cluster_->run({"scancel", job_ids()});
  const auto outcome = follow_slurm_job(*job);
  ASSERT_FALSE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending.error().kind, ErrorKind::interrupted);
  EXPECT_THAT(outcome.ending.error().message, AllOf(HasSubstr("was cancelled"), HasSubstr("on node1")));
}

TEST_F(Slurm, ItsTimeLimitEndsAJobThatNobodyEnds) {
  use("time=1min");
  const auto job = start_ready(endless());
  const auto outcome = follow_slurm_job(*job);
  ASSERT_FALSE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending.error().kind, ErrorKind::timeout);
  EXPECT_THAT(outcome.ending.error().message, HasSubstr("time limit"));
}

TEST_F(Slurm, ARequeuedJobIsNotDoneAgain) {
  const auto job = start_ready(endless());
  const auto id = job_ids();
  cluster_->run({"scontrol", "update", "JobId=" + id, "Requeue=1"});
  EXPECT_EQ(cluster_->run({"scontrol", "requeue", id}), "");
  const auto outcome = follow_slurm_job(*job);
  ASSERT_FALSE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending.error().kind, ErrorKind::interrupted);
  EXPECT_THAT(outcome.ending.error().message, HasSubstr("back into the queue"));
  EXPECT_TRUE(eventually([&] { return job_ids().empty(); })) << "nobody waits for it any more";
}

TEST_F(Slurm, AJobThatMakesRoomForAMoreUrgentOneSaysSo) {
  use("nodelist=node1");
  const auto job = start_ready(endless());
  const auto urgent = cluster_->run({"sbatch", "--parsable", "--partition=urgent", "--nodelist=node1", "--exclusive",
                                     "--output=/dev/null", "--wrap=sleep 1000"});
  const auto outcome = follow_slurm_job(*job);
  ASSERT_FALSE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending.error().kind, ErrorKind::interrupted);
  EXPECT_THAT(outcome.ending.error().message, AllOf(HasSubstr("(PREEMPTED"), HasSubstr("on node1")));
  EXPECT_EQ(cluster_->run({"scancel", urgent}), "");
  cluster_->cancel_all();
}

TEST_F(Slurm, TheDeathOfASlurmdIsNoticed) {
  use("nodelist=node2");
  const auto job = start_ready(endless());
  cluster_->kill_node("node2");
  const auto outcome = follow_slurm_job(*job);
  ASSERT_FALSE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending.error().kind, ErrorKind::lost_peer);
  EXPECT_THAT(outcome.ending.error().message, AllOf(HasSubstr("lost a node"), HasSubstr("node2")));
  cluster_->restart_node("node2");
}

TEST_F(Slurm, AKilledSlurmctldIsSurvived) {
  Job job = endless();
  job.arguments = {"sh", "-c", "echo ready; while [ ! -e \"$GO\" ]; do sleep 0.1; done; echo done; exit 7"};
  const TemporaryFolder folder;
  job.environment["GO"] = (folder.path() / "go").string();
  auto running = start_ready(job);
  const auto handle = running->handle();
  cluster_->kill_controller();

  // The owner dies, too, and another one takes it up by what it knows.
  running.reset();
  place_->restart_owner();
  PerStream<std::uint64_t> taken;
  taken[JobStream::out] = 6;
  auto attached = place_->launcher().attach(handle, taken);
  ASSERT_TRUE(attached.ok()) << attached.error().text();
  ASSERT_TRUE(write_file_atomically(folder.path() / "go", "").ok());
  const auto outcome = follow_slurm_job(**attached);
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_EQ(outcome.ending->exit_code, 7);
  EXPECT_EQ(outcome.text[JobStream::out], "done\n") << "once";
  attached->reset();
  cluster_->restart_controller();

  // Whatever Slurm makes of it afterwards, its work is not done again.
  attached = place_->launcher().attach(job.token, {});
  ASSERT_TRUE(attached.ok()) << attached.error().text();
  EXPECT_EQ(follow_slurm_job(**attached).text[JobStream::out], "ready\ndone\n");
}

TEST_F(Slurm, AJobInTheQueueOfADeadSlurmctldCanBeGivenUp) {
  use("", 0s);
  cluster_->run({"scontrol", "update", "PartitionName=normal", "State=DOWN"});
  const auto job = start(endless());
  EXPECT_THAT(job->waiting(), HasSubstr("waits"));
  cluster_->kill_controller();
  job->interrupt(5s);
  const auto outcome = follow_slurm_job(*job);
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_EQ(outcome.ending->signal, SIGINT);
  cluster_->restart_controller();
  cluster_->run({"scontrol", "update", "PartitionName=normal", "State=UP"});
}

TEST_F(Slurm, WhatWasSubmittedTwiceIsDoneOnce) {
  const auto job = start_ready(endless());
  // What Slurm does with a job that it took for one that never began.
  const auto script = fs::path(job->handle().substr(std::string_view("slurm:").size())) / "batch.sh";
  const auto again = cluster_->run({"sbatch", "--parsable", "--wait", "--output=/dev/null", script.string()});
  EXPECT_THAT(read_file(script.parent_path() / "slurm.out").value_or(""), HasSubstr("Exited with exit code 3"));
  job->stop(5s);
  const auto outcome = follow_slurm_job(*job);
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_TRUE(outcome.ending->stopped);
  EXPECT_EQ(outcome.text[JobStream::out], "") << "'ready' was there once, and was read";
}

TEST_F(Slurm, AJobWhoseOwnerDiedWhileItHandedItInIsFound) {
  Job job = endless();
  auto running = start_ready(job);
  const auto folder = fs::path(running->handle().substr(std::string_view("slurm:").size()));
  running.reset();
  // As if it had died between sbatch and writing down the id.
  fs::remove(folder / "slurm.json");
  place_->restart_owner();
  EXPECT_EQ(place_->launcher().start(job).error().kind, ErrorKind::busy);
  auto attached = place_->launcher().attach(job.token, {});
  ASSERT_TRUE(attached.ok()) << attached.error().text();
  (*attached)->kill();
  EXPECT_TRUE(follow_slurm_job(**attached).ending->stopped);
  attached->reset();

  // And as if sbatch had never been called.
  job.token = "r-81/2";
  const JobFolder never = folder_for(folder.parent_path(), job.token);
  ASSERT_TRUE(never.create(job).ok());
  EXPECT_EQ(place_->launcher().start(job).error().kind, ErrorKind::busy) << "nobody knows yet";
  EXPECT_EQ(place_->launcher().attach(job.token, {}).error().kind, ErrorKind::not_found);
  start_ready(job)->kill();
}

TEST_F(Slurm, AJobThatHasEndedAndIsForgottenIsFoundByWhatItLeft) {
  Job job{.arguments = {"sh", "-c", "echo all of it"}, .name = "short"};
  job.token = "r-81/1";
  auto running = start(job);
  ASSERT_TRUE(follow_slurm_job(*running).ending.ok());
  const auto folder = fs::path(running->handle().substr(std::string_view("slurm:").size()));
  running.reset();
  // As if its owner had died between sbatch and writing down the id, and come back after MinJobAge.
  fs::remove(folder / "slurm.json");
  const TemporaryFolder programs;
  auto environment = cluster_->environment();
  for (const char* name : {"squeue", "sacct"}) {
    ASSERT_TRUE(write_file_atomically(programs.path() / name, "#!/bin/sh\n").ok());
    fs::permissions(programs.path() / name, fs::perms::owner_all);
  }
  const char* const path = environment.contains("PATH") ? environment["PATH"].c_str() : ::getenv("PATH");
  environment["PATH"] = fmt::format("{}:{}", programs.path().string(), path);
  const auto launcher = make_slurm_launcher({.place = slurm_place_from(parse_place("slurm:").value()).value(),
                                             .folder = folder.parent_path(),
                                             .assay = test::beside_program("assay_place_program"),
                                             .environment = environment});
  ASSERT_TRUE(launcher.ok()) << launcher.error().text();
  const auto attached = (*launcher)->attach(job.token, {});
  ASSERT_TRUE(attached.ok()) << attached.error().text();
  const auto outcome = follow_slurm_job(**attached);
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_EQ(outcome.ending->exit_code, 0);
  EXPECT_EQ(outcome.text[JobStream::out], "all of it\n");
}

TEST_F(Slurm, AFolderThatTheNodesDoNotSeeIsNamed) {
  Job job = endless();
  use("assay=/no/such/assay");
  const auto started = place_->launcher().start(job);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().kind, ErrorKind::crash);
  EXPECT_THAT(started.error().message, HasSubstr("/no/such/assay"));
  EXPECT_THAT(started.error().hint, HasSubstr("Every node must see"));
}

}  // namespace
}  // namespace assay
