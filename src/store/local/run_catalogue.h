#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "model/run.h"
#include "store/journal_state.h"
#include "store/local/index.h"
#include "store/local/run_folder.h"

namespace assay {

class JournalVisitor;

/// The run folders together with their index. The folders are the truth: an index that cannot be written costs a
/// warning, never a run. Any thread.
class RunCatalogue {
 public:
  static Result<std::shared_ptr<RunCatalogue>> open(const fs::path& data, Sharing sharing, const Clock& clock);

  const fs::path& data() const { return data_; }
  fs::path runs() const { return data_ / "runs"; }
  RunFolder folder(std::string_view id) const { return {runs() / std::string(id), std::string(id)}; }
  Index& index() { return *index_; }

  /// run.json as it stands. Where that is damaged the error says what the journal still holds.
  Result<Run> load(const RunFolder& folder) const;
  /// The run, closed as `interrupted` first if its owner is gone.
  Result<Run> find(std::string_view id);
  /// Reads, changes and stores a run under its lock.
  Result<Run> change(std::string_view id, const std::function<Result<void>(Run&)>& change);
  /// The journals as they are now, and what is known of who writes them.
  std::vector<JournalState> journals(const RunFolder& folder) const;
  /// Closes runs that the index shows as going on and whose owner is gone. Looks at `kMostLookedAt` at most, and the
  /// next call goes on behind them: however many are going on, whoever lists runs waits for a bounded look.
  void close_abandoned();
  static constexpr std::size_t kMostLookedAt = 256;

  /// Brings the index up to date.
  void note(const Run& run);
  void forget(std::string_view id);

  /// How long an owner elsewhere may be silent after its lease has run out before whoever looks closes its run. A
  /// leader that is there decides sooner.
  static constexpr Nanos kLongestSilence = std::chrono::hours(24);

  /// Ids of all run folders, readable or not.
  std::vector<std::string> folders() const;

 private:
  RunCatalogue(fs::path data, const Clock& clock) : data_(std::move(data)), clock_(clock) {}
  /// Everything in the journals; needs no readable run.json.
  Result<void> read(const RunFolder& folder, JournalVisitor& visitor) const;
  bool is_abandoned(const RunFolder& folder, const Run& run) const;
  Run close_if_abandoned(const RunFolder& folder, Run run);
  void warn_once(const Result<void>& result);
  /// The runs to look at now, each call those behind the ones before, round and round.
  std::vector<std::string> next_going_on();

  const fs::path data_;
  const Clock& clock_;
  std::unique_ptr<Index> index_;
  std::mutex mutex_;
  std::string looked_until_;  ///< guarded by `mutex_`
  std::atomic<bool> warned_ = false;
};

}  // namespace assay
