#include "leader/live_hub.h"

#include <atomic>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "leader/leader_fixture.h"
#include "leader/test_agent_fixture.h"
#include "net/response_stream.h"
#include "net/sse.h"
#include "store/series_types.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class LiveHubTest : public LeaderTest {
 protected:
  LiveHubTest() { hello(agent_); }

  void read(std::vector<Sample> samples) {
    clock_.advance(std::chrono::milliseconds(100));
    taken(agent_, {agent_.batch(clock_.wall(), std::move(samples))});
  }
  EventStream subscribe(LiveFilter filter = {}, LiveViewer viewer = {}) {
    auto stream = leader_->live().subscribe(std::move(filter), std::move(viewer));
    EXPECT_TRUE(stream.ok());
    return *stream;
  }
  static std::string names_in(const json::object& data) {
    std::string names;
    for (const auto& series : data.at("series").as_array()) names += std::string(series.at("name").as_string()) + " ";
    return names;
  }

  TestAgent agent_;
};

TEST_F(LiveHubTest, ASnapshotThenOnlyWhatIsNew) {
  read({sample_of("host.load", 1), sample_of("gpu.util", 0.5, "GPU-1")});
  const auto stream = subscribe();
  auto events = events_of(stream);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].event, "snapshot");
  auto data = parsed(events[0].data);
  EXPECT_EQ(names_in(data), "host.load gpu.util ");
  EXPECT_THAT(data.at("values").as_array(), SizeIs(2));
  EXPECT_EQ(data.at("nodes").as_array()[0].at("name").as_string(), "gpu01");
  EXPECT_EQ(data.at("nodes").as_array()[0].at("state").as_string(), "online");

  leader_->live().tick();
  EXPECT_THAT(events_of(stream), IsEmpty()) << "nothing is new";
  read({sample_of("host.load", 2)});
  leader_->live().tick();
  events = events_of(stream);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].event, "delta");
  data = parsed(events[0].data);
  EXPECT_THAT(data.at("series").as_array(), IsEmpty()) << "it was named already";
  EXPECT_THAT(data.at("nodes").as_array(), IsEmpty());
  ASSERT_THAT(data.at("values").as_array(), SizeIs(1));
  const auto& value = data.at("values").as_array()[0].as_array();
  EXPECT_EQ(value[1].to_number<std::int64_t>(), clock_.wall().time_since_epoch().count() / 1'000'000);
  EXPECT_EQ(value[2].to_number<double>(), 2);
}

TEST_F(LiveHubTest, FiltersChooseMetricsAndNodes) {
  TestAgent other("gpu02", "other");
  hello(other);
  read({sample_of("host.load", 1), sample_of("gpu.util", 1, "G"), sample_of("gpu.power_w", 1, "G")});
  taken(other, {other.batch(clock_.wall(), {sample_of("gpu.util", 1, "H")})});
  const auto snapshot = [&](LiveFilter filter) {
    const auto events = events_of(subscribe(std::move(filter)));
    return events.empty() ? json::object{} : parsed(events[0].data);
  };
  EXPECT_EQ(names_in(snapshot({.metrics = {"gpu.*"}, .nodes = {"gpu01"}})), "gpu.util gpu.power_w ");
  EXPECT_EQ(names_in(snapshot({.metrics = {"gpu.util"}})), "gpu.util gpu.util ");
  EXPECT_EQ(names_in(snapshot({.metrics = {"gpu"}})), "") << "a beginning needs its star";
  const auto of_other = snapshot({.metrics = {"*"}, .nodes = {"gpu02"}});
  EXPECT_EQ(names_in(of_other), "gpu.util ");
  EXPECT_THAT(of_other.at("nodes").as_array(), SizeIs(1));
}

