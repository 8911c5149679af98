#include "launch/kubernetes/kubernetes_launcher.h"

#include "launch/finished_job_fixture.h"
#include "launch/hosted/job_host.h"
#include "launch/kubernetes/kube_api.h"
#include "launch/kubernetes/kube_cluster_fixture.h"
#include "launch/kubernetes/kube_object.h"
#include "launch/kubernetes/manifests.h"
#include "launch/kubernetes/pod_host.h"
#include "launch/launcher_contract.h"
#include "launch/local/local_launcher.h"
#include "net/http_message.h"

namespace assay {
namespace {

int pod_stop_pipe = -1;
void stop_pod(int) { (void)!::write(pod_stop_pipe, "t", 1); }

/// What runs in a pod of KubeCluster: this very program, in the place of `assay host-pod`.
TEST(PodOfTheTests, DISABLED_Runs) {
  const char* const folder = std::getenv("ASSAY_TEST_POD");
  if (!folder) GTEST_SKIP() << "only as a pod";
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  pod_stop_pipe = pipe->write_end.get();
  struct sigaction action{};
  action.sa_handler = stop_pod;
  ::sigaction(SIGTERM, &action, nullptr);
  const auto part = parse_part(std::getenv("ASSAY_TEST_POD_PART")).value();
  std::optional<Rendezvous> rendezvous;
  if (part.of > 1) rendezvous = Rendezvous{.address = "127.0.0.1", .port = 29500};
  const auto local = make_local_launcher(Programs{.self = "/proc/self/exe", .engine = {}});
  const auto ending = host_pod({.order = fs::path(folder) / "order",
                                .folder = folder,
                                .part = part,
                                .rendezvous = rendezvous,
                                .stop_fd = pipe->read_end.get(),
                                .extra_time = std::chrono::seconds(1)},
                               *local, SystemClock());
  ::_exit(exit_code_for(ending));
}

class KubernetesPlaceOfTest final : public LauncherPlace {
 public:
  Launcher& launcher() override { return *launcher_; }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override { return {.arguments = {"sh", "-c", shell_for(script)}}; }
  bool vanish(const RunningJob& /*job*/) override {
    cluster_.lose_pods("pod_node_lost.json");
    return true;
  }

