#include "launch/kubernetes/kubernetes_launcher.h"

#include <fmt/format.h>

#include "base/ids.h"
#include "base/json.h"
#include "launch/hosted/parted_job.h"
#include "launch/job.h"
#include "launch/kubernetes/job_follower.h"
#include "launch/kubernetes/kube_object.h"
#include "launch/kubernetes/manifests.h"
#include "launch/kubernetes/pod_order.h"
#include "launch/living_jobs.h"

namespace assay {
namespace {

constexpr std::string_view kHandlePrefix = "k8s:";
/// Older notes are those of jobs that the cluster has long forgotten.
constexpr auto kOldNote = std::chrono::hours(24 * 30);

/// Where a job is: `k8s:namespace/name`.
struct KubeHandle {
  std::string name_space, name;
  std::string text() const { return fmt::format("{}{}/{}", kHandlePrefix, name_space, name); }
};

/// What lives as long as the job is followed. The follower goes first, then the name is free.
struct FollowedKeep {
  LivingName name;
  std::shared_ptr<JobFollower> follower;
};

class KubernetesLauncher final : public Launcher {
 public:
  KubernetesLauncher(KubernetesPlace place, KubeAccess access, fs::path notes)
      : place_(std::move(place)), access_(std::move(access)), notes_(std::move(notes)) {}

  std::string_view name() const override { return "kubernetes"; }

  Result<std::unique_ptr<RunningJob>> start(const Job& job) override {
    KubeHandle handle{.name_space = name_space(), .name = kube_job_name(job.token.empty() ? new_id() : job.token)};
    const std::string doing = fmt::format("starting it in Kubernetes ({})", access_.origin);
    ASSAY_TRY(const auto order, write_pod_order(job).within(doing));
    ASSAY_TRY(const auto manifest, job_manifest(job, place_, handle.name));
    LivingName name(living_, handle.text());
    if (!name.ours()) return already_there(job.token);
    ASSAY_TRY(const auto api, KubeApi::connect(access_, handle.name_space).within(doing));
    auto created = api->create(KubeResource::jobs, manifest);
    if (!created && created.error().kind == ErrorKind::busy) return already_there(job.token);
    if (!created) return std::move(created).error().within(doing);
    if (auto complete = hand_over(*api, order, *created); !complete) {
      (void)api->remove(KubeResource::jobs, handle.name).ok();
      return std::move(complete).error().within(doing);
    }
    forget_old_notes();
    if (job.scratch) {
      ASSAY_CHECK(make_folders(notes_));
      ASSAY_CHECK(write_file_atomically(artifacts_note(handle), (*job.scratch / "artifacts").string()));
    }
    return follow(handle, *created, {}, std::move(name));
  }

  Result<std::unique_ptr<RunningJob>> attach(std::string_view text, PerStream<std::uint64_t> taken) override {
    const KubeHandle handle = handle_of(text);
    LivingName name(living_, handle.text());
    if (!name.ours()) {
      return Error{.kind = ErrorKind::busy, .message = fmt::format("the job '{}' has its owner already", text)};
    }
    const std::string doing = fmt::format("taking it up again in Kubernetes ({})", access_.origin);
    ASSAY_TRY(const auto api, KubeApi::connect(access_, handle.name_space).within(doing));
    const auto job = api->get(KubeResource::jobs, handle.name);
    const bool gone = !job && job.error().kind == ErrorKind::not_found;
    if (gone || (job && kube_value(*job, {"metadata", "deletionTimestamp"}))) {
      return Error{.kind = ErrorKind::not_found,
                   .message = fmt::format("there is no job '{}' in the namespace '{}'", text, handle.name_space),
                   .hint = "It was never started, or it has ended and was cleared away."};
    }
    if (!job) return Error(job.error()).within(doing);
    return follow(handle, *job, taken, std::move(name));
  }

 private:
  std::string name_space() const { return place_.name_space.empty() ? access_.name_space : place_.name_space; }

  KubeHandle handle_of(std::string_view text) const {
    if (text.starts_with(kHandlePrefix)) {
      const std::string_view rest = text.substr(kHandlePrefix.size());
      const auto slash = rest.find('/');
      if (slash != std::string_view::npos && slash > 0 && slash + 1 < rest.size()) {
        return {.name_space = std::string(rest.substr(0, slash)), .name = std::string(rest.substr(slash + 1))};
      }
    }
    return {.name_space = name_space(), .name = kube_job_name(text)};
  }