TEST_F(LiveHubTest, StatesAndGpusAreToldWhenTheyChange) {
  const auto stream = subscribe();
  events_of(stream);
  const auto told = [&] {
    leader_->live().tick();
    std::string text;
    for (const auto& event : events_of(stream)) {
      const auto data = parsed(event.data);
      for (const auto& node : data.at("nodes").as_array()) text += json::serialize(node);
    }
    return text;
  };
  EXPECT_EQ(told(), "");
  Reading reading;
  reading.devices = {{.id = "GPU-1"}, {.id = "GPU-2"}};
  taken(agent_, {agent_.batch(clock_.wall(), reading)});
  EXPECT_EQ(told(), R"({"name":"gpu01","state":"online","simulated":false,"gpus":2})");
  clock_.advance(std::chrono::seconds(2));
  EXPECT_EQ(told(), R"({"name":"gpu01","state":"late","simulated":false,"gpus":2})");
  clock_.advance(std::chrono::seconds(2));
  EXPECT_EQ(told(), R"({"name":"gpu01","state":"offline","simulated":false,"gpus":2})");
  EXPECT_EQ(told(), "");
}

TEST_F(LiveHubTest, ANodeThatWasForgottenAndCameBackIsToldAnew) {
  read({sample_of("host.load", 1)});
  const auto stream = subscribe();
  clock_.advance(std::chrono::seconds(5));
  leader_->live().tick();
  events_of(stream);
  ASSERT_TRUE(leader_->forget("gpu01", true).ok());
  TestAgent again("gpu01", "again");
  hello(again);
  taken(again, {again.batch(clock_.wall(), {sample_of("host.load", 2)})});
  leader_->live().tick();
  const auto events = events_of(stream);
  ASSERT_THAT(events, SizeIs(1));
  const auto data = parsed(events[0].data);
  EXPECT_THAT(data.at("nodes").as_array(), SizeIs(1));
  EXPECT_THAT(data.at("values").as_array(), SizeIs(1));
}

TEST_F(LiveHubTest, WhatIsNoNumberIsNull) {
  read({sample_of("host.load", std::numeric_limits<double>::quiet_NaN()),
        sample_of("host.cpu_util", std::numeric_limits<double>::infinity())});
  const auto events = events_of(subscribe());
  ASSERT_THAT(events, SizeIs(1));
  const auto values = parsed(events[0].data).at("values").as_array();
  ASSERT_THAT(values, SizeIs(2));
  for (const auto& value : values) EXPECT_TRUE(value.as_array()[2].is_null());
}

TEST_F(LiveHubTest, AlertsGoToEverybodyOnce) {
  leader_->live().publish_alert(R"({"id":"nobody"})");
  const auto stream = subscribe({.nodes = {"gpu99"}});
  leader_->live().publish_alert(R"({"id":"a"})");
  leader_->live().publish_alert(R"({"id":"b"})");
  events_of(stream);
  leader_->live().tick();
  leader_->live().tick();
  const auto events = events_of(stream);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(json::serialize(parsed(events[0].data).at("alerts")), R"([{"id":"a"},{"id":"b"}])");
}

/// A cluster whose first picture is larger than what is told in one tick.
class LargeLiveHub : public LiveHubTest {
 protected:
  static constexpr int kNodes = 40;
  static constexpr int kSeries = 250;

  LargeLiveHub() {
    for (int number = 0; number < kNodes; ++number) {
      TestAgent agent("node" + std::to_string(1000 + number), "s");
      hello(agent);
      std::vector<Sample> samples;
      samples.reserve(kSeries);
      for (int i = 0; i < kSeries; ++i) samples.push_back(sample_of("gpu.metric" + std::to_string(i), i, kUuid));
      taken(agent, {agent.batch(clock_.wall(), std::move(samples))});
    }
  }
  static constexpr const char* kUuid = "GPU-6a1f4c1e-0000-0000-0000-0123456789ab";
};

