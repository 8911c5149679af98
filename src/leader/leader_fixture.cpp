#include "leader/leader_fixture.h"

#include "accounts/accounts.h"
#include "leader/leader_options.h"
#include "leader/node.h"
#include "leader/node_registry.h"
#include "leader/node_status.h"
#include "leader/test_agent_fixture.h"
#include "net/response_stream.h"
#include "net/sse.h"
#include "store/memory/run_memory.h"
#include "store/memory/series_memory.h"
#include "store/run_store.h"

namespace assay {

std::vector<ServerEvent> events_of(const EventStream& stream) {
  std::vector<ResponseStream::Piece> pieces;
  stream.stream()->take(pieces);
  std::string bytes;
  for (const auto& piece : pieces) bytes += *piece;
  std::vector<ServerEvent> events;
  SseParser parser({.line_bytes = std::size_t{64} << 20, .event_bytes = std::size_t{64} << 20});
  for (std::string_view rest = bytes;;) {
    auto event = parser.next(rest);
    EXPECT_TRUE(event.ok()) << event.error().text();
    if (!event || !*event) return events;
    events.push_back(std::move(**event));
  }
}

LeaderTest::LeaderTest()
    : runs_(open_run_memory(make_run_memory(), clock_)),
      series_(std::make_unique<SeriesMemory>(clock_)),
      series_store_(series_.get()) {
  open();
}

LeaderTest::~LeaderTest() = default;

void LeaderTest::open() { open(LeaderOptions()); }

void LeaderTest::open(LeaderOptions options) {
  leader_.reset();
  options.intake = intake_;
  options.accounts.anonymous = anonymous_;
  options.accounts.people.cost = {.passes = 1, .memory_bytes = 8192};  // the least there is
  auto leader =
      Leader::open(std::move(options), {.cluster = cluster_, .series = *series_store_, .runs = *runs_}, clock_);
  ASSERT_TRUE(leader.ok()) << leader.error().text();
  leader_ = std::move(*leader);
}

void LeaderTest::hello(const TestAgent& agent) {
  const auto said = leader_->hello(agent.node(), agent.hello());
  ASSERT_TRUE(said.ok()) << said.error().text();
}

Result<Leader::Receipt> LeaderTest::take(const TestAgent& agent, const std::vector<Batch>& batches) {
  return leader_->take_batches(agent.node(), body_of(batches), std::nullopt);
}

Leader::Receipt LeaderTest::taken(const TestAgent& agent, const std::vector<Batch>& batches) {
  const auto receipt = take(agent, batches);
  EXPECT_TRUE(receipt.ok()) << receipt.error().text();
  return receipt ? *receipt : Leader::Receipt{};
}

std::map<std::string, std::vector<double>> LeaderTest::stored(const std::string& metric) {
  std::map<std::string, std::vector<double>> values;
  const auto found = leader_->series().list({.name = metric});
  EXPECT_TRUE(found.ok());
  for (const auto& series : *found) {
    std::string labels;
    for (const auto& [name, value] : series.key.labels) labels.append(name).append("=").append(value).append(" ");
    const auto points = leader_->series().points(series.id, {}, 1000);
    EXPECT_TRUE(points.ok());
    for (const auto& point : points->points) values[labels].push_back(point.value);
  }
  return values;
}

NodeStatus LeaderTest::status_of(const std::string& node) {
  const auto found = leader_->nodes().find(node);
  EXPECT_NE(found, nullptr);
  return found ? found->status(clock_.now()) : NodeStatus{};
}

}  // namespace assay
