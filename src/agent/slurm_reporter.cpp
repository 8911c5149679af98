#include "agent/slurm_reporter.h"

#include <utility>

#include "base/log.h"
#include "protocol/paths.h"
#include "protocol/slurm_report.h"

namespace assay {
namespace {

/// Until the uplink has found the leader.
constexpr Nanos kLookForLeader = std::chrono::milliseconds(200);

/// Another leader's wish, or one that is too old to know what this is.
bool means_no(const Error& error) {
  return error.kind == ErrorKind::denied || error.kind == ErrorKind::not_found || error.kind == ErrorKind::usage;
}

}  // namespace

SlurmReporter::SlurmReporter(SlurmReporterOptions options, std::shared_ptr<Connection> connection)
    : options_(std::move(options)), connection_(std::move(connection)) {}

Result<std::unique_ptr<SlurmReporter>> SlurmReporter::start(SlurmReporterOptions options) {
  ASSAY_TRY(auto connection, connect_to_leader(options.access, options.request_time));
  std::unique_ptr<SlurmReporter> reporter(new SlurmReporter(std::move(options), std::move(connection)));
  reporter->thread_.emplace(
      "agent-slurm", [self = reporter.get()](const std::stop_token& stop) { self->work(stop); },
      SupervisedThread::OnFailure{.restart_after = reporter->options_.period});
  return reporter;
}

SlurmReporter::~SlurmReporter() {
  if (thread_) thread_->request_stop();
  connection_->cancel();
  thread_.reset();
}

void SlurmReporter::work(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const bool is_there = options_.arrivals() > 0;
    if (!sleep_for(stop, is_there ? tell() : kLookForLeader)) return;
  }
}

Nanos SlurmReporter::tell() {
  SlurmReport report;
  auto read = options_.read();
  // Said once for each time that it goes away.
  if (!read && !std::exchange(is_away_, true)) log_warning("Slurm's jobs are not known: {}", read.error().text());
  if (read && std::exchange(is_away_, false)) log_info("Slurm's jobs are known again");
  if (read) {
    report.jobs = std::move(*read);
  } else {
    report.problem = read.error().text();
  }
  const auto told = connection_->send_json("POST", std::string(kSlurmPath), to_json(report));
  if (told || !means_no(told.error())) {
    is_refused_ = false;
    return options_.period;
  }
  if (!std::exchange(is_refused_, true)) {
    log_warning("the leader does not want to know Slurm's jobs: {}{}{}", told.error().text(),
                told.error().hint.empty() ? "" : ". ", told.error().hint);
  }
  return options_.refused_pause;
}

}  // namespace assay
