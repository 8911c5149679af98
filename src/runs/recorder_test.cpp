#include "runs/recorder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>

#include "launch/job_stream.h"
#include "support/collecting_writer.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class RecorderTest : public testing::Test {
 protected:
  RunRecorder make(RecorderOptions options = {}) {
    return RunRecorder(writer_, TextMetrics::make({}).value(), options, clock_);
  }
  ManualClock clock_;
  CollectingWriter writer_;
};

TEST_F(RecorderTest, StepsBecomePointsAndNothingElse) {
  auto recorder = make();
  recorder.add_events(R"({"type":"step","step":5,"loss":0.5,"samples_per_second":100,"note":"text"})"
                      "\n"
                      R"({"type":"step","loss":0.25})"
                      "\n");
  recorder.close();
  EXPECT_THAT(writer_.values("loss"), ElementsAre(0.5, 0.25));
  EXPECT_THAT(writer_.steps("loss"), ElementsAre(5, 6));
  EXPECT_THAT(writer_.values("samples_per_second"), ElementsAre(100));
  EXPECT_THAT(writer_.events, IsEmpty());
  EXPECT_EQ(recorder.facts().events, 2);
  EXPECT_EQ(recorder.facts().last_step, 6);
}

TEST_F(RecorderTest, BatchedStepsWithTheirOwnTimes) {
  auto recorder = make();
  recorder.add_events(R"({"type":"steps","first":10,"loss":[3,2,1],"t":[0.1,0.2,0.3],"gpu_memory_bytes":42})"
                      "\n");
  EXPECT_THAT(writer_.steps("loss"), ElementsAre(10, 11, 12));
  EXPECT_THAT(writer_.steps("gpu_memory_bytes"), ElementsAre(12));
  const auto points = writer_.points_of("loss");
  EXPECT_EQ(points[1].time_ns - points[0].time_ns, 100'000'000);
  EXPECT_EQ(points[0].time_ns, clock_.wall().time_since_epoch().count() + 100'000'000);
}

