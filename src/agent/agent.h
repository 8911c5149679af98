#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/command_taker.h"
#include "agent/grid_collector.h"
#include "agent/job_keeper.h"
#include "agent/leader_access.h"
#include "agent/outbox.h"
#include "agent/run_notice.h"
#include "agent/slurm_reporter.h"
#include "agent/uplink.h"
#include "base/clock.h"
#include "base/file_lock.h"
#include "base/files.h"
#include "base/result.h"
#include "base/spawn.h"
#include "base/supervised_thread.h"
#include "protocol/batch.h"
#include "telemetry/metric_source.h"
#include "telemetry/replay/recording_writer.h"
#include "telemetry/sampler.h"

namespace assay {

/// What an agent needs in order to report, beside its state folder.
struct ReportingOptions {
  Url url;
  TlsTrust trust;
  std::string node;
  std::optional<std::string> join_secret;
  std::map<std::string, std::string> facts;                 ///< see node_facts.h
  std::set<Command::Kind> allow = {Command::Kind::doctor};  ///< none: no commands are listened for
  std::optional<JobServices> jobs;                          ///< absent: no runs are done for the leader
  ReadSlurmJobs slurm_jobs = {};                            ///< empty: the leader is told nothing of Slurm
  std::vector<std::string> self;                            ///< the program that carries commands out
  Bytes spool_limit{std::int64_t{256} << 20};
  Nanos first_pause = std::chrono::milliseconds(500);
};

struct AgentOptions {
  fs::path state;                             ///< its own folder: key, spool, runs. One agent at a time
  std::optional<ReportingOptions> reporting;  ///< absent: it only records
  std::optional<fs::path> record;             ///< everything that is read is also written here
  Nanos period = std::chrono::seconds(1);
  Nanos run_period = std::chrono::milliseconds(100);  ///< while a run is on this machine
  bool simulated = false;                             ///< the sources are made up
  std::vector<fs::path> notices = notice_folders();
};

struct AgentState {
  UplinkState uplink;
  OutboxCounts outbox;
  std::vector<SourceState> sources;
  std::uint64_t readings = 0;
  bool run_under_way = false;
};

/// Watches a node: samples its sources, records them, brings them to the leader, carries out what the leader asks for.
/// A thread for each of these; nothing that goes wrong with one stops another.
class Agent {
 public:
  /// Errors: `busy` (another agent has the state folder), `usage` (no key and no join token), those of files and TLS.
  static Result<std::unique_ptr<Agent>> start(AgentOptions options, std::vector<std::unique_ptr<MetricSource>> sources);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  /// As `stop`, but leaves at once what is in memory: as if it was killed.
  ~Agent();

  /// Ends runs (those elsewhere go on, for the next agent), sends what it can, keeps the rest on the disk, and ends all
  /// threads: within seconds, unless a run takes its time to end.
  void stop();

  /// Readable once the agent cannot go on; see `failure`.
  int failed_fd() const { return failed_.read_end.get(); }
  /// Why: the leader does not let it in, or the recording that was all it had to do cannot be written.
  std::optional<Error> failure() const;

  /// Any thread.
  AgentState state() const;

 private:
  Agent(AgentOptions options, Pipe failed, std::size_t sources);
  Result<void> open_state();
  Result<void> start_reporting(std::vector<std::string> source_names);
  Result<void> start_jobs(const LeaderAccess& access);
  void loop();
  void take(SampledReading sampled);
  void close_batch();
  void beat();
  void look_for_runs();
  bool does_runs_here() const;
  void apply_period();
  void fail(Error error);
  SteadyTime next_deadline() const;
  Nanos quiet_limit() const;

  const AgentOptions options_;
  SystemClock clock_;
  Pipe failed_;
  fs::path key_file_;
  std::optional<FileLock> lock_;
  std::optional<RecordingWriter> recording_;

  // Of the loop's thread alone.
  GridCollector collector_;
  BatchBuilder builder_;
  SteadyTime last_batch_{};
  SteadyTime next_look_{};

  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<Uplink> uplink_;
  std::unique_ptr<JobKeeper> jobs_;
  std::unique_ptr<CommandTaker> commands_;
  std::unique_ptr<SlurmReporter> slurm_;
  std::unique_ptr<Sampler> sampler_;
  std::atomic<std::int64_t> leader_period_ns_;  ///< the usual one, as the leader wishes it
  std::int64_t period_ns_ = 0;                  ///< the sampler's now
  std::atomic<bool> run_under_way_ = false;
  std::atomic<std::uint64_t> readings_ = 0;
  std::atomic<bool> stopping_ = false;

  mutable std::mutex failure_mutex_;
  std::optional<Error> failure_;

  std::optional<SupervisedThread> thread_;
};

}  // namespace assay
