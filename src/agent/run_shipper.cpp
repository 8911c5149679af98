#include "agent/run_shipper.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/byte_stream.h"
#include "base/crash_point.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/log.h"
#include "model/run.h"
#include "store/journal/journal_owner.h"
#include "store/journal_state.h"
#include "store/lease.h"
#include "store/run_answers.h"

namespace assay {
namespace {

/// What was found out by doing the run. The rest (name, tags, study, place …) is as the leader has it.
void take_results(const Run& from, Run& into) {
  into.verdict = from.verdict;
  into.flags = from.flags;
  into.error = from.error;
  into.started = from.started;
  into.ended = from.ended;
  into.duration = from.duration;
  into.exit_code = from.exit_code;
  into.signal = from.signal;
  into.provenance = from.provenance;
  into.metrics = from.metrics;
  into.series = from.series;
}

}  // namespace

/// An upload may take longer than a lease is good for.
class RunShipper::RenewingSource final : public ByteSource {
 public:
  RenewingSource(RunShipper& shipper, ByteSource& source) : shipper_(shipper), source_(source) {}
  Result<std::optional<std::string>> next() override {
    // One that cannot be renewed is noticed by what follows the upload.
    (void)shipper_.hold().ok();
    auto piece = source_.next();
    if (!piece) return of_this_node(std::move(piece).error());
    return piece;
  }
  std::optional<std::uint64_t> length() const override { return source_.length(); }

