// What a real control plane makes of jobs: its own refusals, events, evictions and clearing away.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "launch/finished_job_fixture.h"
#include "launch/job.h"
#include "launch/kubernetes/kube_api.h"
#include "launch/kubernetes/kube_object.h"
#include "launch/kubernetes/kubernetes_launcher.h"
#include "real_cluster.h"
#include "support/assay_cli.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class RealKubernetesTest : public testing::Test {
 protected:
  void TearDown() override { cluster_.clear(name_space_); }

  Launcher& launcher() {
    if (!launcher_) launcher_ = make_kubernetes_launcher(place_, cluster_.access("ada", name_space_), notes_.path());
    return *launcher_;
  }
  static Job shell(const std::string& script) { return {.arguments = {"sh", "-c", script}, .token = "r-7/1"}; }
  static Job endless() { return shell("echo ready; while :; do sleep 1000 & wait; done"); }
  std::unique_ptr<RunningJob> start(const Job& job) {
    auto started = launcher().start(job);
    if (!started) throw std::runtime_error(started.error().text());
    return std::move(*started);
  }
  Error failure_of_start() {
    const auto ending = finish_job(*start(shell("true"))).ending;
    return ending ? Error{.message = "it ran"} : ending.error();
  }
  Result<JobEnding> ending_after(const std::function<void()>& strike) {
    const auto job = start(endless());
    await_text(*job, JobStream::out, "ready");
    strike();
    return finish_job(*job).ending;
  }

  std::vector<json::object> objects(const std::string& kind) {
    const std::string group = kind == "jobs" ? "/apis/batch/v1" : "/api/v1";
    const auto list = cluster_.admin().get(fmt::format("{}/namespaces/{}/{}", group, name_space_, kind));
    EXPECT_TRUE(list.ok()) << list.text();
    std::vector<json::object> found;
    for (const auto& item : kube_array(list.body, {"items"})) {
      // Of the namespace itself.
      if (!kube_text(item, {"metadata", "labels", "assay.dev/job"}).empty()) found.push_back(item.as_object());
    }
    return found;
  }
  std::string pod_target() {
    return fmt::format("/api/v1/namespaces/{}/pods/{}", name_space_,
                       kube_text(objects("pods").at(0), {"metadata", "name"}));
  }
  std::string job_target() {
    return fmt::format("/apis/batch/v1/namespaces/{}/jobs/{}", name_space_,
                       kube_text(objects("jobs").at(0), {"metadata", "name"}));
  }
  bool nothing_is_left() {
    return eventually([&] {
      return objects("jobs").empty() && objects("pods").empty() && objects("secrets").empty() &&
             objects("services").empty();
    });
  }
  void limit(const json::object& hard) {
    const auto made = cluster_.admin().post(fmt::format("/api/v1/namespaces/{}/resourcequotas", name_space_),
                                            {{"metadata", {{"name", "gpus"}}}, {"spec", {{"hard", hard}}}});
    EXPECT_TRUE(made.ok()) << made.text();
    // Until it is counted, everything is refused with another sentence.
    const std::string target = fmt::format("/api/v1/namespaces/{}/resourcequotas/gpus", name_space_);
    EXPECT_TRUE(
        eventually([&] { return kube_value(cluster_.admin().get(target).body, {"status", "hard"}) != nullptr; }));
  }

  RealCluster& cluster_ = *shared_cluster().value();
  const std::string name_space_ = cluster_.make_namespace();
  TemporaryFolder notes_;
  KubernetesPlace place_{.image = "assay:test"};
  std::unique_ptr<Launcher> launcher_;
};

