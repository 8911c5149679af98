#include "agent/job_keeper.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "net/client_messages.h"
#include "net/sse.h"
#include "protocol/paths.h"
#include "store/run_query.h"

namespace assay {

JobKeeper::JobKeeper(JobKeeperOptions options)
    : options_(std::move(options)),
      desk_{.services = options_.services,
            .clock = options_.clock,
            .leader = *options_.leader,
            .take =
                [this](const std::string& run) {
                  return options_.connection->send_json("POST", path_of(kTakePath, run), {});
                },
            .report_part = [this](const std::string& run, const PartReport& report) -> Result<PartAnswer> {
              ASSAY_TRY(const auto answer,
                        options_.connection->send_json("POST", path_of(kPartPath, run), to_json(report)));
              return part_answer_from_json(answer);
            },
            .send_part = [this](const std::string& run, std::uint64_t epoch, std::uint64_t offset,
                                std::string_view frames) -> Result<std::uint64_t> {
              return send_part(run, epoch, offset, frames);
            },
            .on_change =
                [this] {
                  const std::lock_guard lock(mutex_);
                  changed_.notify_all();
                },
            .look = options_.ship_look,
            .lease_length = options_.lease_length,
            .first_pause = options_.first_pause,
            .longest_pause = options_.longest_pause,
            .part_period = options_.part_period} {}

Result<std::unique_ptr<JobKeeper>> JobKeeper::start(JobKeeperOptions options) {
  std::unique_ptr<JobKeeper> keeper(new JobKeeper(std::move(options)));
  ASSAY_CHECK(keeper->find_leftovers().within("looking for runs of an earlier agent"));
  ListenerOptions listener{.access = keeper->options_.access,
                           .target = std::string(kJobsPath),
                           .what = "jobs",
                           .arrivals = keeper->options_.arrivals,
                           .on_event = [self = keeper.get()](const ServerEvent& event) { self->take_list(event); },
                           .on_look = [self = keeper.get()] { self->reconcile(); },
                           .look = keeper->options_.look,
                           .first_pause = keeper->options_.first_pause,
                           .longest_pause = keeper->options_.longest_pause};
  ASSAY_TRY(keeper->listener_, EventListener::start(std::move(listener)));
  return keeper;
}

JobKeeper::~JobKeeper() { stop(Nanos(0)); }

/// Their processes are gone with the agent that had them; what they recorded is shipped.
Result<void> JobKeeper::find_leftovers() {
  ASSAY_TRY(const auto page, options_.services.store->list_runs({}));
  const std::lock_guard lock(mutex_);
  for (const auto& row : page.rows) {
    log_info("run '{}' of an earlier agent is brought to the leader", row.id);
    const auto run = options_.services.store->find_run(row.id);
    begin({.run = row.id, .part = run ? run->placement.part : 0}, false);
  }
  return {};
}

bool JobKeeper::running() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) { return entry.second->doing(); });
}

void JobKeeper::take_list(const ServerEvent& event) {
  if (event.event != kJobsEvent) return;
  auto jobs = parse_job_list(event.data);
  if (!jobs) {
    log_warning("the leader sent a list of jobs that makes no sense: {}", jobs.error().text());
    return;
  }
  listed_ = std::move(*jobs);
  list_is_known_ = true;
  // What was done before the list came does not count as settled by it.
  reap();
  const std::lock_guard lock(mutex_);
  settled_.clear();
}

void JobKeeper::reconcile() {
  reap();
  if (!list_is_known_) return;
  std::map<std::string_view, const ListedJob*> jobs;
  for (const auto& job : listed_) jobs[job.run] = &job;
  const std::lock_guard lock(mutex_);
  for (const auto& [run, worker] : workers_) {
    const auto found = jobs.find(run);
    worker->set_listed(found != jobs.end());
    if (found != jobs.end() && found->second->stop) worker->stop_run();
  }
  for (const auto& [run, job] : jobs) {
    if (workers_.size() < options_.most) begin({.run = job->run, .part = job->part}, job->stop);
  }
}

Result<std::uint64_t> JobKeeper::send_part(const std::string& run, std::uint64_t epoch, std::uint64_t offset,
                                           std::string_view frames) {
  ClientRequest request{.method = "POST",
                        .target = fmt::format("{}?epoch={}&offset={}", path_of(kPartFramesPath, run), epoch, offset),
                        .body = std::string(frames)};
  request.headers.add("Content-Type", "application/octet-stream");
  ASSAY_TRY(const auto response, options_.connection->send(std::move(request)));
  ASSAY_TRY(const auto answer, parse_json(response.body));
  JsonFields fields(answer, "the answer to frames");
  const auto size = fields.integer("size");
  ASSAY_CHECK(fields.finish());
  return static_cast<std::uint64_t>(size);
}

/// Unless somebody is at it. Needs the lock.
void JobKeeper::begin(const JobToDo& job, bool stop) {
  const std::string& run = job.run;
  if (workers_.contains(run)) return;
  const auto settled = settled_.find(run);
  if (settled != settled_.end() && options_.clock.now() < settled->second + options_.ask_again) return;
  auto worker = JobWorker::start(desk_, job, stop);
  if (worker) {
    workers_.emplace(run, std::move(*worker));
  } else {
    log_warning("run '{}' cannot be begun now: {}", run, worker.error().text());
  }
}

void JobKeeper::reap() {
  std::vector<std::unique_ptr<JobWorker>> done;  // goes after the lock, which its members need in order to end
  const std::lock_guard lock(mutex_);
  for (auto entry = workers_.begin(); entry != workers_.end();) {
    if (!entry->second->done()) {
      ++entry;
      continue;
    }
    settled_[entry->first] = options_.clock.now();
    done.push_back(std::move(entry->second));
    entry = workers_.erase(entry);
  }
}

void JobKeeper::stop(Nanos patience) {
  if (listener_) listener_->stop();
  std::map<std::string, std::unique_ptr<JobWorker>> last;
  {
    std::unique_lock lock(mutex_);
    const auto none = [this](auto is_so) {
      return std::none_of(workers_.begin(), workers_.end(), [&](const auto& entry) { return is_so(*entry.second); });
    };
    for (const auto& [run, worker] : workers_) worker->wind_up();
    changed_.wait(lock, [&] { return none([](const JobWorker& worker) { return worker.doing(); }); });
    changed_.wait_for(lock, patience, [&] { return none([](const JobWorker& worker) { return !worker.done(); }); });
    last.swap(workers_);
  }
  options_.connection->cancel();
  // Waits for them, without the lock that they need in order to end.
  last.clear();
}

}  // namespace assay
