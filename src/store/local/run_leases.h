#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/file_lock.h"
#include "base/files.h"
#include "base/result.h"
#include "store/lease.h"
#include "store/local/run_catalogue.h"
#include "store/run_store.h"

namespace assay {

/// Whose the runs of a data folder are, and what their owners may do. Any thread.
///
/// An owner is a process that holds the lock of the run's folder for as long as it lives, or somebody far away whose
/// lease is good for a while. Both have their epoch in lease.json; the lock needs no clock.
class RunLeases {
 public:
  RunLeases(std::shared_ptr<RunCatalogue> runs, const Clock& clock) : runs_(std::move(runs)), clock_(clock) {}

  /// A lease of a run that is being made in `staged`; `hold` it once the folder is in its place.
  struct Claim {
    Lease lease;
    std::optional<FileLock> lock;
    FileDescriptor journal;
  };
  Result<Claim> claim_new(const RunFolder& staged, const LeaseTerms& terms);
  Lease hold(Claim claim);

  // As those of RunStore.
  Result<Lease> take(std::string_view id, const LeaseTerms& terms);
  Result<Lease> renew(const Lease& lease, Nanos length);
  void give_up(const Lease& lease);
  Result<Run> change_owned(const Lease& lease, const std::function<Result<void>(Run&)>& change);
  Result<Lease> join(const RunFolder& folder, std::string_view name);
  Result<std::uint64_t> append(const Lease& lease, std::uint64_t offset, std::string_view frames);

  static constexpr std::size_t kMostRanks = 10'000;  ///< of a run

 private:
  /// What this process holds by a lock.
  struct Held {
    std::mutex mutex;
    std::uint64_t epoch = 0;
    std::optional<FileLock> lock;
    FileDescriptor journal;
  };
  using Key = std::pair<std::string, std::string>;  ///< run and journal

  std::shared_ptr<Held> held_by(const Lease& lease) const;
  /// `denied` unless the lease is good; the folder's change lock must be held.
  Result<void> check(const RunFolder& folder, const Lease& lease) const;
  /// `io` where no further file may be open; what is held of runs that are over is let go first.
  Result<void> check_room();
  Lease lease_for(const std::string& run, std::uint64_t epoch, const LeaseTerms& terms) const;

  const std::shared_ptr<RunCatalogue> runs_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<Held>> held_;
  WallTime looked_;  ///< for runs that are over
};

}  // namespace assay