TEST_F(RealKubernetesTest, AJobThatWasStoppedLeavesNothing) {
  Job job = endless();
  job.ranks = {.nodes = 2, .per_node = 1};
  auto running = start(job);
  await_text(*running, JobStream::out, "ready");
  EXPECT_THAT(objects("services"), SizeIs(1));
  running->stop(std::chrono::seconds(5));
  EXPECT_TRUE(finish_job(*running).ending->stopped);
  running.reset();
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(RealKubernetesTest, AJobThatEndedIsClearedAwayByTheClusterInItsTime) {
  auto job = start(shell("echo here"));
  EXPECT_EQ(finish_job(*job).text[JobStream::out], "here\n");
  job.reset();
  ASSERT_THAT(objects("jobs"), SizeIs(1)) << "so that whoever was restarted finds it";
  EXPECT_THAT(objects("secrets"), SizeIs(1));
  EXPECT_EQ(finish_job(*launcher().attach("r-7/1", {}).value()).text[JobStream::out], "here\n");
  const auto patched = cluster_.admin().patch(job_target(), {{"spec", {{"ttlSecondsAfterFinished", 0}}}});
  EXPECT_TRUE(patched.ok()) << patched.text();
  EXPECT_TRUE(nothing_is_left());
  EXPECT_EQ(launcher().attach("r-7/1", {}).error().kind, ErrorKind::not_found);
}

TEST_F(RealKubernetesTest, GoesOnWhenTheApiServerWasKilled) {
  const TemporaryFolder folder;
  const std::string go = (folder.path() / "go").string();
  const auto job =
      start(shell(fmt::format("seq 1 2000; while [ ! -e '{}' ]; do sleep 0.02; done; seq 2001 4000; exit 3", go)));
  std::string text = await_text(*job, JobStream::out, "2000\n");
  cluster_.kill_api_server();
  ASSERT_TRUE(write_file_atomically(go, "").ok());
  cluster_.start_api_server();
  const auto end = finish_job(*job);
  text += end.text[JobStream::out];
  std::string all;
  for (int i = 1; i <= 4000; ++i) all += fmt::format("{}\n", i);
  ASSERT_TRUE(end.ending.ok()) << end.ending.error().text();
  EXPECT_EQ(end.ending->exit_code, 3);
  EXPECT_TRUE(text == all) << text.size() << " bytes";
}

TEST_F(RealKubernetesTest, AWishThatIsMadeWhileTheApiServerIsAwayIsCarriedOutLater) {
  const auto job = start(endless());
  await_text(*job, JobStream::out, "ready");
  cluster_.kill_api_server();
  job->stop(std::chrono::seconds(5));
  cluster_.start_api_server();
  const auto ending = finish_job(*job).ending;
  ASSERT_TRUE(ending.ok()) << ending.error().text();
  EXPECT_TRUE(ending->stopped);
}

TEST_F(RealKubernetesTest, WhatTheNodeHasThrownAwayIsSaid) {
  const TemporaryFolder folder;
  const std::string go = (folder.path() / "go").string();
  auto job = start(shell(fmt::format("seq 1 2000; while [ ! -e '{}' ]; do sleep 0.02; done; echo end", go)));
  await_text(*job, JobStream::out, "2000\n");
  job.reset();
  cluster_.kubelet().rotate_logs();
  ASSERT_TRUE(write_file_atomically(go, "").ok());
  job = launcher().attach("r-7/1", {}).value();
  const auto text = finish_job(*job).text[JobStream::out];
  EXPECT_EQ(text.size(), 8897U) << "every byte stands where it stood";
  EXPECT_THAT(text, AllOf(HasSubstr("bytes are missing here"), testing::EndsWith("\nend\n")));
}

TEST_F(RealKubernetesTest, ALogThatIsCutOffIsReadOnWithoutDoublingOrLosing) {
  const TemporaryFolder folder;
  const std::string go = (folder.path() / "go").string();
  const auto job = start(shell(fmt::format("seq 1 2000; while [ ! -e '{}' ]; do sleep 0.02; done; echo end", go)));
  std::string text = await_text(*job, JobStream::out, "2000\n");
  cluster_.kubelet().cut_logs();
  ASSERT_TRUE(write_file_atomically(go, "").ok());
  text += finish_job(*job).text[JobStream::out];
  EXPECT_THAT(text, testing::EndsWith("1999\n2000\nend\n"));
  EXPECT_EQ(text.size(), 8897U) << "no line twice";
}

TEST_F(RealKubernetesTest, AVersionThatIsTooOldIsToldFromOtherTrouble) {
  const auto api = KubeApi::connect(cluster_.access("ada", name_space_), name_space_).value();
  std::string version = "1";
  const auto watched =
      api->watch(KubeResource::pods, "assay.dev/job=none", version, [](const KubeChange&) { return Result<void>(); });
  ASSERT_FALSE(watched.ok());
  EXPECT_EQ(watched.error().kind, ErrorKind::not_found) << watched.error().text();
}

TEST_F(RealKubernetesTest, NoRoomIsSaidInTheSchedulersWords) {
  place_.patience = std::chrono::seconds(3);
  place_.gpus = 9;
  const auto error = failure_of_start();
  EXPECT_EQ(error.kind, ErrorKind::busy);
  EXPECT_THAT(error.text(), AllOf(HasSubstr("did not start within"), HasSubstr("no node can take it"),
                                  HasSubstr("2 Insufficient nvidia.com/gpu")));
  EXPECT_TRUE(nothing_is_left());
}

TEST_F(RealKubernetesTest, AQuotaThatAllowsNoPodIsSaid) {
  place_.patience = std::chrono::seconds(3);
  limit({{"requests.nvidia.com/gpu", "0"}});
  const auto error = failure_of_start();
  EXPECT_THAT(error.message, HasSubstr("exceeded quota: gpus"));
  EXPECT_THAT(error.hint, HasSubstr("quota"));
}

TEST_F(RealKubernetesTest, AQuotaThatAllowsNoJobIsNoMissingRight) {
  limit({{"count/jobs.batch", "0"}});
  const auto started = launcher().start(shell("true"));
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().kind, ErrorKind::denied);
  EXPECT_THAT(started.error().message, HasSubstr("exceeded quota: gpus"));
  EXPECT_THAT(started.error().hint, AllOf(HasSubstr("quota"), Not(HasSubstr("role"))));
}

