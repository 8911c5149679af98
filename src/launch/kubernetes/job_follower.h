#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/supervised_thread.h"
#include "launch/kubernetes/kube_api.h"
#include "launch/kubernetes/pod_part.h"
#include "launch/kubernetes/pod_state.h"

namespace assay {

struct FollowedJob {
  KubeAccess access;
  std::string name_space;
  std::string name, uid;     ///< of the Job
  std::string title;         ///< for people
  Nanos patience{};          ///< for pods that do not start
  Nanos refusal_patience{};  ///< for being refused all along
  bool stop_wished = false;  ///< somebody has asked for its end before
};

/// Follows one job in a cluster until it is let go: watches its pods, reads the logs of each into its feed, carries out
/// what the owner wishes, says what pods wait for, and how each part ended. Threads of its own, each with a connection:
/// one for the watch, one for the wishes, one for the log of each pod. An API server that is away is asked again for as
/// long as it takes; one that refuses, for a while, since a server that has just been started refuses everybody until
/// it knows its roles.
class JobFollower {
 public:
  JobFollower(FollowedJob job, std::vector<std::shared_ptr<PodFeed>> feeds);
  JobFollower(const JobFollower&) = delete;
  JobFollower& operator=(const JobFollower&) = delete;
  /// Waits for the threads. A job that was stopped, or that failed without an ending of its own, is deleted then, since
  /// the cluster's own clearing away is for jobs that have finished. Any other one goes on.
  ~JobFollower();

  /// Any thread; does not wait.
  void wish(JobWish::Kind kind, Nanos grace);

 private:
  /// Since when one thread is refused what it asks for.
  class Refusals {
   public:
    explicit Refusals(Nanos patience) : patience_(patience) {}
    /// True once it is no use to ask again.
    bool are_final(const Result<void>& answer);

   private:
    const Nanos patience_;
    std::optional<SteadyTime> since_;
  };
  /// What is known of one part.
  struct Part {
    std::optional<PodState> pod;
    bool has_run = false;
    bool gone = false;      ///< the pod is not there any more
    bool replaced = false;  ///< the cluster has made another pod after this one had run
  };
  struct Wish {
    JobWish::Kind kind;
    Nanos grace;
  };

  /// One that lives as long as this; null when it is time to stop.
  KubeApi* connect(const std::stop_token& stop);
  /// False when it is time to stop.
  bool pause(const std::stop_token& stop, Nanos duration);

  void watch_pods(const std::stop_token& stop);
  Result<void> watch_once(KubeApi& api);
  void note_pod(const json::object& pod, bool removed);
  void note_absent(const std::vector<json::object>& pods);

  void follow_log(const std::stop_token& stop, std::size_t part);
  enum class Await { log, over, stop };
  Await await_pod(const std::stop_token& stop, std::size_t part, PodState& pod);
  /// True once the part has its ending.
  bool read_log(KubeApi& api, std::size_t part, const PodState& before, int& failures, Refusals& refusals);
  /// What its host said, unless somebody else has ended the pod.
  PartEnding judged(KubeApi& api, std::size_t part, PartEnding heard);
  PartEnding ending_without_words(KubeApi& api, std::size_t part);
  Error deletion_by_others(KubeApi& api, std::size_t part);

  void carry_out_wishes(const std::stop_token& stop);
  Result<void> carry_out(KubeApi& api, const Wish& wish);
  std::optional<PodState> first_waiting();
  void look_at_waiting(KubeApi& api);
  void look_at_killed();
  /// Ends every part that has not ended with this, and the job in the cluster when it is let go.
  void give_up(const Error& why);

  const FollowedJob job_;
  const std::vector<std::shared_ptr<PodFeed>> feeds_;
  const SteadyTime began_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<Part> parts_;
  std::vector<Wish> wishes_;
  std::vector<std::unique_ptr<KubeApi>> connections_;
  bool stop_wished_ = false;
  bool to_be_deleted_ = false;
  bool closing_ = false;
  std::optional<SteadyTime> killed_at_;

  // Of the thread of the wishes.
  std::string told_;  ///< what the job waits for
  SteadyTime ask_events_at_;

  std::vector<SupervisedThread> threads_;  ///< last: they use all of the above
};

}  // namespace assay
