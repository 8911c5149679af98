#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "base/byte_stream.h"
#include "model/run.h"
#include "model/study.h"
#include "store/journal_state.h"
#include "store/lease.h"
#include "store/run_answers.h"
#include "store/run_curves.h"
#include "store/run_query.h"
#include "store/run_store.h"
#include "store/study_list.h"

namespace assay {

/// A store for tests that somebody reaches over a network: it can be away, its answers can be lost, and the records of
/// single runs can be damaged. Any thread.
class TroubledStore final : public RunStore {
 public:
  /// `inner` must outlive it.
  explicit TroubledStore(RunStore& inner) : inner_(inner) {}

  /// Nothing reaches it from now on; absent: everything does.
  void go_away(std::optional<ErrorKind> kind) {
    const std::lock_guard lock(mutex_);
    away_ = kind;
  }
  /// The next calls of an operation ("append_frames") are carried out, and answered with an error.
  void lose_answers(const std::string& operation, int count) {
    const std::lock_guard lock(mutex_);
    lost_[operation] = count;
  }
  /// The record of the run cannot be read or changed from now on; absent: all can.
  void damage(std::optional<std::string> run) {
    const std::lock_guard lock(mutex_);
    damaged_ = std::move(run);
  }
  /// All calls of an operation are answered with this, and not carried out.
  void refuse(const std::string& operation, Error error) {
    const std::lock_guard lock(mutex_);
    refused_.insert_or_assign(operation, std::move(error));
  }
  /// Told before each call that reaches it.
  void on_call(std::function<void(std::string_view operation)> tell) {
    const std::lock_guard lock(mutex_);
    tell_ = std::move(tell);
  }
  int calls(const std::string& operation) {
    const std::lock_guard lock(mutex_);
    return calls_[operation];
  }

  Result<void> add_run(Run& run) override {
    return call("add_run", [&] { return inner_.add_run(run); });
  }
  Result<Lease> create_run(Run& run, const LeaseTerms& terms) override {
    return call("create_run", [&] { return inner_.create_run(run, terms); });
  }
  Result<Lease> take_run(std::string_view id, const LeaseTerms& terms) override {
    return call("take_run", [&]() -> Result<Lease> {
      ASSAY_CHECK(look_at(id));
      return inner_.take_run(id, terms);
    });
  }
  Result<Lease> renew_lease(const Lease& lease, Nanos length) override {
    return call("renew_lease", [&] { return inner_.renew_lease(lease, length); });
  }
  void give_up(const Lease& lease) override { inner_.give_up(lease); }
  Result<std::optional<Lease>> find_lease(std::string_view id) override {
    return call("find_lease", [&] { return inner_.find_lease(id); });
  }
  Result<Run> change_owned(const Lease& lease, const std::function<Result<void>(Run&)>& change) override {
    return call("change_owned", [&] { return inner_.change_owned(lease, change); });
  }
  Result<Lease> join_run(std::string_view id, std::string_view name) override {
    return call("join_run", [&] { return inner_.join_run(id, name); });
  }
  Result<std::uint64_t> append_frames(const Lease& lease, std::uint64_t offset, std::string_view frames) override {
    return call("append_frames", [&] { return inner_.append_frames(lease, offset, frames); });
  }
  Result<std::vector<JournalState>> journals(std::string_view id) override {
    return call("journals", [&] { return inner_.journals(id); });
  }
  Result<std::string> read_frames(std::string_view id, std::string_view journal, std::uint64_t offset,
                                  std::size_t length) override {
    return call("read_frames", [&] { return inner_.read_frames(id, journal, offset, length); });
  }
  Result<std::vector<RunCurve>> read_curves(std::string_view id, const CurveQuestion& question) override {
    return call("read_curves", [&] { return inner_.read_curves(id, question); });
  }
  Result<Run> find_run(std::string_view id) override {
    return call("find_run", [&]() -> Result<Run> {
      ASSAY_CHECK(look_at(id));
      return inner_.find_run(id);
    });
  }
  Result<RunPage> list_runs(const RunQuery& query) override {
    return call("list_runs", [&] { return inner_.list_runs(query); });
  }
  Result<Run> change_run(std::string_view id, const std::function<Result<void>(Run&)>& change) override {
    return call("change_run", [&]() -> Result<Run> {
      ASSAY_CHECK(look_at(id));
      return inner_.change_run(id, change);
    });
  }
  Result<void> remove_run(std::string_view id) override {
    return call("remove_run", [&] { return inner_.remove_run(id); });
  }
  Result<std::vector<RunChange>> changes(std::uint64_t since, std::size_t limit) override {
    return call("changes", [&] { return inner_.changes(since, limit); });
  }
  Result<std::uint64_t> newest_change() override {
    return call("newest_change", [&] { return inner_.newest_change(); });
  }
  Result<void> attach(std::string_view run, std::string_view name, ByteSource& content) override {
    return call("attach", [&] { return inner_.attach(run, name, content); });
  }
  Result<std::vector<Artifact>> artifacts(std::string_view run) override {
    return call("artifacts", [&] { return inner_.artifacts(run); });
  }
  Result<std::unique_ptr<ByteSource>> open_artifact(std::string_view run, std::string_view name) override {
    return call("open_artifact", [&] { return inner_.open_artifact(run, name); });
  }
  Result<void> create_study(Study& study) override {
    return call("create_study", [&] { return inner_.create_study(study); });
  }
  Result<Study> find_study(std::string_view id) override {
    return call("find_study", [&] { return inner_.find_study(id); });
  }
  Result<StudyPage> list_studies(const StudyQuery& query) override {
    return call("list_studies", [&] { return inner_.list_studies(query); });
  }
  Result<void> note_planned_run(std::string_view study, std::size_t entry, std::string_view run) override {
    return call("note_planned_run", [&] { return inner_.note_planned_run(study, entry, run); });
  }
  Result<void> remove_study(std::string_view id) override {
    return call("remove_study", [&] { return inner_.remove_study(id); });
  }
  Result<ReindexReport> reindex() override {
    return call("reindex", [&] { return inner_.reindex(); });
  }

 private:
  Result<void> look_at(std::string_view run) {
    const std::lock_guard lock(mutex_);
    if (damaged_ != run) return {};
    return Error{.kind = ErrorKind::bad_file, .message = "its record is damaged"};
  }
  template <typename F>
  auto call(const std::string& operation, F f) -> decltype(f()) {
    std::function<void(std::string_view)> tell;
    {
      const std::lock_guard lock(mutex_);
      ++calls_[operation];
      if (away_) return Error{.kind = *away_, .message = "it is away"};
      if (const auto refused = refused_.find(operation); refused != refused_.end()) return refused->second;
      tell = tell_;
    }
    if (tell) tell(operation);
    auto result = f();
    const std::lock_guard lock(mutex_);
    if (lost_[operation] == 0) return result;
    --lost_[operation];
    return Error{.kind = ErrorKind::timeout, .message = "its answer was lost"};
  }

  RunStore& inner_;
  std::mutex mutex_;
  std::optional<ErrorKind> away_;
  std::optional<std::string> damaged_;
  std::map<std::string, Error> refused_;
  std::map<std::string, int> lost_;
  std::map<std::string, int> calls_;
  std::function<void(std::string_view)> tell_;
};

}  // namespace assay