TEST_F(RealKubernetesTest, WhatPoliciesOfTheNamespaceSayToItsPods) {
  // The standard's names for how much pods may do (Pod Security Admission).
  const auto enforce = [&](const std::string& level) {
    cluster_.kubectl({"label", "namespace", name_space_, "--overwrite", "pod-security.kubernetes.io/enforce=" + level});
  };
  enforce("baseline");
  auto job = start(shell("exit 4"));
  EXPECT_EQ(finish_job(*job).ending->exit_code, 4);
  job.reset();
  enforce("restricted");
  place_.patience = std::chrono::seconds(3);
  launcher_.reset();
  Job other = shell("true");
  other.token = "r-7/2";
  const auto ending = finish_job(*start(other)).ending;
  ASSERT_FALSE(ending.ok());
  EXPECT_THAT(ending.error().message, HasSubstr("violates PodSecurity \"restricted"));
  EXPECT_THAT(ending.error().hint, HasSubstr("policy"));
}

TEST_F(RealKubernetesTest, ARightThatIsMissingIsNamed) {
  for (const std::string user : {"bob", "ada"}) {
    const std::string name_space = user == "bob" ? name_space_ : "nowhere";
    launcher_ = make_kubernetes_launcher(place_, cluster_.access(user, name_space), notes_.path());
    const auto started = launcher().start(shell("true"));
    ASSERT_FALSE(started.ok());
    EXPECT_EQ(started.error().kind, ErrorKind::denied);
    EXPECT_THAT(started.error().message,
                AllOf(HasSubstr("may not create jobs"), HasSubstr(user), HasSubstr(name_space)));
    EXPECT_THAT(started.error().hint, HasSubstr("'create' on 'jobs'"));
  }
}

TEST_F(RealKubernetesTest, WhoIsNobodyHearsIt) {
  auto access = cluster_.access("ada", name_space_);
  access.user = {.identity = {}, .token = "of-nobody", .token_file = {}, .program = {}};
  launcher_ = make_kubernetes_launcher(place_, access, notes_.path());
  const auto started = launcher().start(shell("true"));
  ASSERT_FALSE(started.ok());
  EXPECT_EQ(started.error().kind, ErrorKind::denied);
  EXPECT_THAT(started.error().message, HasSubstr("does not know who asks"));
}

TEST_F(RealKubernetesTest, AnAccountOfAPodHasTheRightsToo) {
  const TemporaryFolder account;
  const fs::path folder = account.path();
  ASSERT_TRUE(write_file_atomically(folder / "token",
                                    cluster_.kubectl({"create", "token", "-n", name_space_, "assay-launcher"}))
                  .ok());
  ASSERT_TRUE(write_file_atomically(folder / "namespace", name_space_).ok());
  const auto like = cluster_.access("ada", name_space_);
  ASSERT_TRUE(write_file_atomically(folder / "ca.crt", read_file(like.trust.ca_file).value()).ok());
  const auto access = find_kube_access({.environment = {{"HOME", folder.string()},
                                                        {"KUBERNETES_SERVICE_HOST", like.server.host},
                                                        {"KUBERNETES_SERVICE_PORT", std::to_string(like.server.port)}},
                                        .account_folder = folder},
                                       "");
  ASSERT_TRUE(access.ok()) << access.error().text();
  launcher_ = make_kubernetes_launcher(place_, *access, notes_.path());
  EXPECT_EQ(finish_job(*start(shell("exit 4"))).ending->exit_code, 4);
}

