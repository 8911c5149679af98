#include "client/leader_runs.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

#include "api/run_types.h"
#include "base/hash.h"
#include "client/ask.h"
#include "model/run.h"
#include "model/study.h"
#include "net/client_messages.h"
#include "net/url_text.h"
#include "store/run_curves.h"
#include "store/run_query.h"
#include "store/study_list.h"

namespace assay {
namespace {

/// A process that records says something every second; one that is silent for so long is gone.
constexpr Nanos kProcessLease = std::chrono::minutes(2);
constexpr int kMostAttempts = 50;
constexpr std::int64_t kStudiesOfAPage = 1000;

std::string runs_path(std::string_view id, std::string_view below = {}) {
  return fmt::format("/api/v1/runs/{}{}", percent_encode(id), below);
}

std::string study_path(std::string_view id, std::string_view below = {}) {
  return fmt::format("/api/v1/studies/{}{}", percent_encode(id), below);
}

/// Names that no path can carry ("", ".", "..") are nobody's.
Result<void> check_named(std::string_view what, std::string_view id) {
  if (is_file_name(id)) return {};
  return Error{.kind = ErrorKind::not_found, .message = fmt::format("there is no {} '{}'", what, id)};
}
Result<void> check_usable(std::string_view what, std::string_view name) {
  if (is_file_name(name)) return {};
  return Error{.kind = ErrorKind::usage, .message = fmt::format("this {} cannot be used", what)};
}

/// The content of an upload, which somebody else owns.
class BorrowedSource final : public ByteSource {
 public:
  explicit BorrowedSource(ByteSource& source) : source_(source) {}
  Result<std::optional<std::string>> next() override { return source_.next(); }
  std::optional<std::uint64_t> length() const override { return source_.length(); }

 private:
  ByteSource& source_;
};

class LeaderRuns final : public RunStore {
 public:
  explicit LeaderRuns(std::shared_ptr<Connection> connection)
      : connection_(std::move(connection)), leader_(*connection_) {}

  Result<void> add_run(Run& run) override {
    ASSAY_CHECK(record(run, nullptr));
    return {};
  }
  Result<Lease> create_run(Run& run, const LeaseTerms& terms) override {
    ASSAY_TRY(auto lease, record(run, &terms));
    return std::move(*lease);
  }
  Result<Lease> take_run(std::string_view id, const LeaseTerms& terms) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_TRY(auto lease, tell<Lease>(leader_, "POST", runs_path(id, "/lease"), timed(terms)));
    return held(std::move(lease), !terms.length);
  }
  Result<Lease> renew_lease(const Lease& lease, Nanos length) override {
    const LeaseRenewal wanted{.lease = lease, .length = length};
    return tell<Lease>(leader_, "POST", runs_path(lease.run, "/lease/renew"), wanted);
  }
  void give_up(const Lease& lease) override {
    const LeaseRelease wanted{.lease = lease, .close = let_go(lease)};
    // What is not given up runs out.
    (void)tell<Done>(leader_, "POST", runs_path(lease.run, "/lease/release"), wanted).ok();
  }
  Result<std::optional<Lease>> find_lease(std::string_view id) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_TRY(auto found, ask<LeaseState>(leader_, runs_path(id, "/lease")));
    return std::move(found.lease);
  }
  Result<Run> change_owned(const Lease& lease, const std::function<Result<void>(Run&)>& change) override {
    ASSAY_TRY(auto run, change_until_taken(lease.run, change, [&](Run next, std::string before) {
                const OwnedRunRewrite wanted{.lease = lease, .run = std::move(next), .before = std::move(before)};
                return tell<Run>(leader_, "PUT", runs_path(lease.run, "/owned"), wanted);
              }));
    if (run.state == RunState::ended) let_go(lease);
    return run;
  }
  Result<Lease> join_run(std::string_view id, std::string_view name) override {
    ASSAY_CHECK(check_usable("name of a rank", name));
    ASSAY_CHECK(check_named("run", id));
    return tell<Lease>(leader_, "POST", runs_path(id, "/join"), JoiningRank{.name = std::string(name)});
  }

