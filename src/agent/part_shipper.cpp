#include "agent/part_shipper.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "base/byte_stream.h"
#include "base/crash_point.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/supervised_thread.h"
#include "store/lease.h"
#include "store/run_answers.h"

namespace assay {
namespace {

PartReport report_of(const std::optional<Run>& ended) {
  PartReport report{.meeting = {}, .ended = ended.has_value(), .error = {}};
  if (ended && ended->error) {
    report.error = Error{.kind = ended->error->kind, .message = ended->error->message, .hint = ended->error->hint};
  }
  return report;
}

}  // namespace

PartShipper::PartShipper(RunStore& local, RunStore& leader, PartShipperOptions options)
    : local_(local),
      leader_(leader),
      options_(std::move(options)),
      pauses_(options_.first_pause, options_.longest_pause, stable_hash(new_id())) {}

Shipment PartShipper::ship(const std::stop_token& stop) {
  for (;;) {
    auto done = go_on();
    if (done) {
      // What is not told by now the next shipper tells.
      if (is_left() || (told_end_ && stop.stop_requested())) return {.end = Shipment::End::kept, .error = {}};
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
std::optional<Shipment> PartShipper::handle(Error error) {
  if (not_ours_) {
    if (told_end_) return Shipment{.end = Shipment::End::complete, .error = {}};
    return Shipment{.end = Shipment::End::refused, .error = not_ours_};
  }
  if (!is_refusal(error.kind)) {
    log_info("its part of run '{}' waits for the leader: {}", options_.run, error.text());
    return std::nullopt;
  }
  // The owner has another epoch now, or somebody else has the run. What it refuses from those who take part it will
  // refuse for ever; but an owner that is silent for a while may come back.
  if (refused_before_ && error.kind != ErrorKind::denied) {
    return Shipment{.end = Shipment::End::refused, .error = std::move(error)};
  }
  log_info("its part of run '{}' is asked for again: {}", options_.run, error.text());
  refused_before_ = true;
  epoch_.reset();
  return std::nullopt;
}

Result<void> PartShipper::go_on() {
  // Looked at before the frames: those of a part that had ended are all there.
  auto run = never_began();
  const bool is_recorded = !run;
  if (is_recorded) {
    auto found = local_.find_run(options_.run);
    if (!found && found.error().kind != ErrorKind::not_found) return of_this_node(std::move(found).error());
    if (found) run = std::move(*found);
  }
  if (!epoch_ || is_unlisted_now()) ASSAY_CHECK(take());
  if (run && is_recorded) ASSAY_CHECK(ship_frames());
  const bool has_ended = run && run->state == RunState::ended;
  if (has_ended && is_recorded && !told_end_) ASSAY_CHECK(bring_artifacts(*run));
  return tell(has_ended ? run : std::nullopt);
}

Result<void> PartShipper::take() {
  auto taken = options_.take();
  if (taken) {
    epoch_ = *taken;
    size_.reset();
    return {};
  }
  Error error = std::move(taken).error();
  if (is_refusal(error.kind) || (error.kind == ErrorKind::busy && !is_listed())) not_ours_ = error;
  return error;
}

Result<void> PartShipper::ship_frames() {
  const std::string journal(kOwnersJournal);
  for (;;) {
    if (!size_) {
      // Nothing at the beginning: the leader says how much it has.
      ASSAY_TRY(size_, options_.send(*epoch_, 0, {}));
    }
    ASSAY_TRY(const auto piece, next_piece(local_, options_.run, journal, *size_, options_.piece));
    if (piece.frames.empty()) return {};
    ASSAY_TRY(const auto size, options_.send(*epoch_, *size_, piece.frames));
    crash_point("part-frames-told");
    if (size == std::exchange(*size_, size)) {
      return Error{.kind = ErrorKind::io, .message = fmt::format("the leader took nothing at offset {}", size)};
    }
  }
}

/// The others are not to wait in vain meanwhile, nor to hear of a failure when everything else is there.
Result<void> PartShipper::bring_artifacts(const Run& ended) {
  PartReport report = report_of(ended);
  report.bringing = std::exchange(report.ended, false);
  const auto say = [&](const std::stop_token& stop) {
    do {
      // Whether the part is still ours is seen by what brings the files.
      (void)options_.report(report).ok();
    } while (sleep_for(stop, options_.period));
  };
  std::optional<SupervisedThread> saying;
  try {
    saying.emplace("brings-" + options_.run, say, SupervisedThread::OnFailure{});
  } catch (const std::system_error& problem) {
    return Error{.kind = ErrorKind::io, .message = problem.what()};
  }
  return ship_artifacts();
}

Result<void> PartShipper::ship_artifacts() {
  auto ours = local_.artifacts(options_.run);
  if (!ours) return of_this_node(std::move(ours).error());
  for (const auto& artifact : *ours) {
    auto content = local_.open_artifact(options_.run, artifact.name);
    if (!content) return of_this_node(std::move(content).error());
    const auto name = fmt::format("part-{}-{}", options_.part, artifact.name);
    auto attached = leader_.attach(options_.run, name, **content);
    if (attached) continue;
    if (attached.error().kind != ErrorKind::usage) return std::move(attached).error();
    log_warning("run '{}': the leader does not take '{}': {}", options_.run, name, attached.error().text());
  }
  return {};
}

Result<void> PartShipper::tell(const std::optional<Run>& ended) {
  const bool is_news = ended && !told_end_;
  if (!is_news && clock_.now() < tell_at_) return {};
  ASSAY_CHECK(options_.report(report_of(ended)));
  tell_at_ = clock_.now() + options_.period;
  if (!is_news) return {};
  told_end_ = true;
  crash_point("part-end-told");
  return {};
}

}  // namespace assay