TEST_F(RealKubernetesTest, APodThatSomebodyDeletesEndsItAndIsNotReplaced) {
  const auto ending = ending_after([&] {
    const auto removed = cluster_.admin().remove(pod_target());
    EXPECT_TRUE(removed.ok()) << removed.text();
  });
  ASSERT_FALSE(ending.ok());
  EXPECT_EQ(ending.error().kind, ErrorKind::crash);
  EXPECT_THAT(ending.error().message, HasSubstr("deleted the pod"));
}

TEST_F(RealKubernetesTest, AJobThatSomebodyDeletesSaysSo) {
  const auto ending = ending_after([&] {
    const auto removed = cluster_.admin().remove(job_target(), {{"propagationPolicy", "Background"}});
    EXPECT_TRUE(removed.ok()) << removed.text();
  });
  ASSERT_FALSE(ending.ok());
  EXPECT_THAT(ending.error().message, HasSubstr("deleted the Job"));
}

TEST_F(RealKubernetesTest, EvictionIsSaidWithItsReason) {
  const auto ending = ending_after([&] {
    const auto pod = objects("pods").at(0);
    const auto evicted = cluster_.admin().post(
        pod_target() + "/eviction",
        {{"apiVersion", "policy/v1"},
         {"kind", "Eviction"},
         {"metadata", {{"name", kube_text(pod, {"metadata", "name"})}, {"namespace", name_space_}}}});
    EXPECT_TRUE(evicted.ok()) << evicted.text();
  });
  ASSERT_FALSE(ending.ok());
  EXPECT_EQ(ending.error().kind, ErrorKind::crash);
  EXPECT_THAT(ending.error().message, AllOf(HasSubstr("had to leave its node"), HasSubstr("EvictionByEvictionAPI")));
}

TEST_F(RealKubernetesTest, PreemptionIsSaidWithItsReason) {
  const json::object important{{"apiVersion", "scheduling.k8s.io/v1"},
                               {"kind", "PriorityClass"},
                               {"metadata", {{"name", "important"}}},
                               {"value", 1000}};
  const std::string classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
  EXPECT_TRUE(cluster_.admin().post(classes, important).ok());
  place_.gpus = 8;
  const auto ending = ending_after([&] {
    const std::string node = kube_text(objects("pods").at(0), {"spec", "nodeName"});
    const std::string pod = fmt::format(
        R"({{"metadata": {{"name": "important"}},
             "spec": {{"priorityClassName": "important", "nodeSelector": {{"kubernetes.io/hostname": "{}"}},
                       "containers": [{{"name": "c", "image": "x",
                                        "resources": {{"limits": {{"nvidia.com/gpu": "8"}}}}}}]}}}})",
        node);
    const auto made = cluster_.admin().post(fmt::format("/api/v1/namespaces/{}/pods", name_space_),
                                            parse_json(pod).value().as_object());
    EXPECT_TRUE(made.ok()) << made.text();
  });
  cluster_.admin().remove(fmt::format("/api/v1/namespaces/{}/pods/important", name_space_),
                          {{"gracePeriodSeconds", 0}});
  cluster_.admin().remove(classes + "/important");
  ASSERT_FALSE(ending.ok());
  EXPECT_THAT(ending.error().message, AllOf(HasSubstr("higher priority"), HasSubstr("PreemptionByScheduler")));
}

TEST_F(RealKubernetesTest, ANodeThatIsLostIsALostPeer) {
  std::string node;
  const auto ending = ending_after([&] {
    node = kube_text(objects("pods").at(0), {"spec", "nodeName"});
    cluster_.kubelet().lose_node(node);
  });
  cluster_.kubelet().find_node(node);
  ASSERT_FALSE(ending.ok());
  EXPECT_EQ(ending.error().kind, ErrorKind::lost_peer) << ending.error().text();
  EXPECT_THAT(ending.error().message, AllOf(HasSubstr(node), HasSubstr("does not answer any more")));
  EXPECT_TRUE(cluster_.wait_for_nodes().ok());
}