  Result<std::uint64_t> append_frames(const Lease& lease, std::uint64_t offset, std::string_view frames) override {
    ClientRequest request{
        .method = "POST",
        .target = fmt::format("{}?journal={}&owner={}&epoch={}&offset={}", runs_path(lease.run, "/frames"),
                              percent_encode(lease.journal), percent_encode(lease.owner), lease.epoch, offset),
        .body = std::string(frames)};
    if (is_held(lease)) request.target += fmt::format("&renew_ns={}", kProcessLease.count());
    request.headers.add("Content-Type", "application/octet-stream");
    ASSAY_TRY(const auto response, leader_.send(std::move(request)));
    ASSAY_TRY(const auto journal, answer_in<JournalSize>(response.body));
    return journal.size;
  }
  Result<std::vector<JournalState>> journals(std::string_view id) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_TRY(auto answer, ask<RunJournals>(leader_, runs_path(id, "/journals")));
    return std::move(answer.journals);
  }
  Result<std::string> read_frames(std::string_view id, std::string_view journal, std::uint64_t offset,
                                  std::size_t length) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_CHECK(check_named("journal", journal));
    ASSAY_TRY(auto response,
              leader_.send({.target = fmt::format("{}/{}?offset={}&length={}", runs_path(id, "/journals"),
                                                  percent_encode(journal), offset, length)}));
    return std::move(response.body);
  }
  Result<std::vector<RunCurve>> read_curves(std::string_view id, const CurveQuestion& question) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_TRY(auto answer, tell<RunCurves>(leader_, "POST", runs_path(id, "/curves"), question));
    return std::move(answer.curves);
  }

  Result<Run> find_run(std::string_view id) override {
    ASSAY_CHECK(check_named("run", id));
    return ask<Run>(leader_, runs_path(id));
  }
  Result<RunPage> list_runs(const RunQuery& query) override {
    RunPage all;
    auto rest = query;
    do {
      ASSAY_TRY(auto page, tell<RunPage>(leader_, "POST", "/api/v1/runs/search", rest));
      std::move(page.rows.begin(), page.rows.end(), std::back_inserter(all.rows));
      if (page.total) all.total = page.total;
      all.next = rest.after = std::move(page.next);
      if (query.limit >= 0) rest.limit = query.limit - std::ssize(all.rows);
    } while (!all.next.empty() && rest.limit != 0);
    return all;
  }
  Result<Run> change_run(std::string_view id, const std::function<Result<void>(Run&)>& change) override {
    ASSAY_CHECK(check_named("run", id));
    return change_until_taken(id, change, [&](Run next, std::string before) {
      const RunRewrite wanted{.run = std::move(next), .before = std::move(before)};
      return tell<Run>(leader_, "PUT", runs_path(id), wanted);
    });
  }
  Result<void> remove_run(std::string_view id) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_CHECK(tell<Removed>(leader_, "DELETE", runs_path(id)));
    return {};
  }
  Result<std::vector<RunChange>> changes(std::uint64_t since, std::size_t limit) override {
    ASSAY_TRY(auto answer,
              ask<RunChanges>(leader_, fmt::format("/api/v1/runs/changes?since={}&limit={}", since, limit)));
    return std::move(answer.changes);
  }
  Result<std::uint64_t> newest_change() override {
    ASSAY_TRY(const auto answer, ask<RunChanges>(leader_, "/api/v1/runs/changes?limit=1"));
    return answer.newest;
  }

  Result<void> attach(std::string_view run, std::string_view name, ByteSource& content) override {
    ASSAY_CHECK(check_usable("name of an artifact", name));
    ASSAY_CHECK(check_named("run", run));
    ClientRequest request{.method = "PUT", .target = runs_path(run, "/artifacts/") + percent_encode(name)};
    request.headers.add("Content-Type", "application/octet-stream");
    request.body_source = std::make_shared<BorrowedSource>(content);
    ASSAY_CHECK(leader_.send(std::move(request)));
    return {};
  }
  Result<std::vector<Artifact>> artifacts(std::string_view run) override {
    ASSAY_CHECK(check_named("run", run));
    ASSAY_TRY(auto answer, ask<RunArtifacts>(leader_, runs_path(run, "/artifacts")));
    return std::move(answer.artifacts);
  }
  Result<std::unique_ptr<ByteSource>> open_artifact(std::string_view run, std::string_view name) override {
    ASSAY_CHECK(check_named("run", run));
    ASSAY_CHECK(check_named("artifact", name));
    // Kept in a file meanwhile: whoever reads it may take its time, and it may be larger than the memory.
    const TemporaryFolder folder;
    const auto path = folder.path() / "artifact";
    {
      ASSAY_TRY(const auto file, open_file(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
      ASSAY_CHECK(leader_.receive({.target = runs_path(run, "/artifacts/") + percent_encode(name)},
                                  [&](std::string_view piece) { return write_all(file.get(), piece); }));
    }
    return file_source(path);
  }

  Result<void> create_study(Study& study) override {
    if (!study.id.empty()) ASSAY_CHECK(check_usable("id of a study", study.id));
    ASSAY_TRY(study, tell<Study>(leader_, "POST", "/api/v1/studies", study));
    return {};
  }
  Result<Study> find_study(std::string_view id) override {
    ASSAY_CHECK(check_named("study", id));
    return ask<Study>(leader_, study_path(id));
  }
  Result<StudyPage> list_studies(const StudyQuery& query) override {
    StudyPage all{.rows = {}, .next = query.after};
    auto left = query.limit < 0 ? INT64_MAX : query.limit;
    do {
      const auto target = fmt::format("/api/v1/studies?limit={}&after={}",
                                      std::min<std::int64_t>(left, kStudiesOfAPage), percent_encode(all.next));
      ASSAY_TRY(auto page, ask<StudyPage>(leader_, target));
      left -= std::ssize(page.rows);
      std::move(page.rows.begin(), page.rows.end(), std::back_inserter(all.rows));
      all.next = std::move(page.next);
    } while (!all.next.empty() && left > 0);
    return all;
  }
  Result<void> note_planned_run(std::string_view study, std::size_t entry, std::string_view run) override {
    ASSAY_CHECK(check_named("study", study));
    ASSAY_CHECK(tell<NamedRun>(leader_, "POST", study_path(study, fmt::format("/plan/{}", entry)),
                               NamedRun{.run = std::string(run)}));
    return {};
  }
  Result<void> remove_study(std::string_view id) override {
    ASSAY_CHECK(check_named("study", id));
    ASSAY_CHECK(tell<Removed>(leader_, "DELETE", study_path(id)));
    return {};
  }

  Result<ReindexReport> reindex() override { return tell<ReindexReport>(leader_, "POST", "/api/v1/runs/reindex"); }

 private:
  static LeaseTerms timed(const LeaseTerms& terms) {
    return {.owner = terms.owner, .length = terms.length.value_or(kProcessLease)};
  }

  /// A new run; with `terms`, its lease.
  Result<std::optional<Lease>> record(Run& run, const LeaseTerms* terms) {
    if (!run.id.empty()) ASSAY_CHECK(check_usable("id of a run", run.id));
    // The leader gives it an id; a run on its way needs some state and id to be one.
    NewRun wanted{.run = run, .terms = {}};
    if (terms) wanted.terms = timed(*terms);
    ASSAY_TRY(auto answer, tell<KeptRun>(leader_, "POST", "/api/v1/runs/recorded", wanted));
    if (terms && !answer.lease) return Error{.kind = ErrorKind::io, .message = "the answer has no lease"};
    run = std::move(answer.run);
    if (!terms) return std::optional<Lease>();
    return std::optional(held(std::move(*answer.lease), !terms->length));
  }

  Lease held(Lease lease, bool for_this_process) {
    if (for_this_process) {
      const std::lock_guard lock(mutex_);
      held_[lease.run] = lease.epoch;
    }
    return lease;
  }
  bool is_held(const Lease& lease) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(lease.run);
    return found != held_.end() && found->second == lease.epoch && lease.journal == kOwnersJournal;
  }
  /// Whether it was held until now.
  bool let_go(const Lease& lease) {
    const bool was = is_held(lease);
    const std::lock_guard lock(mutex_);
    if (was) held_.erase(lease.run);
    return was;
  }

  /// Reads, changes, and asks the leader to take it if nothing else has changed meanwhile; again and again.
  Result<Run> change_until_taken(std::string_view id, const std::function<Result<void>(Run&)>& change,
                                 const std::function<Result<Run>(Run next, std::string before)>& offer) {
    for (int attempt = 0;; ++attempt) {
      ASSAY_TRY(auto run, find_run(id));
      auto before = content_hash(json::serialize(to_json(run)));
      ASSAY_CHECK(change(run));
      run.id = id;
      auto taken = offer(std::move(run), std::move(before));
      if (taken || taken.error().kind != ErrorKind::busy || attempt >= kMostAttempts) return taken;
    }
  }

  const std::shared_ptr<Connection> connection_;
  Connection& leader_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t, std::less<>> held_;  ///< runs and epochs of leases of this process
};

}  // namespace

std::unique_ptr<RunStore> open_leader_runs(std::shared_ptr<Connection> connection) {
  return std::make_unique<LeaderRuns>(std::move(connection));
}

}  // namespace assay
