#include "launch/kubernetes/pod_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "launch/kubernetes/kube_cluster_fixture.h"
#include "launch/kubernetes/pod_ending.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Phase = PodState::Phase;

PodState state_of(const std::string& fixture) { return read_pod(kube_fixture_object(fixture)); }

TEST(PodState, KnowsWhatAPodWaitsFor) {
  EXPECT_EQ(state_of("pod_creating.json").phase, Phase::waiting);
  EXPECT_EQ(state_of("pod_creating.json").why, "") << "that is on its way";
  const auto unschedulable = state_of("pod_unschedulable.json");
  EXPECT_EQ(unschedulable.reason, "Unschedulable");
  EXPECT_THAT(unschedulable.why, HasSubstr("2 Insufficient nvidia.com/gpu"));
  EXPECT_FALSE(unschedulable.hopeless);
  EXPECT_THAT(state_of("pod_image_pull_back_off.json").why, HasSubstr("cannot be pulled (ImagePullBackOff: Back-off"));
  EXPECT_THAT(state_of("pod_config_error.json").why, HasSubstr("not found"));
  EXPECT_TRUE(state_of("pod_invalid_image.json").hopeless);
}

TEST(PodState, KnowsHowAPodEnded) {
  EXPECT_EQ(state_of("pod_running.json").phase, Phase::running);
  EXPECT_EQ(state_of("pod_running.json").node, "gpu03");
  EXPECT_EQ(state_of("pod_succeeded.json").exit_code, 0);
  EXPECT_EQ(state_of("pod_failed.json").exit_code, 42);
  EXPECT_TRUE(state_of("pod_oom_killed.json").out_of_memory);
  EXPECT_EQ(state_of("pod_evicted.json").phase, Phase::lost);
  EXPECT_EQ(state_of("pod_node_lost.json").phase, Phase::lost);
  EXPECT_EQ(state_of("pod_start_error.json").phase, Phase::lost) << "it has no log";
  EXPECT_THAT(state_of("pod_start_error.json").remedy, HasSubstr("`assay` on its PATH"));
  const auto preempted = state_of("pod_preempted.json");
  EXPECT_EQ(preempted.phase, Phase::running) << "for its grace";
  EXPECT_TRUE(preempted.being_deleted);
  EXPECT_THAT(preempted.why, HasSubstr("higher priority"));
}

TEST(PodState, KnowsItsPart) {
  EXPECT_EQ(state_of("pod_indexed.json").part, 1);
  EXPECT_EQ(state_of("pod_running.json").part, 0);
  EXPECT_EQ(state_of("pod_running.json").owner, "6f0d9a52-6a0e-4c7b-9a55-2f9f3f0d7c11");
}

TEST(PodState, TakesNothingForGranted) {
  EXPECT_EQ(read_pod({}).phase, Phase::waiting);
  EXPECT_EQ(read_pod({{"status", 5}, {"metadata", json::array{1}}}).phase, Phase::waiting);
}

TEST(PodState, FindsTheWarningThatSaysMost) {
  const auto warning_in = [](const std::string& fixture) {
    std::vector<json::object> events;
    const auto list = kube_fixture_object(fixture);
    for (const auto& event : list.at("items").as_array()) events.push_back(event.as_object());
    return newest_warning(events);
  };
  EXPECT_THAT(warning_in("events_image_pull.json").value_or(""), HasSubstr("Failed: Failed to pull image"));
  EXPECT_THAT(warning_in("events_quota.json").value_or(""), HasSubstr("exceeded quota"));
  EXPECT_EQ(warning_in("events_none.json"), std::nullopt);
}

TEST(PodState, KnowsWhyAJobFailed) {
  EXPECT_THAT(job_failure(kube_fixture_object("job_deadline.json")).value_or(""), HasSubstr("DeadlineExceeded"));
  EXPECT_THAT(job_failure(kube_fixture_object("job_deadline_target.json")).value_or(""),
              HasSubstr("DeadlineExceeded: Job was active longer"))
      << "said before its pods have ended";
  EXPECT_EQ(job_failure(kube_fixture_object("job_backoff_limit.json")), std::nullopt)
      << "that follows from what became of a pod, and is no reason of its own";
  EXPECT_EQ(job_failure({}), std::nullopt);
}

TEST(PodEnding, IsTheContainersWhereItsHostSaidNothing) {
  EXPECT_EQ(ending_of_pod(state_of("pod_failed.json"), true, false)->exit_code, 42);
  const auto oom = ending_of_pod(state_of("pod_oom_killed.json"), true, false);
  EXPECT_EQ(oom->signal, SIGKILL);
  EXPECT_TRUE(oom->out_of_memory);
  const auto evicted = ending_of_pod(state_of("pod_evicted.json"), true, false);
  EXPECT_EQ(evicted.error().kind, ErrorKind::crash);
  EXPECT_EQ(ending_of_pod(state_of("pod_node_lost.json"), true, true).error().kind, ErrorKind::lost_peer)
      << "nobody knows whether it has ended";
  EXPECT_EQ(ending_of_pod(state_of("pod_running.json"), true, true)->signal, SIGKILL) << "it was gone after the grace";
  EXPECT_TRUE(ending_of_pod(state_of("pod_running.json"), true, true)->stopped);
  EXPECT_FALSE(ending_of_pod(state_of("pod_running.json"), true, false).ok());
}

TEST(PodEnding, APodThatWasDeletedBeforeItBeganWasStopped) {
  auto pod = kube_fixture_object("pod_creating.json");
  pod["metadata"].as_object()["deletionTimestamp"] = "2026-11-18T12:05:40Z";
  pod["status"].as_object()["phase"] = "Failed";
  const auto stopped = ending_of_pod(read_pod(pod), false, true);
  ASSERT_TRUE(stopped.ok()) << stopped.error().text();
  EXPECT_TRUE(stopped->stopped);
  EXPECT_EQ(stopped->signal, SIGTERM);
  EXPECT_FALSE(ending_of_pod(read_pod(pod), false, false).ok()) << "nobody had asked for it";
}

TEST(PodEnding, ASentenceSaysWhyItDidNotStart) {
  const auto error =
      not_started(state_of("pod_unschedulable.json"), "FailedScheduling: 0/3 nodes are available: 1 node(s)");
  EXPECT_EQ(error.kind, ErrorKind::busy);
  EXPECT_THAT(error.message, testing::Not(HasSubstr("FailedScheduling"))) << "the pod says the same";
  EXPECT_THAT(not_started({}, "FailedCreate: no quota").message, AllOf(HasSubstr("no pod"), HasSubstr("no quota")));
  EXPECT_FALSE(not_started({}, "").hint.empty());
}

}  // namespace
}  // namespace assay