TEST_F(RealKubernetesTest, ADeadlineOfTheClusterIsSaid) {
  Job job = endless();
  job.time_limit = std::chrono::hours(1);
  const auto running = start(job);
  await_text(*running, JobStream::out, "ready");
  EXPECT_TRUE(cluster_.admin().patch(job_target(), {{"spec", {{"activeDeadlineSeconds", 1}}}}).ok());
  const auto ending = finish_job(*running).ending;
  ASSERT_FALSE(ending.ok());
  EXPECT_THAT(ending.error().message, HasSubstr("DeadlineExceeded"));
}

TEST_F(RealKubernetesTest, APodForEachNodeWithItsRank) {
  const TemporaryFolder folder;
  Job job =
      shell(fmt::format("echo rank $RANK of $WORLD_SIZE; : >'{0}'/$RANK; "
                        "while [ ! -e '{0}/0' ] || [ ! -e '{0}/1' ]; do sleep 0.02; done",
                        folder.path().string()));
  job.ranks = {.nodes = 2, .per_node = 1};
  const auto running = start(job);
  const auto end = finish_job(*running);
  ASSERT_TRUE(end.ending.ok()) << end.ending.error().text();
  EXPECT_THAT(end.text[JobStream::out], AllOf(HasSubstr("rank 0 of 2\n"), HasSubstr("[rank 1] rank 1 of 2\n")));
  std::set<std::string> nodes, hosts;
  for (const auto& pod : objects("pods")) {
    nodes.insert(kube_text(pod, {"spec", "nodeName"}));
    hosts.insert(fmt::format("{}.{}", kube_text(pod, {"spec", "hostname"}), kube_text(pod, {"spec", "subdomain"})));
    bool has_index = false;
    for (const auto& variable : kube_array(kube_array(pod, {"spec", "containers"}).front(), {"env"})) {
      has_index = has_index || kube_text(variable, {"name"}) == "JOB_COMPLETION_INDEX";
    }
    EXPECT_TRUE(has_index) << "its command counts on it";
  }
  EXPECT_THAT(nodes, SizeIs(2)) << "never two on one";
  const std::string name = kube_text(objects("jobs").at(0), {"metadata", "name"});
  EXPECT_THAT(hosts, testing::Contains(fmt::format("{0}-0.{0}", name))) << "where the ranks meet";
}

TEST_F(RealKubernetesTest, RoomForOnePodOfTwoIsNoRoom) {
  place_.gpus = 8;
  Job other = endless();
  other.token = "r-7/0";
  const auto first = start(other);
  await_text(*first, JobStream::out, "ready");
  launcher_.reset();
  place_.patience = std::chrono::seconds(3);
  const auto second = make_kubernetes_launcher(place_, cluster_.access("ada", name_space_), notes_.path());
  Job job = shell("sleep 1000");
  job.ranks = {.nodes = 2, .per_node = 1};
  auto running = second->start(job).value();
  const auto ending = finish_job(*running).ending;
  ASSERT_FALSE(ending.ok());
  EXPECT_THAT(ending.error().text(), AllOf(HasSubstr("did not start within"), HasSubstr("no node can take it")));
  running.reset();
  EXPECT_TRUE(eventually([&] { return objects("jobs").size() == 1 && objects("pods").size() == 1; }))
      << "what did start of it is gone, too";
}

TEST_F(RealKubernetesTest, ThePodThatFailedFirstIsTheEnding) {
  Job job = shell("[ $RANK = 0 ] && exec sleep 1000; exit 9");
  job.ranks = {.nodes = 2, .per_node = 1};
  const auto ending = finish_job(*start(job)).ending;
  ASSERT_TRUE(ending.ok()) << ending.error().text();
  EXPECT_EQ(ending->exit_code, 9);
  EXPECT_FALSE(ending->stopped);
}

TEST_F(RealKubernetesTest, RunsOnTheNodeThatWasNamed) {
  Job job = endless();
  job.nodes = {"gpu02"};
  const auto running = start(job);
  await_text(*running, JobStream::out, "ready");
  EXPECT_EQ(kube_text(objects("pods").at(0), {"spec", "nodeName"}), "gpu02");
}

}  // namespace
}  // namespace assay
