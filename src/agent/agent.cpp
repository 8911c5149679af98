#include "agent/agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/ids.h"
#include "base/log.h"
#include "client/leader_runs.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

/// A batch waits this long for sources that are later than the first.
constexpr Nanos kPatience = 100ms;
/// Between two looks for runs that others have started.
constexpr Nanos kNoticePeriod = 1s;
/// What a leader that is there gets for the last batches.
constexpr Nanos kLastWords = 2s;
/// The same for the last of runs that were ended.
constexpr Nanos kLastFrames = 5s;
/// A piece of a journal over a slow network.
constexpr Nanos kRunRequestTime = 30s;

std::vector<std::string> allowed_by(const ReportingOptions& reporting) {
  std::vector<std::string> names;
  names.reserve(reporting.allow.size() + 1);
  for (const auto kind : reporting.allow) names.emplace_back(name_of(kind));
  if (reporting.jobs) names.emplace_back("run");
  return names;
}

}  // namespace

Agent::Agent(AgentOptions options, Pipe failed, std::size_t sources)
    : options_(std::move(options)),
      failed_(std::move(failed)),
      collector_(sources, kPatience),
      builder_(new_id()),
      leader_period_ns_(options_.period.count()) {}

Result<std::unique_ptr<Agent>> Agent::start(AgentOptions options, std::vector<std::unique_ptr<MetricSource>> sources) {
  ASSAY_TRY(auto failed, make_pipe());
  std::unique_ptr<Agent> agent(new Agent(std::move(options), std::move(failed), sources.size()));
  ASSAY_CHECK(agent->open_state());
  std::vector<std::string> names;
  names.reserve(sources.size());
  for (const auto& source : sources) names.emplace_back(source->name());
  if (agent->options_.reporting) ASSAY_CHECK(agent->start_reporting(std::move(names)));
  agent->period_ns_ = agent->options_.period.count();
  agent->last_batch_ = agent->next_look_ = agent->clock_.now();
  agent->sampler_ = std::make_unique<Sampler>(std::move(sources), SamplerOptions{.period = agent->options_.period});
  agent->thread_.emplace(
      "agent", [self = agent.get()](const std::stop_token&) { self->loop(); },
      SupervisedThread::OnFailure{.restart_after = std::chrono::seconds(1)});
  return agent;
}

Result<void> Agent::open_state() {
  ASSAY_CHECK(make_folders(options_.state).within("making the agent's folder"));
  key_file_ = options_.state / "key";
  ASSAY_TRY(lock_, FileLock::claim(options_.state / "agent.lock").within("taking the agent's folder"));
  if (options_.record) {
    ASSAY_TRY(auto writer, RecordingWriter::create(*options_.record));
    recording_.emplace(std::move(writer));
  }
  return {};
}

Result<void> Agent::start_reporting(std::vector<std::string> source_names) {
  const ReportingOptions& reporting = *options_.reporting;
  ASSAY_TRY(auto key, keep_key(key_file_));
  if (key.is_new && !reporting.join_secret) {
    ::unlink(key_file_.c_str());
    return Error{.kind = ErrorKind::usage,
                 .message = "this agent has not joined a leader yet and has no join token",
                 .hint =
                     "Ask an administrator for one (`assay token create --role agent`), put it into a file of mode "
                     "0600, and start the agent with --token-file FILE."};
  }
  ASSAY_TRY(auto trust, keep_trust(options_.state / "leader.fingerprint", reporting.trust));
  const LeaderAccess access{.url = reporting.url,
                            .trust = std::move(trust),
                            .node = reporting.node,
                            .key = key.text,
                            .never_joined = key.is_new,
                            .join_secret = reporting.join_secret};
  ASSAY_TRY(auto spool, Spool::open({.folder = options_.state / "spool", .limit = reporting.spool_limit}));
  outbox_ = std::make_unique<Outbox>(OutboxOptions{.stream = builder_.stream(), .simulated = options_.simulated},
                                     std::move(spool));
  UplinkOptions uplink{.access = access, .first_pause = reporting.first_pause};
  uplink.introduction = {.period_ms = options_.period / std::chrono::milliseconds(1),
                         .facts = reporting.facts,
                         .allow = allowed_by(reporting),
                         .sources = std::move(source_names)};
  uplink.on_period = [this](Nanos period) { leader_period_ns_ = period.count(); };
  uplink.on_refused = [this](const Error& error) {
    // Whoever tries again with a better token starts afresh.
    ::unlink(key_file_.c_str());
    fail(error);
  };
  ASSAY_TRY(uplink_, Uplink::start(std::move(uplink), *outbox_));
  if (reporting.jobs) ASSAY_CHECK(start_jobs(access));
  if (reporting.slurm_jobs) {
    ASSAY_TRY(slurm_, SlurmReporter::start({.access = access, .read = reporting.slurm_jobs, .arrivals = [this] {
                                              return uplink_->state().arrivals;
                                            }}));
  }
  if (reporting.allow.empty()) return {};
  ExecutorOptions executor{.access = access,
                           .self = reporting.self,
                           .allow = reporting.allow,
                           .measuring = [this] { return does_runs_here(); },
                           .first_pause = reporting.first_pause};
  ASSAY_TRY(commands_, CommandTaker::start({.executor = std::move(executor),
                                            .arrivals = [this] { return uplink_->state().arrivals; }}));
  return {};
}

