#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leader/intake_budget.h"
#include "leader/leader.h"
#include "net/response_stream.h"
#include "protocol/batch.h"
#include "protocol/hello.h"
#include "store/memory/cluster_memory.h"
#include "store/memory/run_memory.h"
#include "store/memory/series_memory.h"
#include "telemetry/reading.h"

namespace assay {

struct NodeStatus;

/// A value of the host, or of a GPU where one is named.
inline Sample sample_of(std::string metric, double value, std::string gpu = "", std::string unit = "ratio") {
  Sample sample{.key = {.name = std::move(metric)}, .unit = std::move(unit), .value = value};
  if (!gpu.empty()) sample.key.labels["gpu"] = std::move(gpu);
  return sample;
}

/// The body of a request with these batches.
inline std::string body_of(const std::vector<Batch>& batches) {
  std::string body;
  for (const auto& batch : batches) append_framed(body, encode_batch(batch));
  return body;
}

/// What was sent on a stream since the last call.
std::vector<ServerEvent> events_of(const EventStream& stream);

inline testing::Matcher<const LeaderProblem&> problem_that_says(const std::string& text) {
  return testing::Field(&LeaderProblem::text, testing::HasSubstr(text));
}

inline json::object parsed(std::string_view text) {
  auto value = parse_json(text);
  EXPECT_TRUE(value.ok()) << text;
  return value && value->is_object() ? value->as_object() : json::object{};
}

/// An agent's side of one stream, as tests steer it.
class TestAgent {
 public:
  explicit TestAgent(std::string node = "gpu01", std::string stream = "stream-1")
      : node_(std::move(node)), builder_(std::move(stream)) {}

  AgentHello hello() const {
    return {.stream = builder_.stream(), .version = "0.4.0", .facts = {{"kernel", "6.1.0"}}, .allow = {"doctor"}};
  }
  Batch batch(WallTime time, std::vector<Sample> samples) {
    Reading reading;
    reading.samples = std::move(samples);
    return batch(time, std::move(reading));
  }
  Batch batch(WallTime time, Reading reading) {
    builder_.add(time, std::move(reading));
    return builder_.take();
  }
  /// As an agent sends again what a leader has forgotten: with every series named.
  Batch with_all_names(Batch batch) const {
    batch.first_series = 0;
    batch.series = builder_.names();
    return batch;
  }
  const std::string& node() const { return node_; }

 private:
  std::string node_;
  BatchBuilder builder_;
};

/// A leader without threads over stores of its own; the test owns the time.
class LeaderTest : public testing::Test {
 protected:
  using Run = assay::Run;  // gtest has a function of that name

  LeaderTest() { open(); }

  /// Opens the leader again, as after a restart.
  void open();
  void open(LeaderOptions options);

  void hello(const TestAgent& agent) {
    const auto said = leader_->hello(agent.node(), agent.hello());
    ASSERT_TRUE(said.ok()) << said.error().text();
  }
  Result<Leader::Receipt> take(const TestAgent& agent, const std::vector<Batch>& batches) {
    return leader_->take_batches(agent.node(), body_of(batches), std::nullopt);
  }
  Leader::Receipt taken(const TestAgent& agent, const std::vector<Batch>& batches) {
    const auto receipt = take(agent, batches);
    EXPECT_TRUE(receipt.ok()) << receipt.error().text();
    return receipt ? *receipt : Leader::Receipt{};
  }

  /// The stored values of every series of that name, by its labels.
  std::map<std::string, std::vector<double>> stored(const std::string& metric);
  /// "kind: message", oldest first.
  std::vector<std::string> event_texts(const std::string& node = "") {
    std::vector<std::string> texts;
    const auto page = cluster_.events().list({.node = node, .limit = 10'000});
    EXPECT_TRUE(page.ok());
    for (const auto& event : page->events) texts.insert(texts.begin(), event.kind + ": " + event.message);
    return texts;
  }
  NodeStatus status_of(const std::string& node);

  TemporaryFolder folder_;
  ManualClock clock_;
  ClusterMemory cluster_;
  std::unique_ptr<RunStore> runs_ = open_run_memory(make_run_memory(), clock_);
  SeriesMemory series_{clock_};
  SeriesStore* series_store_ = &series_;
  IntakeLimits intake_;
  bool anonymous_ = false;  ///< who says nothing about themselves may look
  std::unique_ptr<Leader> leader_;
};

}  // namespace assay
