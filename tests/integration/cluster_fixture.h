#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/assay_cli.h"

namespace assay {

struct ClientResponse;
class Headers;

/// A process of the built `assay` that goes on until somebody ends it. What it prints goes to a file. Destroying it
/// ends it at once, and it ends with the test program, however that ends. One thread.
class AssayProcess {
 public:
  /// `log` is appended to. A program that cannot be started is a test failure.
  AssayProcess(const std::vector<std::string>& arguments, fs::path log,
               const std::map<std::string, std::string>& environment);
  AssayProcess(AssayProcess&& other) noexcept;
  AssayProcess& operator=(AssayProcess&& other) noexcept;
  ~AssayProcess();

  bool running();
  /// SIGKILL: it has no chance to tidy up. Returns when it is gone.
  void kill_now();
  /// SIGHUP.
  void hang_up();
  /// SIGTERM, then as `wait`.
  int terminate();
  /// Its exit code once it has ended by itself; -1 and a test failure if it does not, or if a signal ended it.
  int wait();
  /// Whether SIGKILL has ended it, by itself or by somebody else, within the usual patience.
  bool dies();
  /// Everything that it and its predecessors with the same log have printed.
  std::string said() const;
  /// What it has in memory now; `VmHWM`: the most that it ever had.
  std::int64_t memory_bytes(const std::string& field = "VmRSS") const;

 private:
  void start(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment);

  pid_t pid_ = -1;  ///< -1: not there, or waited for
  std::optional<int> status_;
  fs::path log_;
};

/// A leader with a data folder of its own, on a free port of loopback, and the commands that talk to it.
class TestLeader {
 public:
  /// Starts `assay serve` and waits until it can be reached. A second start takes the port of the first.
  void start(const std::vector<std::string>& arguments = {},
             const std::map<std::string, std::string>& environment = {});
  AssayProcess& process() { return *process_; }
  const std::string& url() const { return url_; }
  std::uint16_t port() const;
  AssayCli& cli() { return cli_; }
  fs::path log() const { return cli_.folder() / "leader.log"; }

  /// What comes back for this secret (none: empty); a connection that fails is a test failure and status 0.
  ClientResponse request(const std::string& method, const std::string& target, const std::string& secret);
  ClientResponse request(const std::string& method, const std::string& target, const std::string& secret,
                         Headers headers, const std::string& body = "");
  /// As the owner of the data folder; the answer must be 200 and an object.
  json::object get(const std::string& target);
  /// What the leader says is wrong with itself.
  std::vector<std::string> problems();
  /// Which nodes it has called silent since it began, whether they came back or not.
  std::set<std::string> silenced();

  std::string owner_secret() const;
  /// Where a run may leave something: beside the agent's own folder it can make nothing.
  fs::path folder_for_runs();
  /// A file with a token of that role, or a join token; made by `assay token create`.
  fs::path token_file(const std::string& role, const std::vector<std::string>& arguments = {});
  std::string secret_of(const fs::path& token_file) const;
  /// Agents that are started from now on join with another one.
  void new_join_token(const std::vector<std::string>& arguments = {}) { join_token_ = token_file("agent", arguments); }

  /// An agent that reads this machine five times a second unless told otherwise: no second is without a value because
  /// one reading was late. Its state is in the folder `state`, or in one of the node's name.
  AssayProcess start_agent(const std::string& node, const std::vector<std::string>& arguments = {},
                           const std::string& state = "", const std::map<std::string, std::string>& environment = {});
  /// Simulated nodes PREFIX001 and so on, until they are stopped.
  AssayProcess start_fleet(int nodes, const std::vector<std::string>& arguments = {});
  /// What the fleet said of itself at its end (docs/guides/fleet-sim.md).
  json::object fleet_summary();

  /// A command that goes on; what it prints goes to NAME.log.
  AssayProcess start_command(const std::string& name, const std::vector<std::string>& arguments);

  /// Where agents that are started from now on find the leader, if that is not where it is.
  void let_agents_ask(const std::string& url) { url_for_agents_ = url; }

  /// online, late, offline or draining; "absent" if the leader does not know it.
  std::string state_of(const std::string& node);
  /// As `eventually`, and a failure that names the state it has instead.
  void expect_state(const std::string& node, const std::string& state);
  /// The seconds since 1970 in which the node's metric has a value.
  std::set<std::int64_t> seconds_of(const std::string& node, const std::string& metric = "host.cpu_util");

 private:
  AssayCli cli_;
  std::optional<AssayProcess> process_;
  std::string url_;
  std::string url_for_agents_;
  int tokens_made_ = 0;
  std::optional<fs::path> join_token_;
};

/// Base of the tests of a cluster. Logs are shown where a test fails: nothing else tells what the processes saw.
class ClusterTest : public testing::Test {
 protected:
  void TearDown() override;

  TestLeader leader_;
};

/// Of a hundred requests the leader acknowledged all but one within five seconds: nobody was kept waiting, also where
/// other tests want the processors. That a second is enough is for bench/ to show.
void expect_prompt(const json::object& fleet_summary);

/// What a run printed has the line "step=I …" of each step from 1 to `steps`, once.
void expect_each_step_once(const std::string& text, int steps);

/// Seconds between the first and the last that are not there.
std::vector<std::int64_t> missing_between_ends(const std::set<std::int64_t>& seconds);

}  // namespace assay