TEST_F(LargeLiveHub, ComesInEventsOfABoundedSizeAndCompletely) {
  const auto stream = subscribe();
  std::set<std::string> nodes;
  std::size_t values = 0, bytes = 0;
  int quiet = 0;
  for (int tick = 0; tick < 100 && quiet < 2; ++tick) {
    const auto events = events_of(stream);
    quiet = events.empty() ? quiet + 1 : 0;
    std::size_t of_tick = 0;
    for (const auto& event : events) {
      EXPECT_EQ(event.event, bytes == 0 ? "snapshot" : "delta");
      EXPECT_LT(event.data.size(), 2 * LiveHub::kEventBytes);
      of_tick += event.data.size();
      bytes += event.data.size();
      const auto data = parsed(event.data);
      values += data.at("values").as_array().size();
      EXPECT_EQ(data.at("values").as_array().size(), data.at("series").as_array().size());
      for (const auto& node : data.at("nodes").as_array()) nodes.emplace(node.at("name").as_string());
    }
    EXPECT_LT(of_tick, LiveHub::kTickBytes + 2 * LiveHub::kEventBytes);
    leader_->live().tick();
  }
  ASSERT_GT(bytes, 3 * LiveHub::kTickBytes / 2) << "or this test shows nothing";
  EXPECT_EQ(nodes.size(), kNodes + 1u);
  EXPECT_EQ(values, std::size_t{kNodes} * kSeries);
  EXPECT_TRUE(stream.open());
}

TEST_F(LiveHubTest, ASlowClientIsCutOff) {
  const auto slow = subscribe();
  const auto quick = subscribe();
  // Nobody takes anything from the slow one.
  const std::string big_alert = R"({"text":")" + std::string(1 << 20, 'x') + R"("})";
  for (std::size_t i = 0; i * big_alert.size() <= LiveHub::kQueueBytes; ++i) {
    leader_->live().publish_alert(big_alert);
    leader_->live().tick();
    events_of(quick);
  }
  EXPECT_FALSE(slow.open());
  EXPECT_TRUE(quick.open());
  EXPECT_EQ(leader_->live().clients(), 1u);
}

TEST_F(LiveHubTest, AClientThatLeftIsForgotten) {
  const auto stream = subscribe();
  EXPECT_EQ(leader_->live().clients(), 1u);
  stream.stream()->detach();
  leader_->live().tick();
  EXPECT_EQ(leader_->live().clients(), 0u);
}

