#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/supervised_thread.h"
#include "launch/slurm/slurm_control.h"

namespace assay {

/// What is known of a job, and since when it is so.
struct SlurmSight {
  SlurmRecord record;
  SteadyTime since;  ///< asked at that time, Slurm said so first …
  SteadyTime seen;   ///< … and at that time last
};

/// Follows the jobs of one launcher: one question for all of them, from a thread of its own, soon after something was
/// asked and ever less often while nothing changes (every 5 s at last). While slurmctld is away, what was known stays.
/// Any thread; nothing here waits for Slurm.
class SlurmWatch {
 public:
  explicit SlurmWatch(std::shared_ptr<const SlurmControl> slurm);
  ~SlurmWatch();

  /// State of jobs that neither slurmctld nor the accounts know any more.
  static constexpr std::string_view kForgotten = "forgotten";

  /// Once for each `follow` there is a `forget`. A job of that id without our key is another one: a slurmctld that was
  /// killed gives ids out again.
  void follow(std::int64_t id, const std::string& key);
  void forget(std::int64_t id);
  /// Nothing as long as Slurm has not told.
  std::optional<SlurmSight> sight(std::int64_t id) const;
  /// Whether slurmctld answered when it was last asked.
  bool is_away() const;
  /// Asks Slurm often again for a while.
  void hurry();
  /// Ends the job, again and again until slurmctld takes it.
  void cancel(std::int64_t id);
  /// Ends it then, unless it is forgotten before.
  void cancel_at(std::int64_t id, SteadyTime when);

 private:
  struct Followed {
    int followers = 0;
    std::string key;
    SteadyTime since{};  ///< nobody can have seen it before
    std::optional<SlurmSight> sight;
    std::optional<SteadyTime> cancel_at;
  };

  void work(const std::stop_token& stop);
  /// True if anything is new.
  bool take(const SlurmRecords& records, SteadyTime asked);
  void note_reach(const Result<SlurmRecords>& records);
  void take_forgotten(SteadyTime asked, const SlurmRecords& records);
  bool is_due(const Followed& followed) const;
  void cancel_what_is_due();
  std::vector<std::int64_t> followed_ids() const;

  const std::shared_ptr<const SlurmControl> slurm_;
  const SystemClock clock_;
  mutable std::mutex mutex_;
  std::condition_variable_any asked_;
  std::map<std::int64_t, Followed> followed_;  ///< the following by mutex_
  bool hurry_ = false;
  bool away_ = false;                       ///< slurmctld did not answer
  std::optional<SupervisedThread> thread_;  ///< last: it uses all of the above
};

}  // namespace assay
