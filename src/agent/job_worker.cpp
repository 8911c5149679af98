#include "agent/job_worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>

#include "access/secrets.h"
#include "agent/part_shipper.h"
#include "agent/pauses.h"
#include "base/crash_point.h"
#include "base/hash.h"
#include "base/log.h"
#include "launch/part_launcher.h"
#include "launch/rank_variables.h"
#include "runs/follow.h"
#include "runs/judge.h"
#include "runs/study_run.h"
#include "telemetry/metric_source.h"

namespace assay {
namespace {

/// Of the owner of a run over several nodes.
constexpr Nanos kGangLease = std::chrono::seconds(30);

}  // namespace

JobWorker::JobWorker(const JobDesk& desk, JobToDo job, Pipe stop)
    : desk_(desk), run_(std::move(job.run)), part_(job.part), stop_(std::move(stop)), shipper_(make_shipper()) {}

std::unique_ptr<Shipper> JobWorker::make_shipper() {
  auto& store = *desk_.services.store;
  if (part_ == 0) {
    const auto take_lease = [this]() -> Result<Lease> {
      ASSAY_TRY(auto job, take());
      return std::move(job.lease);
    };
    auto made = std::make_unique<RunShipper>(store, desk_.leader,
                                             ShipperOptions{.run = run_,
                                                            .take = take_lease,
                                                            .lease = {},
                                                            .look = desk_.look,
                                                            .lease_length = desk_.lease_length,
                                                            .first_pause = desk_.first_pause,
                                                            .longest_pause = desk_.longest_pause});
    run_shipper_ = made.get();
    return made;
  }
  const auto take_epoch = [this]() -> Result<std::uint64_t> {
    ASSAY_TRY(const auto job, take());
    return job.part.epoch;
  };
  return std::make_unique<PartShipper>(
      store, desk_.leader,
      PartShipperOptions{
          .run = run_,
          .part = part_,
          .take = take_epoch,
          .send = [this](std::uint64_t epoch, std::uint64_t offset,
                         std::string_view frames) { return desk_.send_part(run_, epoch, offset, frames); },
          .report = [this](const PartReport& report) { return desk_.report_part(run_, report); },
          .period = desk_.part_period,
          .look = desk_.look,
          .first_pause = desk_.first_pause,
          .longest_pause = desk_.longest_pause});
}

Result<std::unique_ptr<JobWorker>> JobWorker::start(const JobDesk& desk, JobToDo job, bool stop) {
  ASSAY_TRY(auto pipe, make_pipe());
  std::unique_ptr<JobWorker> worker(new JobWorker(desk, std::move(job), std::move(pipe)));
  if (stop) worker->stop_run();
  try {
    worker->thread_.emplace(
        "ship-" + worker->run_, [self = worker.get()](const std::stop_token& token) { self->work(token); },
        SupervisedThread::OnFailure{});
  } catch (const std::system_error& problem) {
    return Error{.kind = ErrorKind::io, .message = problem.what()};
  }
  return worker;
}

JobWorker::~JobWorker() {
  wind_up();
  thread_.reset();
}

void JobWorker::stop_run() {
  if (stop_asked_.exchange(true)) return;
  const char byte = 't';
  [[maybe_unused]] const ssize_t written = ::write(stop_.write_end.get(), &byte, 1);
}

void JobWorker::leave_run() {
  if (stop_asked_ || left_.exchange(true)) return;
  const char byte = FollowOptions::kLeave;
  [[maybe_unused]] const ssize_t written = ::write(stop_.write_end.get(), &byte, 1);
}

void JobWorker::wind_up() {
  winding_up_ = true;
  desk_.services.place.empty() ? stop_run() : leave_run();
  {
    const std::lock_guard lock(peers_mutex_);
    if (peers_) peers_->give_up();
  }
  if (thread_) thread_->request_stop();
}

void JobWorker::work(const std::stop_token& stop) {
  try {
    look_for_record();
    if (without_owner_) take_up();
    finish(shipper_->ship(stop));
  } catch (const std::exception& problem) {
    log_error("run '{}': {}", run_, problem.what());
    stop_run();
  }
  execution_.reset();
  done_ = true;
  desk_.on_change();
}

/// A run that has a record here may have been started; one without was not.
void JobWorker::look_for_record() {
  const auto record = desk_.services.store->find_run(run_);
  begun_ = record.ok();
  without_owner_ = record.ok() && is_without_owner(*desk_.services.store, *record).value_or(false);
  if (!record && record.error().kind != ErrorKind::not_found) unreadable_ = record.error();
}

Result<TakenJob> JobWorker::take() {
  if (!begun_ && winding_up_) return Error{.kind = ErrorKind::interrupted, .message = "the agent ends"};
  ASSAY_TRY(const auto answer, desk_.take(run_));
  ASSAY_TRY(auto job, taken_job_from_json(answer));
  crash_point("job-taken");
  if (part_ != job.part.number) {
    return Error{.kind = ErrorKind::not_found, .message = fmt::format("this node has another part of '{}'", run_)};
  }
  // The others wait for whoever owns a run over several nodes: that it is gone is to be known soon.
  if (job.part.of > 1 && run_shipper_) run_shipper_->set_lease_length(std::min(desk_.lease_length, kGangLease));
  if (!begun_) begin(job);
  return job;
}

void JobWorker::begin(TakenJob job) {
  begun_ = true;
  log_info("the leader asks for run '{}'", run_);
  if (unreadable_) {
    auto error = std::move(*unreadable_).within("looking at what an earlier agent has recorded of it");
    return end_unbegun(std::move(job.run), Verdict::failed, error);
  }
  if (stop_asked_) {
    return end_unbegun(std::move(job.run), Verdict::interrupted,
                       {.kind = ErrorKind::interrupted, .message = "it was stopped before it began"});
  }
  job.run.id = run_;
  job.planned.node.clear();  // the leader has placed it, under the name that this node has there
  doing_ = true;
  try {
    execution_.emplace(
        "run-" + run_,
        [this, job](const std::stop_token&) {
          execute(job);
          doing_ = false;
          desk_.on_change();
        },
        SupervisedThread::OnFailure{});
  } catch (const std::system_error& problem) {
    doing_ = false;
    end_unbegun(std::move(job.run), Verdict::failed, {.kind = ErrorKind::io, .message = problem.what()});
  }
}

RunServices JobWorker::run_services(RunObserver& observer, Launcher& launcher) const {
  const JobServices& services = desk_.services;
  return {.store = *services.store,
          .launcher = launcher,
          .clock = desk_.clock,
          .observer = observer,
          .make_sources = services.make_sources,
          .stop_fd = stop_.read_end.get(),
          .place = services.place};
}

void JobWorker::take_up() {
  log_info("run '{}' of an earlier agent goes on and is taken up", run_);
  doing_ = true;
  try {
    execution_.emplace(
        "run-" + run_,
        [this](const std::stop_token& stop) {
          resume(stop);
          doing_ = false;
          desk_.on_change();
        },
        SupervisedThread::OnFailure{});
  } catch (const std::system_error& problem) {
    doing_ = false;
    log_warning("run '{}' waits for the next agent: {}", run_, problem.what());
    shipper_->leave();
  }
}

/// Until it has ended here. What cannot be reached now may be reached later.
void JobWorker::resume(const std::stop_token& stop) {
  Pauses pauses(desk_.first_pause, desk_.longest_pause, stable_hash(run_));
  std::mutex mutex;
  std::condition_variable_any stopped;
  while (!stop.stop_requested()) {
    RunObserver nobody;
    const auto run = resume_run(run_, run_services(nobody, *desk_.services.launcher));
    const auto now = desk_.services.store->find_run(run_);
    if (run || (now && now->state == RunState::ended)) return shipper_->look_again();
    if (winding_up_) break;
    log_info("run '{}' cannot be taken up now: {}", run_, run.error().text());
    std::unique_lock lock(mutex);
    stopped.wait_for(lock, stop, pauses.next(), [] { return false; });
  }
  shipper_->leave();
}

void JobWorker::execute(const TakenJob& job) {
  const JobServices& services = desk_.services;
  try {
    RunObserver nobody;
    StudyOptions options{.provenance = services.describe_machine()};
    const auto done = job.part.of > 1
                          ? execute_part(job, std::move(options), nobody)
                          : execute_planned(job.planned, job.run, options, run_services(nobody, *services.launcher));
    if (!done && goes_on_without_us()) return shipper_->leave();
    if (!done) return end_unbegun(job.run, Verdict::failed, done.error());
  } catch (const std::exception& problem) {
    log_error("run '{}': {}", run_, problem.what());
    // What was recorded until then is worth more than the reason.
    if (!services.store->find_run(run_)) {
      return end_unbegun(job.run, Verdict::failed, {.kind = ErrorKind::internal, .message = problem.what()});
    }
  }
  shipper_->look_again();
}

/// Where the processes of a run over several nodes find each other.
Result<MeetingPlace> JobWorker::meet(const PartOfRun& part) {
  if (part.meeting) return *part.meeting;
  const int port = unused_port();
  if (port == 0) return Error{.kind = ErrorKind::io, .message = "no port is free for the nodes of the run to meet at"};
  return MeetingPlace{.address = desk_.services.address, .port = port, .secret = new_secret()};
}

Result<Run> JobWorker::execute_part(const TakenJob& job, StudyOptions options, RunObserver& observer) {
  ASSAY_TRY(const auto meeting, meet(job.part));
  options.secret = meeting.secret;
  const auto launcher = make_part_launcher(*desk_.services.launcher, {.number = job.part.number, .of = job.part.of},
                                           {.address = meeting.address, .port = meeting.port});
  auto services = run_services(observer, *launcher);
  if (part_ > 0) return execute_planned(job.planned, job.run, options, services);
  ASSAY_TRY(const std::shared_ptr<PeerWatch> peers,
            PeerWatch::start({.run = run_,
                              .meeting = meeting,
                              .report = [this](const PartReport& report) { return desk_.report_part(run_, report); },
                              .on_lost = [this] { lose_peer(); },
                              .period = desk_.part_period}));
  {
    const std::lock_guard lock(peers_mutex_);
    peers_ = peers;
  }
  if (winding_up_) peers->give_up();
  services.await_peers = [peers](const Ending& ending) {
    return peers->await_end(ending.by == EndedBy::itself && !ending.lost && ending.job.exit_code == 0);
  };
  return execute_planned(job.planned, job.run, options, services);
}

/// Ends the workload, and not because somebody wants that.
void JobWorker::lose_peer() {
  const char byte = FollowOptions::kLostPeer;
  [[maybe_unused]] const ssize_t written = ::write(stop_.write_end.get(), &byte, 1);
}

/// The next agent takes it up.
bool JobWorker::goes_on_without_us() const {
  const auto record = desk_.services.store->find_run(run_);
  return left_ && record && record->state != RunState::ended;
}

/// Nothing was started: the leader is told why, and there is nothing to keep here.
void JobWorker::end_unbegun(Run run, Verdict verdict, const Error& error) {
  run.ended = desk_.clock.wall();
  run.state = RunState::ended;
  run.verdict = verdict;
  run.error = RunError{.kind = error.kind, .message = error.text(), .hint = error.hint};
  shipper_->end_with(std::move(run));
}

void JobWorker::finish(const Shipment& shipment) {
  if (shipment.end == Shipment::End::kept) return;
  if (shipment.end == Shipment::End::refused) {
    const std::string why = shipment.error ? shipment.error->text() : "";
    if (begun_) {
      log_warning("run '{}' is not this node's any more, it is ended and removed here: {}", run_, why);
    } else {
      log_info("run '{}' is not for this node: {}", run_, why);
    }
    stop_run();
    const std::lock_guard lock(peers_mutex_);
    if (peers_) peers_->give_up();
  }
  execution_.reset();
  const auto removed = desk_.services.store->remove_run(run_);
  if (!removed && removed.error().kind != ErrorKind::not_found) {
    log_warning("run '{}' stays here: {}", run_, removed.error().text());
  }
  crash_point("job-done");
}

}  // namespace assay
