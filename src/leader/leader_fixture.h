#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "leader/intake_budget.h"
#include "leader/leader.h"
#include "store/event_log.h"
#include "store/memory/cluster_memory.h"

namespace assay {

class EventStream;
class RunStore;
class SeriesMemory;
class SeriesStore;
class TestAgent;
struct Batch;
struct NodeStatus;
struct Run;
struct ServerEvent;

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

/// A leader without threads over stores of its own; the test owns the time.
class LeaderTest : public testing::Test {
 protected:
  using Run = assay::Run;  // gtest has a function of that name

  LeaderTest();
  ~LeaderTest() override;

  /// Opens the leader again, as after a restart.
  void open();
  void open(LeaderOptions options);

  void hello(const TestAgent& agent);
  Result<Leader::Receipt> take(const TestAgent& agent, const std::vector<Batch>& batches);
  Leader::Receipt taken(const TestAgent& agent, const std::vector<Batch>& batches);

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
  std::unique_ptr<RunStore> runs_;
  std::unique_ptr<SeriesMemory> series_;
  SeriesStore* series_store_;
  IntakeLimits intake_;
  bool anonymous_ = false;  ///< who says nothing about themselves may look
  std::unique_ptr<Leader> leader_;
};

}  // namespace assay
