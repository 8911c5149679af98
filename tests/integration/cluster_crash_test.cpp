// Whoever dies at whatever moment of a run's life: nothing that was told is lost, nothing is done twice, no process is
// left, and the verdict is honest. Leader and agent are killed at every place of `kCrashPoints`.

#include <gmock/gmock.h>

#include <algorithm>

#include "base/crash_point.h"
#include "base/ids.h"
#include "cluster_fixture.h"
#include "net/client_messages.h"

namespace assay {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

enum class Victim { leader, agent, peer };
enum class Life {
  run,          ///< one run, from asking to its end
  study,        ///< three, one after the other
  stopped,      ///< a long one that is stopped while it goes on
  never_begun,  ///< one that is stopped while its node is away
  held,         ///< one that is held while its node is away, and released at last
  released,     ///< one that was asked for as held, and is released
  less_urgent,  ///< the same, with another priority before
  lost,         ///< one whose agent is killed, and that is tried again
  dependent,    ///< two, the second after the first
  gang,         ///< one over two nodes, of which the second is the peer
  each_node,    ///< one on each of two nodes, asked for with a key, and once more after the crash
  study_after,  ///< a study after a run that succeeds
  never_run,    ///< a study after a run that fails
};
enum class Outcome {
  nothing,      ///< nobody was told of a run, and there is none
  valid,        ///< all of it, done once
  interrupted,  ///< what was recorded until then
  either,       ///< depending on how far the workload was
  lost,         ///< it failed, since a node was gone
  failed,       ///< by itself
};

struct Crash {
  Victim victim;
  Life life;
  std::string_view point;
  int time;         ///< the first or a later time that it comes there
  Outcome outcome;  ///< of the run; in a study, of the one that was under way
  int executions;   ///< of that run, at most
};

void PrintTo(const Crash& crash, std::ostream* out) { *out << crash.point << ":" << crash.time; }

constexpr auto kLeader = Victim::leader;
constexpr auto kAgent = Victim::agent;
constexpr auto kPeer = Victim::peer;

const std::vector<Crash> kCrashes = {
    // Until somebody is to do it, the run is nobody's: whoever asked was given no answer.
    {kLeader, Life::run, "asked", 1, Outcome::nothing, 0},
    {kLeader, Life::run, "run-noted", 1, Outcome::nothing, 0},
    {kLeader, Life::run, "run-stored", 1, Outcome::interrupted, 0},
    {kLeader, Life::run, "run-listed", 1, Outcome::interrupted, 0},
    // From then on it is done, whatever becomes of the leader.
    {kLeader, Life::run, "job-stored", 1, Outcome::valid, 1},
    {kLeader, Life::run, "placed", 1, Outcome::valid, 1},
    {kLeader, Life::run, "lease-stored", 1, Outcome::valid, 1},
    {kLeader, Life::run, "starting-stored", 1, Outcome::valid, 1},
    {kLeader, Life::run, "run-taken", 1, Outcome::valid, 1},
    {kLeader, Life::run, "change-stored", 1, Outcome::valid, 1},  // it runs
    {kLeader, Life::run, "change-listed", 1, Outcome::valid, 1},
    {kLeader, Life::run, "frames-stored", 1, Outcome::valid, 1},
    {kLeader, Life::run, "artifact-stored", 1, Outcome::valid, 1},
    {kLeader, Life::run, "change-stored", 2, Outcome::valid, 1},  // it has ended
    {kLeader, Life::run, "change-listed", 2, Outcome::valid, 1},
    {kLeader, Life::run, "study-went-on", 1, Outcome::valid, 1},
    {kLeader, Life::run, "job-removed", 1, Outcome::valid, 1},

    // The workload ends with its agent.
    {kAgent, Life::run, "job-taken", 1, Outcome::valid, 1},
    {kAgent, Life::run, "run-stored", 1, Outcome::interrupted, 0},
    {kAgent, Life::run, "workload-started", 1, Outcome::interrupted, 1},
    {kAgent, Life::run, "frames-stored", 1, Outcome::interrupted, 1},
    {kAgent, Life::run, "running-told", 1, Outcome::interrupted, 1},
    {kAgent, Life::run, "frames-told", 1, Outcome::either, 1},
    {kAgent, Life::run, "workload-ended", 1, Outcome::interrupted, 1},
    {kAgent, Life::run, "artifact-stored", 1, Outcome::interrupted, 1},
    {kAgent, Life::run, "change-stored", 1, Outcome::valid, 1},
    {kAgent, Life::run, "change-listed", 1, Outcome::valid, 1},
    {kAgent, Life::run, "artifacts-told", 1, Outcome::valid, 1},
    {kAgent, Life::run, "end-told", 1, Outcome::valid, 1},
    {kAgent, Life::run, "run-in-trash", 1, Outcome::valid, 1},
    {kAgent, Life::run, "run-removed", 1, Outcome::valid, 1},
    {kAgent, Life::run, "job-done", 1, Outcome::valid, 1},

    // A study goes on with its next run, and does none of them twice.
    {kLeader, Life::study, "study-stored", 1, Outcome::nothing, 0},
    {kLeader, Life::study, "run-noted", 1, Outcome::nothing, 0},
    {kLeader, Life::study, "job-stored", 1, Outcome::valid, 1},
    {kLeader, Life::study, "run-noted", 2, Outcome::valid, 1},
    {kLeader, Life::study, "run-stored", 2, Outcome::valid, 1},
    {kLeader, Life::study, "run-listed", 2, Outcome::valid, 1},
    {kLeader, Life::study, "job-stored", 2, Outcome::valid, 1},
    {kLeader, Life::study, "study-went-on", 1, Outcome::valid, 1},
    {kLeader, Life::study, "job-removed", 1, Outcome::valid, 1},
    {kAgent, Life::study, "workload-started", 2, Outcome::interrupted, 1},
    {kAgent, Life::study, "job-done", 1, Outcome::valid, 1},

    // What is to stop stops.
    {kLeader, Life::stopped, "stop-stored", 1, Outcome::interrupted, 1},
    {kLeader, Life::stopped, "change-stored", 2, Outcome::interrupted, 1},
    {kAgent, Life::stopped, "workload-ended", 1, Outcome::interrupted, 1},
    {kAgent, Life::stopped, "end-told", 1, Outcome::interrupted, 1},
    {kLeader, Life::never_begun, "stop-stored", 1, Outcome::interrupted, 0},
    {kLeader, Life::never_begun, "lease-stored", 1, Outcome::interrupted, 0},
    {kLeader, Life::never_begun, "starting-stored", 1, Outcome::interrupted, 0},
    {kLeader, Life::never_begun, "change-stored", 1, Outcome::interrupted, 0},
    {kLeader, Life::never_begun, "change-listed", 1, Outcome::interrupted, 0},
    {kLeader, Life::never_begun, "job-removed", 1, Outcome::interrupted, 0},

    // What somebody has said of a run that waits is kept.
    {kLeader, Life::held, "hold-stored", 1, Outcome::valid, 1},
    {kLeader, Life::released, "release-stored", 1, Outcome::valid, 1},
    {kLeader, Life::less_urgent, "priority-stored", 1, Outcome::valid, 1},

    // A run that was lost is tried again once, and the one that comes after another comes after it.
    {kLeader, Life::lost, "retry-noted", 1, Outcome::interrupted, 1},
    {kLeader, Life::lost, "retry-listed", 1, Outcome::interrupted, 1},
    {kLeader, Life::lost, "retry-stored", 1, Outcome::interrupted, 1},
    {kLeader, Life::dependent, "job-stored", 2, Outcome::valid, 1},
    {kLeader, Life::dependent, "dependent-stored", 1, Outcome::valid, 1},
    {kLeader, Life::dependent, "job-removed", 1, Outcome::valid, 1},

    // A run over several nodes is begun on all of them once, and ended on all of them.
    {kLeader, Life::gang, "placed", 1, Outcome::valid, 1},
    {kLeader, Life::gang, "run-taken", 1, Outcome::valid, 1},
    {kLeader, Life::gang, "frames-stored", 1, Outcome::valid, 1},
    {kLeader, Life::gang, "job-removed", 1, Outcome::valid, 1},
    {kAgent, Life::gang, "job-taken", 1, Outcome::valid, 1},
    {kAgent, Life::gang, "workload-started", 1, Outcome::interrupted, 1},
    {kAgent, Life::gang, "end-told", 1, Outcome::valid, 1},
    {kPeer, Life::gang, "job-taken", 1, Outcome::valid, 1},
    {kPeer, Life::gang, "workload-started", 1, Outcome::lost, 1},
    {kPeer, Life::gang, "part-frames-told", 1, Outcome::lost, 1},
    {kPeer, Life::gang, "part-end-told", 1, Outcome::valid, 1},
    {kPeer, Life::gang, "job-done", 1, Outcome::valid, 1},

    // What was asked for with a key is done whole and once, however far the leader came.
    {kLeader, Life::each_node, "study-stored", 1, Outcome::valid, 1},
    {kLeader, Life::each_node, "run-noted", 1, Outcome::valid, 1},
    {kLeader, Life::each_node, "run-listed", 1, Outcome::valid, 1},
    {kLeader, Life::each_node, "job-stored", 1, Outcome::valid, 1},
    {kLeader, Life::each_node, "run-noted", 2, Outcome::valid, 1},
    {kLeader, Life::each_node, "run-listed", 2, Outcome::valid, 1},
    {kLeader, Life::each_node, "job-stored", 2, Outcome::valid, 1},

    // A study comes after another run, all of it or nothing.
    {kLeader, Life::study_after, "dependent-stored", 1, Outcome::valid, 1},
    {kLeader, Life::study_after, "job-removed", 1, Outcome::valid, 1},
    {kLeader, Life::study_after, "study-went-on", 2, Outcome::valid, 1},
    {kLeader, Life::never_run, "job-removed", 1, Outcome::failed, 1},
    {kLeader, Life::never_run, "stop-stored", 1, Outcome::failed, 1},
    {kLeader, Life::never_run, "lease-stored", 2, Outcome::failed, 1},
    {kLeader, Life::never_run, "change-stored", 3, Outcome::failed, 1},
    {kLeader, Life::never_run, "job-removed", 2, Outcome::failed, 1},
};

std::string title_of(const testing::TestParamInfo<Crash>& info) {
  const auto& crash = info.param;
  constexpr std::array<std::string_view, 13> kLives = {"Run",      "Study",      "Stopped", "NeverBegun", "Held",
                                                       "Released", "LessUrgent", "Lost",    "Dependent",  "Gang",
                                                       "EachNode", "StudyAfter", "NeverRun"};
  constexpr std::array<std::string_view, 3> kVictims = {"Leader", "Agent", "Peer"};
  std::string title(kVictims[static_cast<std::size_t>(crash.victim)]);
  title += kLives[static_cast<std::size_t>(crash.life)];
  title += '_';
  for (const char letter : crash.point) title += letter == '-' ? '_' : letter;
  return title + "_" + std::to_string(crash.time);
}

constexpr int kStepsOfRun = 6;
constexpr int kRunsOfStudy = 3;

class ClusterCrash : public ClusterTest, public testing::WithParamInterface<Crash> {
 protected:
  AssayCli& cli() { return leader_.cli(); }
  std::map<std::string, std::string> death_of(Victim victim) const {
    if (GetParam().victim != victim) return {};
    return {{"ASSAY_CRASH_AT", std::string(GetParam().point) + ":" + std::to_string(GetParam().time)}};
  }
  void start_peer(const std::map<std::string, std::string>& environment) {
    peer_.emplace(leader_.start_agent("n2", {"--allow", "run"}, "", environment));
  }
  void start_agent(const std::map<std::string, std::string>& environment) {
    agent_.emplace(leader_.start_agent("n1", {"--allow", "run"}, "", environment));
  }
  void start() {
    leader_.start({"--retry-wait", "1s"}, death_of(Victim::leader));
    start_agent(death_of(Victim::agent));
    leader_.expect_state("n1", "online");
    if (GetParam().life != Life::gang && GetParam().life != Life::each_node) return;
    start_peer(death_of(Victim::peer));
    leader_.expect_state("n2", "online");
  }