TEST_F(LiveHubTest, ThereIsAMostOfClients) {
  std::vector<EventStream> streams;
  for (std::size_t i = 0; i < LiveHub::kMaxClients; ++i) {
    streams.push_back(subscribe({}, {.name = "viewer" + std::to_string(i / LiveHub::kMaxOfViewer)}));
  }
  const auto refused = leader_->live().subscribe({}, {.name = "another"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  streams[0].stream()->detach();
  EXPECT_TRUE(leader_->live().subscribe({}, {.name = "another"}).ok()) << "one has left";
}

TEST_F(LiveHubTest, NobodyTakesEveryPlace) {
  std::vector<EventStream> streams;
  for (std::size_t i = 0; i < LiveHub::kMaxOfViewer; ++i) streams.push_back(subscribe({}, {.name = "greedy"}));
  const auto refused = leader_->live().subscribe({}, {.name = "greedy"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::busy);
  EXPECT_TRUE(leader_->live().subscribe({}, {.name = "modest"}).ok());
}

TEST_F(LiveHubTest, WhoIsNoLongerAllowedIsCutOff) {
  bool allowed = true;
  int asked = 0;
  const auto stream = subscribe({}, {.name = "viewer", .still_allowed = [&] {
                                       ++asked;
                                       return allowed;
                                     }});
  const auto other = subscribe();
  leader_->live().tick();
  EXPECT_EQ(asked, 0) << "it was looked at when it came";
  clock_.advance(LiveHub::kRecheck);
  leader_->live().tick();
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(stream.open());
  allowed = false;
  clock_.advance(LiveHub::kRecheck);
  leader_->live().tick();
  EXPECT_FALSE(stream.open());
  EXPECT_TRUE(other.open());
  EXPECT_EQ(leader_->live().clients(), 1u);
}

TEST_F(LiveHubTest, OneNodeWithLongLabelsComesInBoundedTicksAndCompletely) {
  constexpr int kSeries = 4000;
  std::vector<Sample> samples;
  samples.reserve(kSeries);
  for (int i = 0; i < kSeries; ++i) {
    samples.push_back(sample_of("m" + std::to_string(i), i));
    for (const char* label : {"a", "b", "c", "d"}) samples.back().key.labels[label] = std::string(250, 'x');
  }
  read(std::move(samples));
  const auto stream = subscribe();
  std::set<std::int64_t> named, valued;
  std::size_t bytes = 0;
  for (int tick = 0; tick < 20; ++tick) {
    std::size_t of_tick = 0;
    for (const auto& event : events_of(stream)) {
      EXPECT_LT(event.data.size(), 2 * LiveHub::kEventBytes);
      of_tick += event.data.size();
      const auto data = parsed(event.data);
      for (const auto& series : data.at("series").as_array()) {
        EXPECT_TRUE(named.insert(series.at("id").to_number<std::int64_t>()).second) << "it was named already";
      }
      for (const auto& value : data.at("values").as_array()) {
        EXPECT_TRUE(valued.insert(value.as_array()[0].to_number<std::int64_t>()).second) << "it was told already";
      }
    }
    EXPECT_LT(of_tick, 2 * LiveHub::kTickBytes);
    bytes += of_tick;
    leader_->live().tick();
  }
  ASSERT_GT(bytes, 3 * LiveHub::kTickBytes) << "or this test shows nothing";
  EXPECT_EQ(named.size(), std::size_t{kSeries});
  EXPECT_EQ(valued, named);
  EXPECT_TRUE(stream.open());
  leader_->live().tick();
  EXPECT_THAT(events_of(stream), IsEmpty()) << "all of it was told";
}

TEST_F(LiveHubTest, WhoWantsTheSameIsToldWithTheSameWords) {
  read({sample_of("host.load", 1), sample_of("gpu.util", 0.5, "GPU-1")});
  std::vector<EventStream> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(subscribe());
  for (int i = 0; i < 2; ++i) streams.push_back(subscribe({.metrics = {"gpu.*", "host.load"}}));
  streams.push_back(subscribe({.metrics = {"host.load", "gpu.*", "gpu.*"}}));
  for (const auto& stream : streams) EXPECT_EQ(events_of(stream).at(0).event, "snapshot");
  read({sample_of("host.load", 2)});
  leader_->live().tick();
  EXPECT_EQ(leader_->live().audiences(), 2u);
  EXPECT_EQ(leader_->live().clients(), 6u);
  read({sample_of("host.load", 3), sample_of("host.new", 1)});
  leader_->live().tick();
  for (const auto& stream : streams) {
    const auto events = events_of(stream);
    ASSERT_THAT(events, SizeIs(2));
    EXPECT_THAT(parsed(events[0].data).at("values").as_array(), SizeIs(1));
    const bool is_choosy = &stream - streams.data() >= 3;
    EXPECT_EQ(names_in(parsed(events[1].data)), is_choosy ? "" : "host.new ");
  }
  streams[0].stream()->detach();
  leader_->live().tick();
  EXPECT_EQ(leader_->live().audiences(), 2u) << "the others are still there";
  EXPECT_EQ(leader_->live().clients(), 5u);
}

TEST_F(LargeLiveHub, WhoIsBehindJoinsOnceItHasHeardEverything) {
  const auto early = subscribe();
  const auto drain = [](const EventStream& stream) {
    std::size_t values = 0;
    for (const auto& event : events_of(stream)) values += parsed(event.data).at("values").as_array().size();
    return values;
  };
  for (int i = 0; i < 20; ++i) leader_->live().tick();
  EXPECT_EQ(drain(early), std::size_t{kNodes} * kSeries);
  const auto late = subscribe();
  EXPECT_EQ(leader_->live().audiences(), 2u);
  const std::size_t at_once = drain(late);
  ASSERT_LT(at_once, std::size_t{kNodes} * kSeries) << "or this test shows nothing";
  for (int i = 0; i < 20; ++i) leader_->live().tick();
  EXPECT_EQ(leader_->live().audiences(), 1u);
  EXPECT_EQ(at_once + drain(late), std::size_t{kNodes} * kSeries);
  EXPECT_EQ(drain(early), 0u) << "it knew all that";
}

/// What a dashboard makes of a stream.
class Watcher {
 public:
  explicit Watcher(EventStream stream) : stream_(std::move(stream)) {}

  void read() {
    for (const auto& event : events_of(stream_)) {
      const auto data = parsed(event.data);
      for (const auto& series : data.at("series").as_array()) {
        names_[series.at("id").to_number<std::int64_t>()] =
            std::string(series.at("node").as_string()) + " " + std::string(series.at("name").as_string());
      }
      for (const auto& value : data.at("values").as_array()) {
        const auto& row = value.as_array();
        const auto name = names_.find(row[0].to_number<std::int64_t>());
        ASSERT_NE(name, names_.end()) << "a value of a series without a name";
        const auto time = row[1].to_number<std::int64_t>();
        ASSERT_GT(time, times_[name->second]) << "told twice";
        times_[name->second] = time;
        values_[name->second] = row[2].to_number<double>();
      }
    }
  }
  const std::map<std::string, double>& values() const { return values_; }

 private:
  EventStream stream_;
  std::map<std::int64_t, std::string> names_;
  std::map<std::string, std::int64_t> times_;
  std::map<std::string, double> values_;
};

TEST_F(LiveHubTest, WhoeverComesWheneverEndsUpKnowingTheSame) {
  constexpr int kNodes = 5;
  std::map<std::string, double> newest;
  std::atomic<bool> done = false;
  // Values come while clients are being told.
  std::jthread feeder([&] {
    std::mt19937 random(3);
    std::vector<TestAgent> agents;
    for (int i = 0; i < kNodes; ++i) hello(agents.emplace_back("node" + std::to_string(i), "s"));
    for (int round = 1; round <= 400; ++round) {
      TestAgent& agent = agents[random() % kNodes];
      std::vector<Sample> samples;
      for (int i = 0; i < 1 + round / 20; ++i) {
        const std::string name = "m" + std::to_string(i);
        if (random() % 2 == 0) samples.push_back(sample_of(name, round));
        if (!samples.empty() && samples.back().key.name == name) newest[agent.node() + " " + name] = round;
      }
      taken(agent, {agent.batch(clock_.wall() + std::chrono::milliseconds(round), std::move(samples))});
    }
    done = true;
  });
  std::vector<Watcher> watchers;
  std::mt19937 random(4);
  for (int i = 0; !done; ++i) {
    if (i % 4 == 0 && watchers.size() < 60) watchers.emplace_back(subscribe({}, {.name = std::to_string(i)}));
    leader_->live().tick();
    watchers[random() % watchers.size()].read();
  }
  feeder.join();
  leader_->live().tick();
  EXPECT_EQ(leader_->live().audiences(), 1u);
  for (auto& watcher : watchers) {
    watcher.read();
    EXPECT_EQ(watcher.values(), newest);
  }
}

TEST_F(LiveHubTest, FinishEndsEveryStream) {
  const auto stream = subscribe();
  leader_->live().finish();
  EXPECT_FALSE(stream.open());
  EXPECT_EQ(leader_->live().clients(), 0u);
}

}  // namespace
}  // namespace assay
