#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "leader/leader_fixture.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/run_desk.h"
#include "leader/test_agent_fixture.h"
#include "model/study.h"
#include "net/response_stream.h"
#include "net/sse.h"
#include "store/run_store.h"
#include "telemetry/reading.h"

namespace assay {

/// A leader with two nodes that take runs, one of them with two GPUs, and one that takes none.
class RunDeskTest : public LeaderTest {
 protected:
  RunDeskTest() {
    join("gpu01", {"GPU-a", "GPU-b"});
    join("gpu02", {});
    join("idle", {}, {"doctor"});
  }

  void join(const std::string& name, const std::vector<std::string>& gpus, std::vector<std::string> allow = {"run"}) {
    std::vector<DeviceFacts> devices;
    for (const auto& id : gpus) devices.push_back({.id = id, .facts = {}});
    join_with(name, std::move(devices), {}, std::move(allow));
  }
  void join_with(const std::string& name, std::vector<DeviceFacts> devices,
                 const std::map<std::string, std::string>& facts, std::vector<std::string> allow = {"run"}) {
    TestAgent agent(name, "stream-" + name);
    auto said = agent.hello();
    said.allow = std::move(allow);
    said.facts.insert(facts.begin(), facts.end());
    if (!addresses_.empty()) said.facts["address"] = addresses_;
    EXPECT_TRUE(leader_->hello(name, said).ok());
    Reading reading;
    reading.devices = std::move(devices);
    EXPECT_TRUE(
        leader_->take_batches(name, body_of({agent.batch(clock_.wall(), std::move(reading))}), std::nullopt).ok());
  }

  RunDesk& desk() { return leader_->run_desk(); }

  static PlannedRun planned(json::object spec = {{"kind", "null"}}, std::string variant = "baseline") {
    PlannedRun one{.variant = std::move(variant)};
    one.spec = std::move(spec);
    return one;
  }
  static PlannedRun training(int ranks) {
    auto one = planned({{"kind", "train"}, {"device", "auto"}});
    one.ranks = ranks;
    return one;
  }

  Result<RunDesk::Accepted> ask(RunRequest request) {
    clock_.advance(std::chrono::seconds(1));
    heartbeat();
    if (request.name.empty()) request.name = "bench";
    if (request.by.empty()) request.by = "ada";
    return desk().ask(request);
  }
  Result<RunDesk::Accepted> ask(std::vector<PlannedRun> plan, const std::string& node = "gpu01") {
    return ask(RunRequest{.plan = std::move(plan), .node = node});
  }
  std::string asked(const RunRequest& request) {
    const auto accepted = ask(request);
    EXPECT_TRUE(accepted.ok()) << accepted.error().text();
    return accepted ? accepted->run : "";
  }
  std::string asked(std::vector<PlannedRun> plan, const std::string& node = "gpu01") {
    const auto accepted = ask(std::move(plan), node);
    EXPECT_TRUE(accepted.ok()) << accepted.error().text();
    return accepted ? accepted->run : "";
  }
  /// Nodes stay online.
  void heartbeat() {
    for (const auto& node : leader_->nodes().all()) {
      if (!silent_.contains(node->name())) node->heard({clock_.now(), clock_.wall()}, std::nullopt);
    }
  }
  void tick() {
    heartbeat();
    const auto done = desk().tick();
    EXPECT_TRUE(done.ok()) << done.error().text();
  }

  /// What the node is told to do: ids, with "!" behind those that are to stop.
  std::vector<std::string> told(const std::string& node = "gpu01") {
    const auto events = events_of(desk().listen(node, {}));
    std::vector<std::string> jobs;
    if (events.empty()) return jobs;
    const auto data = parsed(events.back().data);
    for (const auto& job : data.at("jobs").as_array()) {
      jobs.push_back(std::string(job.at("run").as_string()) + (job.at("stop").as_bool() ? "!" : ""));
    }
    return jobs;
  }

  Lease taken(const std::string& run, const std::string& node = "gpu01") {
    const auto taken = desk().take(node, run);
    EXPECT_TRUE(taken.ok()) << taken.error().text();
    return taken ? taken->lease : Lease{};
  }
  void end(const Lease& lease, Verdict verdict = Verdict::valid) {
    const auto ended = runs_->change_owned(lease, [&](Run& run) -> Result<void> {
      run.state = RunState::ended;
      run.verdict = verdict;
      return {};
    });
    EXPECT_TRUE(ended.ok()) << ended.error().text();
  }
  RunState state_of(const std::string& run) { return runs_->find_run(run)->state; }
  QueuedRun queued(const std::string& run) {
    const auto found = desk().find(run);
    EXPECT_TRUE(found.ok()) << found.error().text();
    return found ? *found : QueuedRun{};
  }
  std::string node_of(const std::string& run) { return queued(run).node; }

  static RunRequest anywhere(PlannedRun planned) { return {.plan = {std::move(planned)}}; }
  static PlannedRun lasting(int seconds) {
    return planned({{"kind", "null"}, {"device", "cpu"}, {"duration", seconds}});
  }
  /// As when the agent of its node was killed: the run is interrupted.
  void lose(const std::string& run, const std::string& node) { end(taken(run, node), Verdict::interrupted); }
  void pass(Nanos time) {
    clock_.advance(time);
    tick();
  }

  std::set<std::string> silent_;  ///< nodes that are not heard of
  std::string addresses_;         ///< of nodes that join from now on; empty: they do no parts of runs over several
};

}  // namespace assay
