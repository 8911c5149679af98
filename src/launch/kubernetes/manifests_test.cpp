#include "launch/kubernetes/manifests.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "launch/job.h"
#include "launch/kubernetes/kube_cluster_fixture.h"
#include "launch/kubernetes/kube_object.h"
#include "launch/kubernetes/pod_order.h"

namespace assay {
namespace {

using testing::HasSubstr;

KubernetesPlace full_place() {
  return read_kubernetes_place({{"namespace", "bench"},
                                {"image", "registry.example/assay:1"},
                                {"selector", "pool=a100"},
                                {"toleration", "gpu+team=ml:NoSchedule"},
                                {"cpu", "8"},
                                {"memory", "64GiB"},
                                {"service-account", "runner"},
                                {"pull-secret", "registry"},
                                {"runtime-class", "nvidia"},
                                {"patience", "10min"},
                                {"keep", "2h"}})
      .value();
}
Job two_nodes() {
  return {.arguments = {"{assay-engine}", "train"},
          .folder = {},
          .devices = {},
          .ranks = {.nodes = 2, .per_node = 4},
          .time_limit = std::chrono::minutes(30),
          .name = "scaling",
          .token = "r-81/1"};
}
const json::value& pod_spec(const json::object& job) { return *kube_value(job, {"spec", "template", "spec"}); }
const json::value& container(const json::object& job) { return kube_array(pod_spec(job), {"containers"}).front(); }

TEST(Manifests, AJobIsNeverDoneTwice) {
  const auto job = job_manifest(two_nodes(), full_place(), "assay-x").value();
  EXPECT_EQ(kube_integer(job, {"spec", "backoffLimit"}), 0);
  EXPECT_EQ(kube_text(pod_spec(job), {"restartPolicy"}), "Never");
  EXPECT_EQ(kube_text(kube_array(job, {"spec", "podFailurePolicy", "rules"}).front(), {"action"}), "FailJob");
  EXPECT_EQ(kube_job_name("r-81/1"), kube_job_name("r-81/1"));
  EXPECT_NE(kube_job_name("r-81/1"), kube_job_name("r-81/2"));
}

TEST(Manifests, LimitsComeFromTheJob) {
  const auto job = job_manifest(two_nodes(), full_place(), "assay-x").value();
  EXPECT_EQ(kube_integer(job, {"spec", "activeDeadlineSeconds"}), 600 + 1800 + 5 + 300);
  EXPECT_EQ(kube_integer(job, {"spec", "ttlSecondsAfterFinished"}), 7200);
  EXPECT_EQ(kube_integer(pod_spec(job), {"terminationGracePeriodSeconds"}), 20);
  EXPECT_EQ(
      kube_value(job_manifest({.arguments = {"true"}}, full_place(), "x").value(), {"spec", "activeDeadlineSeconds"}),
      nullptr);
}

TEST(Manifests, GpusComeFromRanksAndDevices) {
  const auto gpus = [](const Job& job, std::optional<std::int64_t> each = {}) {
    const auto made = job_manifest(job, {.image = "a", .gpus = each}, "x");
    if (!made) return made.error().message;
    const auto text = kube_text(container(*made), {"resources", "limits", "nvidia.com/gpu"});
    return text.empty() ? std::string("none") : text;
  };
  EXPECT_EQ(gpus(two_nodes()), "4");
  EXPECT_EQ(gpus({.arguments = {"a"}, .environment = {{"ASSAY_RANKS", "8"}}}), "8") << "it starts its own";
  EXPECT_EQ(gpus({.arguments = {"a"}}), "1");
  EXPECT_EQ(gpus({.arguments = {"a"}, .devices = std::vector<std::string>{}}), "none") << "it uses none";
  EXPECT_EQ(gpus(two_nodes(), 0), "none");
  EXPECT_EQ(gpus(two_nodes(), 2), "2");
  EXPECT_THAT(gpus({.arguments = {"a"}, .devices = std::vector<std::string>{"GPU-1"}}), HasSubstr("by its UUID"));
}

TEST(Manifests, APodWithoutGpusSeesNone) {
  const auto job = job_manifest(two_nodes(), {.image = "a", .gpus = 0}, "x").value();
  EXPECT_EQ(kube_text(kube_array(container(job), {"env"}).front(), {"value"}), "void");
}

TEST(Manifests, PodsOfSeveralNodesFindEachOther) {
  const auto job = job_manifest(two_nodes(), full_place(), "assay-x").value();
  EXPECT_EQ(kube_text(job, {"spec", "completionMode"}), "Indexed");
  EXPECT_EQ(kube_integer(job, {"spec", "completions"}), 2);
  EXPECT_EQ(kube_text(pod_spec(job), {"subdomain"}), "assay-x");
  EXPECT_EQ(
      json::serialize(*kube_value(container(job), {"command"})),
      R"(["assay","__host-pod","/assay/order","/assay/job","$(JOB_COMPLETION_INDEX)/2","assay-x-0.assay-x:29500"])");
  const auto service = service_manifest(job);
  EXPECT_EQ(kube_text(service, {"spec", "clusterIP"}), "None");
  EXPECT_EQ(kube_text(service, {"metadata", "name"}), "assay-x");
}

TEST(Manifests, EachPodOfSeveralIsOnANodeOfItsOwn) {
  Job asked = two_nodes();
  auto job = job_manifest(asked, full_place(), "assay-x").value();
  EXPECT_NE(kube_value(pod_spec(job), {"affinity", "podAntiAffinity"}), nullptr);
  EXPECT_EQ(kube_value(pod_spec(job), {"affinity", "nodeAffinity"}), nullptr);
  asked.nodes = {"gpu01", "gpu02"};
  job = job_manifest(asked, full_place(), "assay-x").value();
  EXPECT_THAT(json::serialize(*kube_value(pod_spec(job), {"affinity", "nodeAffinity"})),
              HasSubstr(R"("values":["gpu01","gpu02"])"));
  EXPECT_EQ(kube_value(pod_spec(job_manifest({.arguments = {"a"}}, full_place(), "x").value()), {"affinity"}), nullptr);
}

TEST(Manifests, WhatGoesWithAJobBelongsToIt) {
  auto job = job_manifest(two_nodes(), full_place(), "assay-x").value();
  job["metadata"].as_object()["uid"] = "u-1";
  const auto secret = order_manifest("the order", job);
  const auto owner = kube_array(secret, {"metadata", "ownerReferences"}).front();
  EXPECT_EQ(kube_text(owner, {"uid"}), "u-1");
  EXPECT_EQ(kube_text(owner, {"kind"}), "Job");
  EXPECT_EQ(kube_text(secret, {"data", kOrderKey}), "dGhlIG9yZGVy");
}

/// Everything that was said is said again: kubectl reads into the types of the API, and drops what those do not have.
void expect_within(const json::value& ours, const json::value& theirs, const std::string& path) {
  if (const auto* const object = ours.if_object()) {
    for (const auto& [key, value] : *object) {
      const auto* const other = theirs.is_object() ? theirs.get_object().if_contains(key) : nullptr;
      const std::string below = fmt::format("{}.{}", path, std::string_view(key));
      if (other) expect_within(value, *other, below);
      if (!other) ADD_FAILURE() << below << " is no field of the API";
    }
  } else if (const auto* const array = ours.if_array()) {
    ASSERT_TRUE(theirs.is_array() && theirs.get_array().size() == array->size()) << path;
    for (std::size_t i = 0; i < array->size(); ++i) expect_within((*array)[i], theirs.get_array()[i], path + "[]");
  } else if (!path.ends_with("limits.memory") && !path.ends_with("limits.cpu")) {  // these in another unit
    EXPECT_EQ(json::serialize(ours), json::serialize(theirs)) << path;
  }
}

TEST(Manifests, AreWhatKubectlUnderstands) {
  Job asked = two_nodes();
  asked.nodes = {"gpu01", "gpu02"};
  const auto job = job_manifest(asked, full_place(), "assay-x").value();
  const auto seen = as_kubectl_sees(json::serialize(job));
  if (!seen) GTEST_SKIP() << seen.error().text();
  expect_within(job, *seen, "job");
}

TEST(PodOrder, ComesBack) {
  const TemporaryFolder here;
  const TemporaryFolder there;
  ASSERT_TRUE(make_folders(here.path() / "artifacts").ok());
  ASSERT_TRUE(make_folders(here.path() / "deep/er").ok());
  ASSERT_TRUE(write_file_atomically(here.path() / "deep/er/run.sh", "#!/bin/sh\n").ok());
  fs::permissions(here.path() / "deep/er/run.sh", fs::perms::owner_all);
  Job job = two_nodes();
  job.scratch = here.path();
  const auto text = write_pod_order(job);
  ASSERT_TRUE(text.ok()) << text.error().text();
  ASSERT_TRUE(unpack_pod_order(*text, there.path()).ok());
  EXPECT_EQ(read_file(there.path() / "job/scratch/deep/er/run.sh").value(), "#!/bin/sh\n");
  EXPECT_NE(fs::status(there.path() / "job/scratch/deep/er/run.sh").permissions() & fs::perms::owner_exec,
            fs::perms::none);
  EXPECT_TRUE(fs::is_directory(there.path() / "job/scratch/artifacts"));
  EXPECT_FALSE(unpack_pod_order(*text, there.path()).ok()) << "once and never again";
}

TEST(PodOrder, LeadsNobodyAstray) {
  const TemporaryFolder folder;
  const auto order = write_pod_order({.arguments = {"true"}, .scratch = folder.path()}).value();
  for (const std::string path : {"../out", "/etc/x", "", "a/../../b"}) {
    auto value = parse_json(order).value().as_object();
    value["files"] = json::array{json::object{{"path", path}, {"content", ""}}};
    const TemporaryFolder into;
    EXPECT_FALSE(unpack_pod_order(json::serialize(value), into.path()).ok()) << path;
  }
  EXPECT_FALSE(unpack_pod_order("nonsense", folder.path()).ok());
}

}  // namespace
}  // namespace assay