  fs::path artifacts_note(const KubeHandle& handle) const { return notes_ / (handle.name + ".artifacts"); }
  void forget_old_notes() const {
    std::error_code code;
    fs::directory_iterator entry(notes_, code);
    for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
      std::error_code ignored;
      const auto written = entry->last_write_time(ignored);
      if (!ignored && fs::file_time_type::clock::now() - written > kOldNote) fs::remove(entry->path(), ignored);
    }
  }

  static Error already_there(std::string_view token) {
    return {.kind = ErrorKind::busy,
            .message = fmt::format("the job '{}' was started already, and the cluster still has it", token)};
  }

  /// What the pods wait for before they start. It belongs to the Job, so that nothing of it outlives that.
  static Result<void> hand_over(KubeApi& api, std::string_view order, const json::object& job) {
    ASSAY_TRY([[maybe_unused]] const auto secret, api.create(KubeResource::secrets, order_manifest(order, job)));
    if (kube_integer(job, {"spec", "completions"}).value_or(1) < 2) return {};
    ASSAY_TRY([[maybe_unused]] const auto service, api.create(KubeResource::services, service_manifest(job)));
    return {};
  }

  Result<std::unique_ptr<RunningJob>> follow(const KubeHandle& handle, const json::object& job,
                                             const PerStream<std::uint64_t>& taken, LivingName name) const {
    const auto parts = static_cast<std::size_t>(
        std::clamp<std::int64_t>(kube_integer(job, {"spec", "completions"}).value_or(1), 1, kMostParts));
    MergeNotes notes;
    if (parts > 1) {
      ASSAY_CHECK(make_folders(notes_));
      ASSAY_TRY(notes, MergeNotes::open(notes_ / (handle.name + ".merged"), parts, taken));
    }
    // Not from the cluster: who can write there must not say where we write.
    const fs::path artifacts = read_file(artifacts_note(handle), 4096).value_or("");
    const auto order = std::make_shared<EndingOrder>();
    std::vector<std::shared_ptr<PodFeed>> feeds;
    feeds.reserve(parts);
    for (std::size_t part = 0; part < parts; ++part) {
      feeds.push_back(std::make_shared<PodFeed>(parts > 1 ? notes.merged(part) : taken, artifacts, order));
    }
    auto keep = std::make_shared<FollowedKeep>(FollowedKeep{.name = std::move(name), .follower = {}});
    keep->follower =
        std::make_shared<JobFollower>(FollowedJob{.access = access_,
                                                  .name_space = handle.name_space,
                                                  .name = handle.name,
                                                  .uid = kube_text(job, {"metadata", "uid"}),
                                                  .title = title_of(job, handle),
                                                  .patience = place_.patience,
                                                  .refusal_patience = place_.refusal_patience,
                                                  .stop_wished = kube_integer(job, {"spec", "parallelism"}) == 0},
                                      feeds);
    std::vector<std::unique_ptr<JobPart>> pods;
    pods.reserve(feeds.size());
    for (const auto& feed : feeds) {
      pods.push_back(
          std::make_unique<PodPart>(feed, [follower = std::weak_ptr(keep->follower)](JobWish::Kind kind, Nanos grace) {
            if (const auto there = follower.lock()) there->wish(kind, grace);
          }));
    }
    const auto grace = kube_integer(job, {"spec", "template", "spec", "terminationGracePeriodSeconds"}).value_or(5);
    return make_parted_job(std::move(pods), {.handle = handle.text(),
                                             .grace = std::chrono::seconds(grace),
                                             .notes = std::move(notes),
                                             .keep = std::move(keep)});
  }

  static std::string title_of(const json::object& job, const KubeHandle& handle) {
    std::string title = kube_text(job, {"metadata", "annotations", "assay.dev/name"});
    return title.empty() ? handle.name : title;
  }

  static constexpr std::int64_t kMostParts = 4096;

  const KubernetesPlace place_;
  const KubeAccess access_;
  const fs::path notes_;
  LivingJobs living_;
};

}  // namespace

std::unique_ptr<Launcher> make_kubernetes_launcher(KubernetesPlace place, KubeAccess access, fs::path notes) {
  return std::make_unique<KubernetesLauncher>(std::move(place), std::move(access), std::move(notes));
}

}  // namespace assay