  /// On the second node of two it says and leaves other things.
  std::string part_of_peer() {
    if (GetParam().life != Life::gang) return "";
    return "[ $RANK = 1 ] && { echo $ASSAY_RUN_ID >> " + peer_file().string() + "; for i in $(seq " +
           std::to_string(kStepsOfRun) + "); do echo part=$i; sleep 0.1; done; exit 0; }; ";
  }
  /// Counts, leaves a line for each time that it is begun, an artifact, and a mark among the processes.
  std::string spec() {
    const bool is_long = GetParam().life == Life::stopped || GetParam().life == Life::never_begun;
    std::string steps = std::to_string(is_long ? 100'000 : kStepsOfRun);
    // The first ends once the study behind it was asked for.
    const bool is_awaited = GetParam().life == Life::study_after || GetParam().life == Life::never_run;
    const std::string wait = is_awaited ? "until [ -e " + go_file().string() + " ]; do sleep 0.1; done; " : "";
    // The first attempt goes on until its agent is killed.
    if (GetParam().life == Life::lost) {
      steps = "$([ $(wc -l < " + begun_file().string() + ") -gt 1 ] && echo " + steps + " || echo 100000)";
    }
    return cli().write("counting.yaml",
                       "kind: command\ncommand: \"" + part_of_peer() + "echo $ASSAY_RUN_ID >> " +
                           begun_file().string() + "; " + wait + "for i in $(seq " + steps +
                           "); do echo step=$i loss=0.$i; sleep 0.1; done; echo all > $ASSAY_ARTIFACTS/kept.txt" +
                           (GetParam().life == Life::never_run ? "; exit 3" : "") + " # " + mark_ + "\"\n" +
                           (GetParam().life == Life::study       ? "repeat: 3\n"
                            : GetParam().life == Life::gang      ? "nodes: [n1, n2]\n"
                            : GetParam().life == Life::each_node ? "nodes: all\neach_node: true\n"
                                                                 : ""));
  }
  /// As it happens, until somebody dies.
  void live() {
    const auto life = GetParam().life;
    if (life == Life::never_begun || life == Life::held) agent_->kill_now();
    std::vector<std::string> order = {"submit", spec()};
    if (life == Life::each_node) order.insert(order.end(), {"--key", "nightly"});
    if (life != Life::gang && life != Life::each_node) order.insert(order.end(), {"--node", "n1"});
    if (life == Life::released || life == Life::less_urgent) order.emplace_back("--hold");
    if (life == Life::lost) order.insert(order.end(), {"--retries", "1"});
    const auto asked = cli().run(order);
    if (GetParam().victim != Victim::leader) {
      EXPECT_EQ(asked.exit_code, 0) << asked.error;
    }
    if (life == Life::stopped || life == Life::lost) {
      ASSERT_TRUE(eventually([&] { return !processes_with(mark_).empty(); })) << "the run does not start";
      ASSERT_TRUE(eventually([&] { return runs().at(0).at("state").as_string() == "running"; }));
    }
    if (life == Life::stopped || life == Life::never_begun) cli().run({"cancel", "@last"});
    if (life == Life::held) cli().run({"hold", "@last"});
    if (life == Life::released) cli().run({"release", "@last"});
    if (life == Life::less_urgent) cli().run({"queue", "set", "@last", "--priority", "-3"});
    if (life == Life::dependent) cli().run({"submit", spec(), "--node", "n1", "--after", "@last"});
    if (life == Life::study_after || life == Life::never_run) {
      const auto study = cli().write("study.yaml", read_file(cli().folder() / "counting.yaml").value() + "repeat: 2\n");
      EXPECT_EQ(cli().run({"submit", study, "--node", "n1", "--after", "@last"}).exit_code, 0);
      EXPECT_TRUE(write_file_atomically(go_file(), "").ok());
    }
    if (life == Life::lost) {
      agent_->kill_now();
      start_agent({});
    }
    AssayProcess& victim = GetParam().victim == Victim::leader  ? leader_.process()
                           : GetParam().victim == Victim::agent ? *agent_
                                                                : *peer_;
    ASSERT_TRUE(victim.dies()) << "it never comes to '" << GetParam().point << "'";
  }
  void come_back() {
    const auto life = GetParam().life;
    if (GetParam().victim == Victim::leader) {
      leader_.start({"--retry-wait", "1s"});
      if (life == Life::held) start_agent({});
      if (life == Life::held || life == Life::less_urgent) expect_kept_back();
      if (life == Life::each_node) {
        EXPECT_EQ(cli().run({"submit", spec(), "--key", "nightly"}).exit_code, 0) << "as whoever was given no answer";
      }
    } else if (GetParam().victim == Victim::peer) {
      start_peer({});
    } else {
      // Of two nodes the other one is ended by the leader, when it knows.
      EXPECT_TRUE(life == Life::gang || eventually([&] { return processes_with(mark_).empty(); }))
          << "a workload goes on without its agent";
      start_agent({});
    }
  }
  /// What was said of it before the leader died holds, until it is released.
  void expect_kept_back() {
    leader_.expect_state("n1", "online");
    const auto waiting = leader_.get("/api/v1/queue").at("runs").as_array();
    ASSERT_EQ(waiting.size(), 1U);
    EXPECT_TRUE(waiting[0].at("held").as_bool());
    EXPECT_EQ(waiting[0].at("reason").as_string(), "held");
    EXPECT_EQ(waiting[0].at("priority").to_number<int>(), GetParam().life == Life::less_urgent ? -3 : 0);
    EXPECT_EQ(cli().run({"release", "@last"}).exit_code, 0);
  }

  fs::path go_file() { return leader_.folder_for_runs() / "go"; }
  fs::path peer_file() { return leader_.folder_for_runs() / "begun-by-peer"; }
  fs::path begun_file() { return leader_.folder_for_runs() / "begun"; }
  static int times_begun(const fs::path& file, const std::string& run) {
    const auto text = read_file(file).value_or("");
    int count = 0;
    for (std::size_t at = text.find(run); at != std::string::npos; at = text.find(run, at + 1)) ++count;
    return count;
  }
  /// Oldest first.
  std::vector<json::object> runs() {
    std::vector<json::object> all;
    const auto answer = leader_.get("/api/v1/runs");
    for (const auto& run : answer.at("runs").as_array()) {
      all.insert(all.begin(), leader_.get("/api/v1/runs/" + std::string(run.at("id").as_string())));
    }
    return all;
  }
  fs::path leaders_runs() { return cli().data() / "runs"; }
  fs::path agents_store(const std::string& node = "n1") { return cli().folder() / "agents" / node / "runs"; }
  /// The bytes of every journal in a data folder, by run.
  static std::map<std::string, std::string> journals(const fs::path& runs) {
    std::map<std::string, std::string> all;
    std::error_code code;
    for (fs::directory_iterator entry(runs, code), end; !code && entry != end; entry.increment(code)) {
      const auto name = entry->path().filename().string();
      if (!name.starts_with(".")) all[name] = read_file(entry->path() / "journal").value_or("");
    }
    return all;
  }

  std::size_t expected_runs() const {
    const auto& crash = GetParam();
    if (crash.outcome == Outcome::nothing) return 0;
    if (crash.life == Life::lost || crash.life == Life::dependent || crash.life == Life::each_node) return 2;
    if (crash.life == Life::never_run) return 2;
    if (crash.life == Life::study_after) return 3;
    return crash.life == Life::study ? kRunsOfStudy : 1;
  }
  bool all_have_ended() {
    const auto all = runs();
    return all.size() == expected_runs() &&
           std::all_of(all.begin(), all.end(), [](const auto& run) { return run.at("state").as_string() == "ended"; });
  }
  void expect_lines(const std::string& id, bool all) {
    const auto text = cli().run({"logs", id}).out;
    for (int i = 1; i <= kStepsOfRun; ++i) {
      const auto line = "step=" + std::to_string(i) + " ";
      const auto first = text.find(line);
      if (all) {
        EXPECT_NE(first, std::string::npos) << line << "is lost";
      }
      if (first == std::string::npos) continue;
      EXPECT_EQ(text.find(line, first + 1), std::string::npos) << line << "is there twice";
    }
  }
  void expect_over(const std::string& id) {
    const auto lease = leader_.get("/api/v1/runs/" + id + "/lease");
    EXPECT_TRUE(lease.at("lease").is_null()) << "somebody still has it";
    const auto stop = leader_.request("POST", "/api/v1/runs/" + id + "/stop", leader_.owner_secret());
    EXPECT_EQ(stop.status, 404) << "the leader still has a job for it";
  }
  void expect_honest(const json::object& run, Outcome outcome, int executions) {
    const std::string id(run.at("id").as_string());
    const std::string verdict(run.at("verdict").as_string());
    SCOPED_TRACE("run " + id + " is " + verdict);
    const int begun = times_begun(begun_file(), id);
    EXPECT_LE(begun, executions);
    EXPECT_LE(times_begun(peer_file(), id), 1);
    if (outcome == Outcome::valid) {
      EXPECT_EQ(verdict, "valid");
    }
    if (outcome == Outcome::interrupted) {
      EXPECT_EQ(verdict, "interrupted");
    }
    if (outcome == Outcome::lost) {
      EXPECT_EQ(verdict, "failed");
      EXPECT_EQ(run.at("error").at("kind").as_string(), "lost_peer") << json::serialize(run.at("error"));
    }
    const bool has_failed = outcome == Outcome::lost || outcome == Outcome::failed;
    EXPECT_THAT(verdict, has_failed ? AnyOf("failed", "failed") : AnyOf("valid", "interrupted"));
    const bool valid = verdict == "valid";
    if (valid) {
      EXPECT_EQ(begun, 1);
    }
    expect_lines(id, valid);
    if (valid) {
      const auto kept = leader_.get("/api/v1/runs/" + id + "/artifacts");
      EXPECT_THAT(json::serialize(kept), HasSubstr("kept.txt"));
    }
    expect_over(id);
  }

  const std::string mark_ = "mark-" + new_id();
  std::optional<AssayProcess> agent_;
  std::optional<AssayProcess> peer_;
};

TEST_P(ClusterCrash, LosesDoublesAndLeavesNothing) {
  start();
  ASSERT_NO_FATAL_FAILURE(live());
  const auto leader_had = journals(leaders_runs());
  const auto agent_had = journals(agents_store() / "runs");
  come_back();

  const auto& crash = GetParam();
  EXPECT_TRUE(eventually([&] { return all_have_ended(); })) << "a run is missing, there twice or without an end";
  const auto all = runs();
  ASSERT_EQ(all.size(), expected_runs());
  // Of a study only the run that was under way may have suffered, and it is the second where a second time is meant.
  const std::size_t hit = crash.life == Life::study ? static_cast<std::size_t>(crash.time - 1) : 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool never_runs = crash.life == Life::never_run && i > hit;
    const auto otherwise = never_runs ? Outcome::interrupted : Outcome::valid;
    expect_honest(all[i], i == hit ? crash.outcome : otherwise, i == hit ? crash.executions : never_runs ? 0 : 1);
  }
  const auto leader_has = journals(leaders_runs());
  for (const auto& had : {leader_had, agent_had}) {
    for (const auto& [run, bytes] : had) EXPECT_THAT(leader_has.at(run), StartsWith(bytes)) << run;
  }
  EXPECT_TRUE(eventually([&] { return processes_with(mark_).empty(); })) << "a workload is left";
  if (crash.life == Life::never_begun) return;
  const auto is_clear = [](const fs::path& store) {
    std::error_code code;
    for (fs::directory_iterator entry(store, code), end; !code && entry != end; entry.increment(code)) {
      if (entry->path().filename().string().starts_with("trash-")) return false;
    }
    return journals(store / "runs").empty();
  };
  for (const char* node : {"n1", "n2"}) {
    EXPECT_TRUE(eventually([&] { return is_clear(agents_store(node)); })) << node << " keeps what the leader has";
  }
  EXPECT_EQ(cli().run({"reindex"}).exit_code, 0) << "what is stored is damaged";
}

INSTANTIATE_TEST_SUITE_P(At, ClusterCrash, testing::ValuesIn(kCrashes), title_of);

TEST(ClusterCrashes, AreTriedAtEveryPoint) {
  std::vector<std::string_view> tried;
  for (const auto& crash : kCrashes) tried.push_back(crash.point);
  for (const auto point : kCrashPoints) EXPECT_THAT(tried, Contains(point));
}

}  // namespace
}  // namespace assay