 private:
  RunShipper& shipper_;
  ByteSource& source_;
};

RunShipper::RunShipper(RunStore& local, RunStore& leader, ShipperOptions options)
    : local_(local),
      leader_(leader),
      options_(std::move(options)),
      lease_(options_.lease),
      lease_length_(options_.lease_length),
      pauses_(options_.first_pause, options_.longest_pause, stable_hash(new_id())) {}

Shipment RunShipper::ship(const std::stop_token& stop) {
  for (;;) {
    auto done = go_on();
    if (done) {
      if (*done) return {.end = Shipment::End::complete, .error = {}};
      if (is_left()) return {.end = Shipment::End::kept, .error = {}};
      refused_before_ = false;
      pauses_.reset();
      rest(stop, options_.look, options_.look);
      continue;
    }
    const bool ask_at_once = is_refusal(done.error().kind) && !refused_before_;
    if (auto end = handle(std::move(done).error())) return std::move(*end);
    if (ask_at_once) continue;
    if (stop.stop_requested()) return {.end = Shipment::End::kept, .error = {}};
    rest(stop, pauses_.next(), options_.look);
  }
}

/// The end, where the error is one.
std::optional<Shipment> RunShipper::handle(Error error) {
  if (not_ours_) {
    const auto known = has_ended_so();
    if (known && *known) return Shipment{.end = Shipment::End::complete, .error = {}};
    if (known || is_refusal(known.error().kind)) return Shipment{.end = Shipment::End::refused, .error = not_ours_};
    not_ours_.reset();
    error = known.error();
  }
  if (!is_refusal(error.kind)) {
    log_info("run '{}' waits for the leader: {}", options_.run, error.text());
    return std::nullopt;
  }
  // The lease ran out or somebody else has the run; whether it is still ours is for the leader to say. What it refuses
  // from its rightful owner it will refuse for ever.
  if (refused_before_ && error.kind != ErrorKind::denied) {
    return Shipment{.end = Shipment::End::refused, .error = std::move(error)};
  }
  log_info("run '{}' is asked for again: {}", options_.run, error.text());
  refused_before_ = true;
  lease_.reset();
  return std::nullopt;
}

/// Ships what is there. True when that was the last of it.
Result<bool> RunShipper::go_on() {
  std::optional<Run> run;
  // What could not be started has a record here for a moment, and then none.
  if (!ending_ || (recorded_ && never_began())) {
    // Looked at before the frames: those of a run that had ended are all there.
    ASSAY_TRY(run, look_here());
    if (run && run->state == RunState::ended) {
      ending_ = run;
      ended_at_ = clock_.now();
    }
  }
  ASSAY_CHECK(hold());
  if (!ending_ && !run) return false;
  if (!ending_) ASSAY_CHECK(say_running(*run));
  if (recorded_) ASSAY_CHECK(ship_frames());
  if (!ending_) return false;
  // Once the leader knows the end it takes no more frames.
  if (recorded_ && ranks_write_ && clock_.now() < *ended_at_ + options_.ranks_patience) return false;
  if (recorded_) ASSAY_CHECK(ship_artifacts());
  crash_point("artifacts-told");
  ASSAY_CHECK(finish(*ending_));
  crash_point("end-told");
  return true;
}

/// The run as it is recorded here; nothing while there is none.
Result<std::optional<Run>> RunShipper::look_here() {
  auto unbegun = never_began();
  recorded_ = !unbegun;
  if (unbegun) return unbegun;
  auto run = local_.find_run(options_.run);
  if (run) return std::optional(std::move(*run));
  if (run.error().kind == ErrorKind::not_found) return std::optional<Run>();
  return of_this_node(std::move(run).error());
}

/// Makes sure that the run is ours, for a while to come.
Result<void> RunShipper::hold() {
  // How it ended is told in any case.
  const bool ask = is_unlisted_now() && !ending_;
  if (!lease_ || ask) ASSAY_CHECK(take());
  if (clock_.now() < renew_at_) return {};
  ASSAY_TRY(lease_, leader_.renew_lease(*lease_, lease_length_));
  renew_at_ = clock_.now() + lease_length_ / 2;
  return {};
}

Result<void> RunShipper::take() {
  auto taken = options_.take();
  if (taken) {
    lease_ = std::move(*taken);
    sizes_.clear();
    // The leader's clock may be another one than ours, and who knows how long its lease is good for.
    renew_at_ = clock_.now();
    return {};
  }
  Error error = std::move(taken).error();
  if (is_refusal(error.kind) || (error.kind == ErrorKind::busy && !is_listed())) not_ours_ = error;
  return error;
}

/// One that waits for its turn elsewhere has not started: its time limit does not count yet.
Result<void> RunShipper::say_running(const Run& run) {
  if (said_running_ || run.state != RunState::running || run.started == WallTime{}) return {};
  ASSAY_CHECK(leader_.change_owned(*lease_, [&](Run& found) -> Result<void> {
    found.state = std::max(found.state, RunState::running);
    found.started = run.started;
    found.provenance = run.provenance;
    return {};
  }));
  said_running_ = true;
  crash_point("running-told");
  return {};
}

Result<void> RunShipper::ship_frames() {
  auto journals = local_.journals(options_.run);
  if (!journals) return of_this_node(std::move(journals).error());
  ranks_write_ = false;
  for (const auto& journal : *journals) {
    if (journal.name != kOwnersJournal && journal.owner == JournalOwner::live) ranks_write_ = true;
    ASSAY_CHECK(ship_journal(journal.name));
  }
  return {};
}

Result<void> RunShipper::ship_journal(const std::string& name) {
  const auto append = [&](std::uint64_t offset, std::string_view frames) {
    Lease lease = *lease_;
    lease.journal = name;
    return leader_.append_frames(lease, offset, frames);
  };
  for (;;) {
    if (!sizes_.contains(name)) {
      // Nothing at the beginning: the leader says how much it has.
      ASSAY_TRY(sizes_[name], append(0, {}));
    }
    ASSAY_TRY(const auto frames, next_frames(name, sizes_[name]));
    if (frames.empty()) return {};
    ASSAY_CHECK(hold());
    if (!sizes_.contains(name)) continue;  // it has just been taken anew
    ASSAY_TRY(const auto size, append(sizes_[name], frames));
    crash_point("frames-told");
    if (size == std::exchange(sizes_[name], size)) {
      return Error{.kind = ErrorKind::io, .message = fmt::format("the leader took nothing at offset {}", size)};
    }
  }
}

/// Whole frames of our journal from there on; nothing where it ends.
Result<std::string> RunShipper::next_frames(const std::string& journal, std::uint64_t offset) {
  ASSAY_TRY(auto piece, next_piece(local_, options_.run, journal, offset, options_.piece));
  if (piece.damaged && ending_ && !std::exchange(damage_said_, true)) {
    log_warning("run '{}': '{}' is damaged at offset {}; the leader gets what is before that", options_.run, journal,
                offset);
  }
  return std::move(piece.frames);
}

Result<void> RunShipper::ship_artifacts() {
  auto ours = local_.artifacts(options_.run);
  if (!ours) return of_this_node(std::move(ours).error());
  if (ours->empty()) return {};
  ASSAY_TRY(const auto theirs, leader_.artifacts(options_.run));
  for (const auto& artifact : *ours) {
    const auto same = [&](const Artifact& other) {
      return other.name == artifact.name && other.bytes == artifact.bytes;
    };
    if (std::any_of(theirs.begin(), theirs.end(), same)) continue;
    auto content = local_.open_artifact(options_.run, artifact.name);
    if (!content) return of_this_node(std::move(content).error());
    RenewingSource source(*this, **content);
    auto attached = leader_.attach(options_.run, artifact.name, source);
    if (attached) continue;
    if (attached.error().kind != ErrorKind::usage) return std::move(attached).error();
    note_lost(artifact.name, attached.error());
  }
  return {};
}

/// Before the leader hears how it ended.
void RunShipper::note_lost(const std::string& artifact, const Error& why) {
  Flag flag{"artifact_lost", artifact, fmt::format("The leader did not keep '{}': {}", artifact, why.message)};
  if (std::find(ending_->flags.begin(), ending_->flags.end(), flag) != ending_->flags.end()) return;
  log_warning("run '{}': {}", options_.run, flag.message);
  ending_->flags.push_back(std::move(flag));
  if (ending_->verdict == Verdict::valid) ending_->verdict = Verdict::flagged;
}

Result<void> RunShipper::finish(const Run& run) {
  ASSAY_CHECK(leader_.change_owned(*lease_, [&](Run& found) -> Result<void> {
    take_results(run, found);
    found.state = RunState::ended;
    return {};
  }));
  return {};
}

/// Whether the leader has heard how the run ended, and only its answer was lost.
Result<bool> RunShipper::has_ended_so() {
  if (!ending_) return false;
  ASSAY_TRY(const auto theirs, leader_.find_run(options_.run));
  return theirs.state == RunState::ended && theirs.verdict == ending_->verdict &&
         iso8601(theirs.ended) == iso8601(ending_->ended);
}

}  // namespace assay
