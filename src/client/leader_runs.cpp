#include "client/leader_runs.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "api/run_json.h"
#include "base/hash.h"
#include "model/run.h"
#include "model/study.h"
#include "store/run_curves.h"
#include "store/run_query.h"

namespace assay {
namespace {

/// A process that records says something every second; one that is silent for so long is gone.
constexpr Nanos kProcessLease = std::chrono::minutes(2);
constexpr int kMostAttempts = 50;

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
    ASSAY_TRY(const auto answer, leader_.send_json("POST", runs_path(id, "/lease"), to_json(timed(terms))));
    return lease_from(answer, !terms.length);
  }
  Result<Lease> renew_lease(const Lease& lease, Nanos length) override {
    json::object body{{"lease", to_json(lease)}, {"length_ns", length.count()}};
    ASSAY_TRY(const auto answer, leader_.send_json("POST", runs_path(lease.run, "/lease/renew"), body));
    return lease_from(answer, false);
  }
  void give_up(const Lease& lease) override {
    json::object body{{"lease", to_json(lease)}, {"close", let_go(lease)}};
    // What is not given up runs out.
    (void)leader_.send_json("POST", runs_path(lease.run, "/lease/release"), body).ok();
  }
  Result<std::optional<Lease>> find_lease(std::string_view id) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_TRY(const auto answer, leader_.get(runs_path(id, "/lease")));
    const auto* lease = answer.is_object() ? answer.get_object().if_contains("lease") : nullptr;
    if (!lease || lease->is_null()) return std::optional<Lease>();
    ASSAY_TRY(auto found, lease_from_json(*lease));
    return std::optional(std::move(found));
  }
  Result<Run> change_owned(const Lease& lease, const std::function<Result<void>(Run&)>& change) override {
    ASSAY_TRY(auto run, change_until_taken(lease.run, change, "/owned", {{"lease", to_json(lease)}}));
    if (run.state == RunState::ended) let_go(lease);
    return run;
  }
  Result<Lease> join_run(std::string_view id, std::string_view name) override {
    ASSAY_CHECK(check_usable("name of a rank", name));
    ASSAY_CHECK(check_named("run", id));
    ASSAY_TRY(const auto answer, leader_.send_json("POST", runs_path(id, "/join"), {{"name", name}}));
    return lease_from(answer, false);
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
    ASSAY_TRY(const auto answer, parse_json(response.body));
    JsonFields fields(answer, "answer");
    const auto size = fields.integer("size");
    ASSAY_CHECK(fields.finish());
    return static_cast<std::uint64_t>(size);
  }
  Result<std::vector<JournalState>> journals(std::string_view id) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_TRY(const auto answer, leader_.get(runs_path(id, "/journals")));
    return list_from_json(answer, "journals", journal_state_from_json);
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
    ASSAY_TRY(const auto answer, leader_.send_json("POST", runs_path(id, "/curves"), to_json(question)));
    return list_from_json(answer, "curves", run_curve_from_json);
  }

  Result<Run> find_run(std::string_view id) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_TRY(const auto answer, leader_.get(runs_path(id)));
    return run_from_json(answer);
  }
  Result<RunPage> list_runs(const RunQuery& query) override {
    ASSAY_TRY(const auto answer, leader_.send_json("POST", "/api/v1/runs/search", to_json(query)));
    return run_page_from_json(answer);
  }
  Result<Run> change_run(std::string_view id, const std::function<Result<void>(Run&)>& change) override {
    ASSAY_CHECK(check_named("run", id));
    return change_until_taken(id, change, "", {});
  }
  Result<void> remove_run(std::string_view id) override {
    ASSAY_CHECK(check_named("run", id));
    ASSAY_CHECK(leader_.send({.method = "DELETE", .target = runs_path(id)}));
    return {};
  }
  Result<std::vector<RunChange>> changes(std::uint64_t since, std::size_t limit) override {
    ASSAY_TRY(const auto answer, leader_.get(fmt::format("/api/v1/runs/changes?since={}&limit={}", since, limit)));
    return list_from_json(answer, "changes", run_change_from_json);
  }
  Result<std::uint64_t> newest_change() override {
    ASSAY_TRY(const auto answer, leader_.get("/api/v1/runs/changes?limit=1"));
    JsonFields fields(answer, "answer");
    const auto newest = fields.integer("newest");
    ASSAY_CHECK(fields.finish());
    return static_cast<std::uint64_t>(newest);
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
    ASSAY_TRY(const auto answer, leader_.get(runs_path(run, "/artifacts")));
    return list_from_json(answer, "artifacts", artifact_from_json);
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
    ASSAY_TRY(const auto answer, leader_.send_json("POST", "/api/v1/studies", to_json(study)));
    ASSAY_TRY(study, study_from_json(answer));
    return {};
  }
  Result<Study> find_study(std::string_view id) override {
    ASSAY_CHECK(check_named("study", id));
    ASSAY_TRY(const auto answer, leader_.get(study_path(id)));
    return study_from_json(answer);
  }
  Result<std::vector<Study>> list_studies() override {
    ASSAY_TRY(const auto answer, leader_.get("/api/v1/studies"));
    return list_from_json(answer, "studies", study_from_json);
  }
  Result<void> note_planned_run(std::string_view study, std::size_t entry, std::string_view run) override {
    ASSAY_CHECK(check_named("study", study));
    ASSAY_CHECK(leader_.send_json("POST", study_path(study, fmt::format("/plan/{}", entry)), {{"run", run}}));
    return {};
  }
  Result<void> remove_study(std::string_view id) override {
    ASSAY_CHECK(check_named("study", id));
    ASSAY_CHECK(leader_.send({.method = "DELETE", .target = study_path(id)}));
    return {};
  }

  Result<ReindexReport> reindex() override {
    ASSAY_TRY(const auto answer, leader_.send_json("POST", "/api/v1/runs/reindex", {}));
    return reindex_report_from_json(answer);
  }

 private:
  static LeaseTerms timed(const LeaseTerms& terms) {
    return {.owner = terms.owner, .length = terms.length.value_or(kProcessLease)};
  }

  /// A new run; with `terms`, its lease.
  Result<std::optional<Lease>> record(Run& run, const LeaseTerms* terms) {
    if (!run.id.empty()) ASSAY_CHECK(check_usable("id of a run", run.id));
    // The leader gives it an id; a run on its way needs some state and id to be one.
    json::object body{{"run", to_json(run)}};
    if (terms) body["terms"] = to_json(timed(*terms));
    ASSAY_TRY(const auto answer, leader_.send_json("POST", "/api/v1/runs/recorded", body));
    const auto* stored = answer.is_object() ? answer.get_object().if_contains("run") : nullptr;
    const auto* lease = answer.is_object() ? answer.get_object().if_contains("lease") : nullptr;
    if (!stored || (terms && !lease)) return Error{.kind = ErrorKind::io, .message = "the answer has no run"};
    ASSAY_TRY(run, run_from_json(*stored));
    if (!terms) return std::optional<Lease>();
    ASSAY_TRY(auto mine, lease_from(*lease, !terms->length));
    return std::optional(std::move(mine));
  }

  Result<Lease> lease_from(const json::value& value, bool for_this_process) {
    ASSAY_TRY(auto lease, lease_from_json(value));
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
                                 std::string_view below, json::object body) {
    for (int attempt = 0;; ++attempt) {
      ASSAY_TRY(auto run, find_run(id));
      body["before"] = content_hash(json::serialize(to_json(run)));
      ASSAY_CHECK(change(run));
      run.id = id;
      body["run"] = to_json(run);
      auto answer = leader_.send_json("PUT", runs_path(id, below), body);
      if (answer) return run_from_json(*answer);
      if (answer.error().kind != ErrorKind::busy || attempt >= kMostAttempts) return std::move(answer).error();
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