 private:
  SystemClock clock_;
  TemporaryFolder notes_;
  KubeCluster cluster_;
  std::unique_ptr<Launcher> launcher_ =
      make_kubernetes_launcher({.image = "assay:test"}, cluster_.access(), notes_.path());
};

LauncherFactory kubernetes_factory() {
  return {.name = "kubernetes",
          .make_place = [] { return std::make_unique<KubernetesPlaceOfTest>(); },
          .runs_programs = false,
          .interrupts = false,
          .picks_devices = false};
}
INSTANTIATE_TEST_SUITE_P(Kubernetes, LauncherContract, testing::Values(kubernetes_factory()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(Kubernetes, OutlivingLauncherContract, testing::Values(kubernetes_factory()),
                         launcher_factory_name);

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// A launcher on a cluster that a test can make misbehave.
class KubernetesLauncherTest : public testing::Test {
 protected:
  static constexpr Nanos kPatience = std::chrono::seconds(90);

  Launcher& launcher() {
    if (!launcher_) launcher_ = make_kubernetes_launcher(place_, cluster_.access(), notes_.path());
    return *launcher_;
  }
  static Job shell(const std::string& script) { return {.arguments = {"sh", "-c", script}, .token = "r-7/1"}; }
  std::unique_ptr<RunningJob> start(const Job& job) {
    auto started = launcher().start(job);
    if (!started) throw std::runtime_error(started.error().text());
    return std::move(*started);
  }

  static bool eventually(const std::function<bool()>& holds) {
    const auto limit = SystemClock().now() + kPatience;
    while (!holds() && SystemClock().now() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return holds();
  }
  /// A job that was there, and then was struck by something.
  Result<JobEnding> ending_after(const std::function<void()>& strike) {
    const auto job = start(shell("echo ready; while :; do sleep 1000 & wait; done"));
    await_text(*job, JobStream::out, "ready");
    strike();
    return finish_job(*job).ending;
  }
  /// How one ends that never runs.
  Error failure_of_start() {
    const auto ending = finish_job(*start(shell("true"))).ending;
    return ending ? Error{.message = "it ran"} : ending.error();
  }

  KubeCluster cluster_;
  TemporaryFolder notes_;
  KubernetesPlace place_{.image = "assay:test"};
  std::unique_ptr<Launcher> launcher_;
};

TEST_F(KubernetesLauncherTest, GoesOnWhenWatchesEndAndVersionsAreTooOld) {
  const auto job = start(shell("echo ready; while [ ! -e stop ]; do sleep 0.02; done; exit 3"));
  await_text(*job, JobStream::out, "ready");
  for (const bool gone : {false, true}) {
    ASSERT_TRUE(eventually([&] { return cluster_.watches() > 0; }));
    cluster_.end_watches(gone);
  }
  ASSERT_TRUE(eventually([&] { return cluster_.watches() > 0; }));
  job->stop(std::chrono::seconds(5));
  EXPECT_TRUE(finish_job(*job).ending->stopped);
}

TEST_F(KubernetesLauncherTest, ALogThatIsCutOffIsReadOnWithoutDoublingOrLosing) {
  const TemporaryFolder folder;
  const std::string go = (folder.path() / "go").string();
  const auto job = start(shell(fmt::format("seq 1 2000; while [ ! -e '{}' ]; do sleep 0.02; done; seq 2001 4000", go)));
  std::string text = await_text(*job, JobStream::out, "2000\n");
  cluster_.cut_logs();
  ASSERT_TRUE(write_file_atomically(go, "").ok());
  const auto end = finish_job(*job);
  text += end.text[JobStream::out];
  std::string all;
  for (int i = 1; i <= 4000; ++i) all += fmt::format("{}\n", i);
  EXPECT_EQ(text, all);
  EXPECT_EQ(end.ending->exit_code, 0);
}

TEST_F(KubernetesLauncherTest, WhatTheNodeHasThrownAwayIsSaid) {
  const TemporaryFolder folder;
  const std::string go = (folder.path() / "go").string();
  auto job = start(shell(fmt::format("seq 1 2000; while [ ! -e '{}' ]; do sleep 0.02; done; echo end", go)));
  const std::size_t before = await_text(*job, JobStream::out, "2000\n").size();
  job.reset();
  cluster_.rotate_logs();
  ASSERT_TRUE(write_file_atomically(go, "").ok());
  // Whoever has what was lost gets the rest as it is.
  PerStream<std::uint64_t> taken;
  taken[JobStream::out] = before;
  job = launcher().attach("r-7/1", taken).value();
  EXPECT_EQ(finish_job(*job).text[JobStream::out], "end\n");
  job.reset();
  job = launcher().attach("r-7/1", {}).value();
  const auto text = finish_job(*job).text[JobStream::out];
  EXPECT_EQ(text.size(), before + 4) << "every byte stands where it stood";
  EXPECT_THAT(text, AllOf(HasSubstr("bytes are missing here"), testing::EndsWith("\nend\n")));
}

TEST_F(KubernetesLauncherTest, ARightThatIsMissingIsNamed) {
  cluster_.intercept([](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.method != "POST") return std::nullopt;
    return HttpResponse::json(403, kube_fixture("status_forbidden.json"));
  });
  const auto started = launcher().start(shell("true"));
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().kind, ErrorKind::denied);
  EXPECT_THAT(started.error().message, AllOf(HasSubstr("may not create jobs"), HasSubstr("'bench'"), HasSubstr("ada")));
  EXPECT_THAT(started.error().hint, HasSubstr("'create' on 'jobs'"));
}

TEST_F(KubernetesLauncherTest, AJobWithoutItsSecretIsTakenBack) {
  cluster_.intercept([](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.method != "POST" || request.capture("kind") != "secrets") return std::nullopt;
    return HttpResponse::json(403, kube_fixture("status_forbidden.json"));
  });
  EXPECT_EQ(launcher().start(shell("true")).error().kind, ErrorKind::denied);
  EXPECT_THAT(cluster_.objects("jobs"), IsEmpty());
}

TEST_F(KubernetesLauncherTest, AServerThatHasJustBegunRefusesEverybodyForAWhile) {
  const TemporaryFolder folder;
  const std::string go = (folder.path() / "go").string();
  const auto job = start(shell(fmt::format("echo ready; while [ ! -e '{}' ]; do sleep 0.02; done; exit 3", go)));
  await_text(*job, JobStream::out, "ready");
  int refused = 0;
  cluster_.intercept([&](const HttpRequest&) -> std::optional<HttpResponse> {
    if (++refused > 4) return std::nullopt;
    return HttpResponse::json(403, kube_fixture("status_forbidden.json"));
  });
  cluster_.end_watches(false);
  cluster_.cut_logs();
  ASSERT_TRUE(write_file_atomically(go, "").ok());
  const auto ending = finish_job(*job).ending;
  ASSERT_TRUE(ending.ok()) << ending.error().text();
  EXPECT_EQ(ending->exit_code, 3);
  EXPECT_GT(refused, 4);
}

TEST_F(KubernetesLauncherTest, LogsThatMayNotBeReadEndIt) {
  place_.refusal_patience = std::chrono::milliseconds(200);
  cluster_.intercept([](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (!request.path.ends_with("/log")) return std::nullopt;
    return HttpResponse::json(403, kube_fixture("status_forbidden.json"));
  });
  auto job = start(shell("sleep 1000"));
  const auto ending = finish_job(*job).ending;
  ASSERT_FALSE(ending.ok());
  EXPECT_EQ(ending.error().kind, ErrorKind::denied);
  EXPECT_THAT(ending.error().message, HasSubstr("pods/log"));
  job.reset();
  EXPECT_THAT(cluster_.objects("jobs"), IsEmpty()) << "nobody would hear of it any more";
}

TEST_F(KubernetesLauncherTest, AServerThatHasNoTimeIsAskedAgain) {
  int refused = 0;
  cluster_.intercept([&](const HttpRequest& request) -> std::optional<HttpResponse> {
    if (request.method != "POST" || refused++ > 1) return std::nullopt;
    auto answer = HttpResponse::json(429, kube_fixture("status_too_many.json"));
    answer.headers.set("Retry-After", "0");
    return answer;
  });
  EXPECT_EQ(finish_job(*start(shell("exit 4"))).ending->exit_code, 4);
}

TEST_F(KubernetesLauncherTest, NoRoomIsSaidAfterThePatience) {
  place_.patience = std::chrono::milliseconds(200);
  cluster_.hold_pods("pod_unschedulable.json");
  const auto error = failure_of_start();
  EXPECT_EQ(error.kind, ErrorKind::busy);
  EXPECT_THAT(error.text(), AllOf(HasSubstr("did not start within"), HasSubstr("no node can take it"),
                                  HasSubstr("2 Insufficient nvidia.com/gpu")));
  EXPECT_THAT(error.hint, HasSubstr("gpus="));
}

TEST_F(KubernetesLauncherTest, AnImageThatCannotBePulledIsSaidWithItsEvent) {
  place_.patience = std::chrono::milliseconds(200);
  cluster_.hold_pods("pod_image_pull_back_off.json");
  cluster_.set_events("events_image_pull.json");
  const auto error = failure_of_start();
  EXPECT_EQ(error.kind, ErrorKind::unsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("cannot be pulled (ImagePullBackOff"), HasSubstr("code = NotFound")));
  EXPECT_THAT(error.hint, HasSubstr("pull-secret="));
}

TEST_F(KubernetesLauncherTest, WhatWaitingDoesNotHelpIsSaidAtOnce) {
  place_.patience = std::chrono::hours(10);
  cluster_.hold_pods("pod_invalid_image.json");
  EXPECT_THAT(failure_of_start().message, HasSubstr("must be lowercase"));
}

TEST_F(KubernetesLauncherTest, AQuotaThatAllowsNoPodIsSaid) {
  place_.patience = std::chrono::milliseconds(200);
  cluster_.hold_pods(KubeCluster::kNoPods);
  cluster_.set_events("events_quota.json");
  const auto error = failure_of_start();
  EXPECT_THAT(error.message, HasSubstr("exceeded quota: gpus"));
  EXPECT_THAT(error.hint, HasSubstr("quota"));
}

TEST_F(KubernetesLauncherTest, AJobThatNeverStartedIsClearedAway) {
  place_.patience = std::chrono::milliseconds(200);
  cluster_.hold_pods("pod_unschedulable.json");
  EXPECT_EQ(failure_of_start().kind, ErrorKind::busy);
  EXPECT_THAT(cluster_.objects("jobs"), IsEmpty());
  EXPECT_THAT(cluster_.objects("secrets"), IsEmpty());
}

TEST_F(KubernetesLauncherTest, MoreMemoryThanItHasIsSaid) {
  const auto ending = ending_after([&] { cluster_.lose_pods("pod_oom_killed.json"); });
  ASSERT_TRUE(ending.ok()) << ending.error().text();
  EXPECT_TRUE(ending->out_of_memory);
  EXPECT_EQ(ending->signal, SIGKILL);
}

TEST_F(KubernetesLauncherTest, ANodeThatIsLostIsALostPeer) {
  const auto ending = ending_after([&] { cluster_.lose_pods("pod_node_lost.json"); });
  ASSERT_FALSE(ending.ok());
  EXPECT_EQ(ending.error().kind, ErrorKind::lost_peer);
  EXPECT_THAT(ending.error().message, AllOf(HasSubstr("'gpu03'"), HasSubstr("does not answer any more")));
}

TEST_F(KubernetesLauncherTest, EvictionIsSaidWithItsReason) {
  const auto ending = ending_after([&] { cluster_.lose_pods("pod_evicted.json"); });
  ASSERT_FALSE(ending.ok());
  EXPECT_THAT(ending.error().message,
              AllOf(HasSubstr("thrown it out"), HasSubstr("low on resource: ephemeral-storage")));
}

TEST_F(KubernetesLauncherTest, DeletionBySomebodyElseIsNoStopOfOurs) {
  auto ending = ending_after([&] { cluster_.delete_pods(); });
  ASSERT_FALSE(ending.ok());
  EXPECT_EQ(ending.error().kind, ErrorKind::crash);
  EXPECT_THAT(ending.error().message, HasSubstr("somebody has deleted the pod"));
  cluster_.delete_jobs();
  ending = ending_after([&] { cluster_.delete_jobs(); });
  ASSERT_FALSE(ending.ok());
  EXPECT_THAT(ending.error().message, HasSubstr("somebody has deleted the Job"));
}

TEST_F(KubernetesLauncherTest, AJobThatWaitsCanBeStopped) {
  cluster_.hold_pods("pod_unschedulable.json");
  auto job = start(shell("true"));
  job->stop(std::chrono::seconds(5));
  const auto ending = finish_job(*job).ending;
  ASSERT_TRUE(ending.ok()) << ending.error().text();
  EXPECT_TRUE(ending->stopped);
  job.reset();
  EXPECT_THAT(cluster_.objects("jobs"), IsEmpty());
}

TEST_F(KubernetesLauncherTest, AJobThatWasStoppedIsClearedAwayAndOneThatEndedIsLeftToTheCluster) {
  auto job = start(shell("exit 0"));
  finish_job(*job);
  job.reset();
  ASSERT_THAT(cluster_.objects("jobs"), SizeIs(1)) << "so that whoever was restarted finds it";
  EXPECT_EQ(kube_integer(cluster_.objects("jobs")[0], {"spec", "ttlSecondsAfterFinished"}), 3600);
  auto other = shell("sleep 1000");
  other.token = "r-8/1";
  job = start(other);
  job->stop(std::chrono::seconds(5));
  finish_job(*job);
  job.reset();
  EXPECT_THAT(cluster_.objects("jobs"), SizeIs(1));
  EXPECT_THAT(cluster_.objects("secrets"), SizeIs(1));
}

TEST_F(KubernetesLauncherTest, APodForEachNodeWithItsRank) {
  Job job = shell("echo rank $RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT");
  job.ranks = {.nodes = 2, .per_node = 1};
  const auto end = finish_job(*start(job));
  ASSERT_TRUE(end.ending.ok()) << end.ending.error().text();
  EXPECT_THAT(end.text[JobStream::out], AllOf(HasSubstr("rank 0 of 2 at 127.0.0.1:29500\n"),
                                              HasSubstr("[rank 1] rank 1 of 2 at 127.0.0.1:29500\n")));
  EXPECT_THAT(cluster_.objects("services"), SizeIs(1));
}

TEST_F(KubernetesLauncherTest, ThePodThatFailedFirstIsTheEnding) {
  Job job = shell("[ $RANK = 0 ] && exec sleep 1000; exit 9");
  job.ranks = {.nodes = 2, .per_node = 1};
  const auto ending = finish_job(*start(job)).ending;
  ASSERT_TRUE(ending.ok()) << ending.error().text();
  EXPECT_EQ(ending->exit_code, 9);
  EXPECT_FALSE(ending->stopped);
}

TEST_F(KubernetesLauncherTest, ScratchGoesThereAndArtifactsComeBack) {
  const TemporaryFolder scratch;
  ASSERT_TRUE(make_folders(scratch.path() / "artifacts").ok());
  ASSERT_TRUE(write_file_atomically(scratch.path() / "spec.json", "settings").ok());
  Job job = shell(
      "cat \"$SPEC\" >\"$ARTIFACTS/copy\"; : >\"$ARTIFACTS/empty\"; head -c 300000 /dev/zero >\"$ARTIFACTS/large\"");
  job.scratch = scratch.path();
  job.environment = {{"SPEC", "{scratch}/spec.json"}, {"ARTIFACTS", "{scratch}/artifacts"}};
  EXPECT_EQ(finish_job(*start(job)).ending->exit_code, 0);
  EXPECT_EQ(read_file(scratch.path() / "artifacts/copy").value(), "settings");
  EXPECT_EQ(read_file(scratch.path() / "artifacts/empty").value(), "");
  EXPECT_EQ(read_file(scratch.path() / "artifacts/large").value().size(), 300000U);
}

TEST_F(KubernetesLauncherTest, MoreThanASecretHoldsIsRefused) {
  const TemporaryFolder scratch;
  ASSERT_TRUE(write_file_atomically(scratch.path() / "large", std::string(kLargestSecret, 'x')).ok());
  Job job = shell("true");
  job.scratch = scratch.path();
  const auto started = launcher().start(job);
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(started.error().message, HasSubstr("in a Secret"));
  EXPECT_THAT(cluster_.asked(), IsEmpty());
}

TEST_F(KubernetesLauncherTest, AProgramThatIsNotThereIsTheEnding) {
  const auto ending = finish_job(*start({.arguments = {"no-such-program-anywhere"}})).ending;
  ASSERT_FALSE(ending.ok());
  EXPECT_EQ(ending.error().kind, ErrorKind::missing_file);
}

TEST_F(KubernetesLauncherTest, AsksForNoMoreThanItsRightsSay) {
  auto job = start(shell("echo ready; sleep 1000"));
  await_text(*job, JobStream::out, "ready");
  job.reset();
  job = launcher().attach("r-7/1", {}).value();
  job->stop(std::chrono::seconds(5));
  finish_job(*job);
  job.reset();
  place_.patience = std::chrono::milliseconds(200);
  launcher_.reset();
  cluster_.hold_pods("pod_unschedulable.json");
  EXPECT_EQ(failure_of_start().kind, ErrorKind::busy);
  const std::map<std::string, KubeVerb> verbs = {{"GET", KubeVerb::get},     {"LIST", KubeVerb::list},
                                                 {"WATCH", KubeVerb::watch}, {"POST", KubeVerb::create},
                                                 {"PATCH", KubeVerb::patch}, {"DELETE", KubeVerb::remove}};
  for (const auto& asked : cluster_.asked()) {
    const auto blank = asked.find(' ');
    const auto is_this = [&](const KubeRight& right) {
      return name_of(right.resource) == asked.substr(blank + 1) && right.verb == verbs.at(asked.substr(0, blank));
    };
    EXPECT_TRUE(std::any_of(kube_rights().begin(), kube_rights().end(), is_this)) << asked;
  }
  EXPECT_GE(cluster_.asked().size(), kube_rights().size() - 1) << "all but the service of several nodes";
}

}  // namespace
}  // namespace assay