TEST_F(RecorderTest, ReadingsOfNodesHaveTheTimesOfTheirClocksFromTheStartOn) {
  auto recorder = make();
  clock_.advance(std::chrono::seconds(5));
  // The clocks there are far from ours, and a tenth of a second from each other.
  const WallTime there{std::chrono::hours(1000)};
  std::array writers = {
      ReadingLineWriter({.number = 0, .of = 2, .host = "gpu01", .began = there}),
      ReadingLineWriter({.number = 1, .of = 2, .host = "gpu02", .began = there + std::chrono::milliseconds(100)})};
  std::string lines;
  for (auto& writer : writers) {
    writer.introduce(lines);
    for (int second = 1; second < 3; ++second) {
      writer.add(lines, there + std::chrono::seconds(second),
                 {{.key = {.name = "host.cpu_util", .labels = {}}, .unit = "ratio", .value = 0.5}});
    }
  }
  for (const char c : lines) recorder.add_readings({&c, 1});
  ASSERT_THAT(writer_.keys, SizeIs(2));
  for (std::size_t node = 0; node < 2; ++node) {
    EXPECT_EQ(writer_.keys[node].labels, (std::map<std::string, std::string>{{"node", node ? "gpu02" : "gpu01"}}));
    EXPECT_EQ(writer_.units[node], "ratio");
    ASSERT_THAT(writer_.points[node], SizeIs(2));
    const auto started = recorder.started().time_since_epoch().count();
    EXPECT_EQ(writer_.points[node][0].time_ns, started + 1'000'000'000);
    EXPECT_EQ(writer_.points[node][1].time_ns, started + 2'000'000'000);
    EXPECT_EQ(writer_.points[node][1].step, kNoStep);
  }
  EXPECT_EQ(recorder.facts().nodes_measured, 2);
  EXPECT_EQ(recorder.taken()[JobStream::readings], lines.size());
}

TEST_F(RecorderTest, MarksSayOnceWhichSeriesThereAre) {
  auto recorder = make({.marks = true});
  ReadingLineWriter writer({.host = "gpu01"});
  std::string lines;
  const auto add = [&] {
    writer.add(lines, {}, {{.key = {.name = "host.cpu_util", .labels = {}}, .unit = "ratio", .value = 0.5}});
  };
  writer.introduce(lines);
  add();
  recorder.add_readings(lines);
  recorder.flush();
  lines.clear();
  writer.introduce(lines);
  add();
  recorder.add_readings(lines);
  recorder.flush();
  ASSERT_THAT(writer_.marks, SizeIs(2));
  EXPECT_THAT(writer_.marks[0], testing::AllOf(HasSubstr("reading_lines"), HasSubstr("host.cpu_util")));
  EXPECT_THAT(writer_.marks[1], testing::Not(HasSubstr("reading_lines")));
}

TEST_F(RecorderTest, TimeIsWhenTheEventCameUnlessItSays) {
  auto recorder = make();
  clock_.advance(std::chrono::seconds(2));
  recorder.add_events("{\"type\":\"step\",\"loss\":1}\n");
  clock_.advance(std::chrono::seconds(1));
  recorder.add_events("{\"type\":\"step\",\"loss\":1,\"t\":-5}\n");
  const auto points = writer_.points_of("loss");
  EXPECT_EQ(points[1].time_ns - points[0].time_ns, 1'000'000'000);
}

TEST_F(RecorderTest, EveryOtherEventIsKeptAsItCame) {
  auto recorder = make();
  recorder.add_events(
      "{\"type\":\"hello\",\"total_steps\":100,\"versions\":{\"torch\":\"2.11\"}}\n"
      "{\"type\":\"phase\",\"name\":\"train\"}\n"
      "{\"type\":\"epoch\",\"epoch\":1,\"loss\":0.5}\n"
      "{\"type\":\"eval\",\"step\":9,\"val_loss\":0.4}\n"
      "{\"type\":\"warning\",\"kind\":\"slow_disk\",\"message\":\"reads wait\"}\n"
      "{\"type\":\"error\",\"kind\":\"oom\",\"message\":\"too big\",\"hint\":\"batch 4\"}\n"
      "{\"type\":\"error\",\"kind\":\"crash\",\"message\":\"later\"}\n"
      "{\"type\":\"result\",\"metrics\":{\"mfu\":0.4},\"flags\":[{\"kind\":\"few\",\"about\":\"x\",\"message\":\"m\"}]}"
      "\n");
  const auto& facts = recorder.facts();
  EXPECT_THAT(writer_.events, SizeIs(8));
  EXPECT_EQ(facts.total_steps, 100);
  EXPECT_EQ(facts.phase, "train");
  EXPECT_THAT(writer_.values("epoch.loss"), ElementsAre(0.5));
  EXPECT_THAT(writer_.steps("val_loss"), ElementsAre(9));
  EXPECT_THAT(facts.flags, ElementsAre(Flag{"slow_disk", "", "reads wait"}, Flag{"few", "x", "m"}));
  EXPECT_EQ(facts.error->kind, ErrorKind::oom) << "the first error is the cause";
  EXPECT_EQ(facts.error->hint, "batch 4");
  EXPECT_EQ(facts.results.at("mfu"), 0.4);
}

TEST_F(RecorderTest, ProtocolLinesOnStandardOutputAreTakenOutOfTheText) {
  auto recorder = make();
  const auto shown = recorder.add_output(OutputStream::out, "hi\n{\"assay\":1,\"type\":\"step\",\"loss\":2}\nbye\n");
  EXPECT_EQ(shown, "hi\nbye\n");
  EXPECT_EQ(writer_.out, "hi\nbye\n");
  EXPECT_THAT(writer_.values("loss"), ElementsAre(2));
}

TEST_F(RecorderTest, StandardErrorCarriesNoProtocol) {
  auto recorder = make();
  recorder.add_output(OutputStream::error, "{\"assay\":1,\"type\":\"step\",\"loss\":2}\n");
  EXPECT_EQ(recorder.facts().events, 0);
  EXPECT_THAT(writer_.error, HasSubstr("\"assay\""));
}

TEST_F(RecorderTest, UnfinishedLinesAreShownAtOnceAndRecordedWhole) {
  auto recorder = make();
  EXPECT_EQ(recorder.add_output(OutputStream::out, "Loading"), "Loading");
  EXPECT_EQ(recorder.add_output(OutputStream::out, "... done"), "... done");
  EXPECT_EQ(writer_.out, "");
  EXPECT_EQ(recorder.add_output(OutputStream::out, "!\n10 %\r"), "!\n10 %\r");
  EXPECT_EQ(writer_.out, "Loading... done!\n10 %\r");
  EXPECT_EQ(recorder.add_output(OutputStream::out, "{\"assay\":1,"), "") << "it may become an event";
  EXPECT_EQ(recorder.add_output(OutputStream::out, "\"type\":\"step\",\"loss\":1}\n"), "");
  EXPECT_EQ(recorder.add_output(OutputStream::out, "{not an event}\n"), "{not an event}\n");
}

TEST_F(RecorderTest, MetricsAreReadFromText) {
  auto recorder = make();
  recorder.add_output(OutputStream::out, "loss=0.5\nloss=0.25\n");
  recorder.add_output(OutputStream::error, "step 10 loss=0.125\n");
  EXPECT_THAT(writer_.values("loss"), ElementsAre(0.5, 0.25, 0.125));
  EXPECT_THAT(writer_.steps("loss"), ElementsAre(1, 2, 10));
}

TEST_F(RecorderTest, HostileStreamsAreCountedNotObeyed) {
  auto recorder = make();
  recorder.add_events("garbage\n{\"type\":\"stpe\"}\n{\"assay\":9,\"type\":\"step\"}\n\n" + std::string(3 << 20, 'x') +
                      "\n");
  recorder.add_output(OutputStream::out, std::string("\0\xff\xfe{\"assay\":1,\n", 14));
  recorder.close();
  const auto& facts = recorder.facts();
  EXPECT_EQ(facts.malformed, 1);
  EXPECT_EQ(facts.newer, 1);
  EXPECT_EQ(facts.unknown_types.at("stpe"), 1);
  EXPECT_EQ(facts.over_long_lines, 1);
}

TEST_F(RecorderTest, TheLastLineNeedsNoNewline) {
  auto recorder = make();
  recorder.add_output(OutputStream::out, "loss=0.5");
  recorder.add_events("{\"type\":\"step\",\"m\":1}");
  recorder.close();
  EXPECT_EQ(writer_.out, "loss=0.5");
  EXPECT_THAT(writer_.values("loss"), ElementsAre(0.5));
  EXPECT_THAT(writer_.values("m"), ElementsAre(1));
}

TEST_F(RecorderTest, OutputBeyondTheLimitIsCounted) {
  auto recorder = make({.output_limit = 10});
  recorder.add_output(OutputStream::out, "0123456789\n");
  recorder.add_output(OutputStream::out, "dropped loss=3\n");
  EXPECT_EQ(writer_.out, "0123456789\n");
  EXPECT_EQ(recorder.facts().output_dropped, 15);
  EXPECT_THAT(writer_.values("loss"), ElementsAre(3)) << "metrics are read all the same";
}

TEST_F(RecorderTest, SecretsDoNotReachTheRecording) {
  auto recorder = make();
  recorder.add_output(OutputStream::out, "password=hunter2hunter2\n");
  recorder.add_events("{\"type\":\"hello\",\"note\":\"Authorization: Bearer abcdefghijklmnop1234\"}\n");
  EXPECT_THAT(writer_.out, Not(HasSubstr("hunter2")));
  EXPECT_THAT(writer_.events.at(0), Not(HasSubstr("abcdefghijklmnop1234")));
}

TEST_F(RecorderTest, AFullDiskIsRememberedOnce) {
  writer_.fail_after = 1;
  auto recorder = make();
  recorder.add_output(OutputStream::out, "a\n");
  EXPECT_FALSE(recorder.facts().recording_error);
  recorder.add_output(OutputStream::out, "b\n");
  ASSERT_TRUE(recorder.facts().recording_error);
  EXPECT_THAT(recorder.facts().recording_error->text(), HasSubstr("No space"));
}

TEST_F(RecorderTest, TooManyMetricNamesAreBounded) {
  auto recorder = make();
  for (int i = 0; i < 5000; ++i) recorder.add_events(R"({"type":"step","metric_)" + std::to_string(i) + "\":1}\n");
  EXPECT_THAT(writer_.keys, SizeIs(2000));
  EXPECT_EQ(recorder.facts().values_left_out, 3000);
  EXPECT_EQ(recorder.facts().first_left_out, "metric_2000");
}

TEST_F(RecorderTest, WhatIsBeyondALimitIsCounted) {
  auto recorder = make();
  recorder.add_events(R"({"type":"step","loss":1,")" + std::string(300, 'n') + "\":1}\n");
  for (int i = 0; i < 103; ++i) recorder.add_events("{\"type\":\"warning\",\"message\":\"again\"}\n");
  for (int i = 0; i < 25; ++i) recorder.add_events(R"({"type":"odd)" + std::to_string(i) + "\"}\n");
  std::string result = R"({"type":"result","metrics":{)";
  for (int i = 0; i < 2001; ++i) result += fmt::format("{}\"r{}\":1", i ? "," : "", i);
  recorder.add_events(result + "}}\n");
  const auto& facts = recorder.facts();
  EXPECT_EQ(facts.values_left_out, 2);
  EXPECT_EQ(facts.flags_left_out, 3);
  EXPECT_EQ(facts.unknown_left_out, 5);
  EXPECT_THAT(facts.results, SizeIs(2000));
}

TEST_F(RecorderTest, EverySpellingOfNotFiniteIsOne) {
  auto recorder = make();
  recorder.add_events(
      "{\"type\":\"step\",\"a\":NaN,\"b\":null,\"c\":-Infinity,\"d\":\"NaN\",\"e\":\"Infinity\",\"f\":\"text\",\"g\":1}"
      "\n"
      "{\"type\":\"result\",\"metrics\":{\"x\":NaN,\"y\":null,\"z\":Infinity,\"w\":\"nan\"}}\n");
  const auto& facts = recorder.facts();
  EXPECT_THAT(facts.non_finite, ElementsAre(testing::Pair("a", 1), testing::Pair("b", 1), testing::Pair("c", 1),
                                            testing::Pair("d", 1), testing::Pair("e", 1)));
  for (const auto* name : {"x", "y", "z", "w"}) EXPECT_FALSE(std::isfinite(facts.results.at(name))) << name;
}

}  // namespace
}  // namespace assay