Result<void> Agent::start_jobs(const LeaderAccess& access) {
  ASSAY_TRY(auto connection, connect_to_leader(access, kRunRequestTime));
  ASSAY_TRY(jobs_, JobKeeper::start({.access = access,
                                     .arrivals = [this] { return uplink_->state().arrivals; },
                                     .services = *options_.reporting->jobs,
                                     .clock = clock_,
                                     .connection = connection,
                                     .leader = open_leader_runs(connection),
                                     .first_pause = options_.reporting->first_pause}));
  return {};
}

Agent::~Agent() {
  if (jobs_) jobs_->stop(Nanos(0));
  stopping_ = true;
  if (sampler_) sampler_->stop();
  if (thread_) thread_->stop();
  slurm_.reset();
  commands_.reset();
  jobs_.reset();
  uplink_.reset();
}

void Agent::stop() {
  // The node is watched, and says so, until its last run has ended.
  if (jobs_) jobs_->stop(kLastFrames);
  stopping_ = true;
  if (sampler_) sampler_->stop();
  if (thread_) thread_->stop();
  slurm_.reset();
  if (commands_) commands_->stop();
  if (uplink_) uplink_->stop(kLastWords);
  if (outbox_) outbox_->spill();
  if (recording_) {
    if (auto flushed = recording_->flush(); !flushed) log_warning("{}", flushed.error().text());
  }
}

void Agent::fail(Error error) {
  const std::lock_guard lock(failure_mutex_);
  if (failure_) return;
  failure_ = std::move(error);
  const char byte = 'f';
  [[maybe_unused]] const ssize_t written = ::write(failed_.write_end.get(), &byte, 1);
}

std::optional<Error> Agent::failure() const {
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

AgentState Agent::state() const {
  AgentState state;
  if (uplink_) state.uplink = uplink_->state();
  if (outbox_) state.outbox = outbox_->counts();
  state.sources = sampler_->states();
  state.readings = readings_;
  state.run_under_way = run_under_way_;
  return state;
}

void Agent::loop() {
  while (!stopping_) {
    if (auto sampled = sampler_->next(next_deadline())) take(std::move(*sampled));
    const SteadyTime now = clock_.now();
    if (collector_.complete() || (collector_.deadline() && now >= *collector_.deadline())) close_batch();
    if (now >= next_look_) look_for_runs();
    apply_period();
    beat();
  }
  close_batch();
}

SteadyTime Agent::next_deadline() const {
  SteadyTime deadline = next_look_;
  if (const auto close = collector_.deadline()) deadline = std::min(deadline, *close);
  if (uplink_) deadline = std::min(deadline, last_batch_ + quiet_limit());
  return deadline;
}

/// A little more than a heartbeat, so that a reading every heartbeat needs no empty batches between.
Nanos Agent::quiet_limit() const { return uplink_->heartbeat() * 5 / 4; }

void Agent::take(SampledReading sampled) {
  ++readings_;
  if (recording_) {
    if (auto written = recording_->append(sampled.time, sampled.reading); !written) {
      recording_.reset();
      Error error = std::move(written).error();
      options_.reporting ? log_warning("the recording ends here: {}", error.text()) : fail(std::move(error));
    }
  }
  if (!outbox_) return;
  if (collector_.closes_before(sampled.time)) close_batch();
  collector_.add(sampled.source, sampled.time, clock_.now());
  builder_.add(sampled.time, std::move(sampled.reading));
}

void Agent::close_batch() {
  collector_.close();
  if (!outbox_ || builder_.empty()) return;
  outbox_->push(builder_.take());
  last_batch_ = clock_.now();
}

/// A node that has nothing to say says so, unless older things wait to be said.
void Agent::beat() {
  if (!outbox_ || clock_.now() - last_batch_ < quiet_limit()) return;
  if (outbox_->empty()) outbox_->push(builder_.take());
  last_batch_ = clock_.now();
}

/// Those that are done elsewhere are not disturbed by what is done here, nor measured by what is read here.
bool Agent::does_runs_here() const { return jobs_ && options_.reporting->jobs->place.empty() && jobs_->running(); }

void Agent::look_for_runs() {
  next_look_ = clock_.now() + kNoticePeriod;
  const bool under_way = does_runs_here() || !runs_on_this_machine(options_.notices).empty();
  if (under_way == run_under_way_) return;
  run_under_way_ = under_way;
  // What changes slowly is read at both ends of a run, whose difference is of interest.
  sampler_->read_everything_next();
}

void Agent::apply_period() {
  Nanos period(leader_period_ns_.load());
  if (run_under_way_) period = std::min(period, options_.run_period);
  period = std::clamp(period, kShortestPeriod, kLongestPeriod);
  if (period.count() == std::exchange(period_ns_, period.count())) return;
  sampler_->set_period(period);
}

}  // namespace assay
