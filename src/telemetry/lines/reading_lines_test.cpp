#include "telemetry/lines/reading_lines.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <limits>

#include "base/text.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

Sample sample(std::string name, double value, std::map<std::string, std::string> labels = {}) {
  return {.key = {.name = std::move(name), .labels = std::move(labels)}, .unit = "W", .value = value};
}
ReadingLineWriter writer(std::int64_t number, std::int64_t of, std::string host) {
  return ReadingLineWriter({.number = number, .of = of, .host = std::move(host), .began = WallTime(Nanos(5))});
}
std::vector<std::string_view> lines_of(const std::string& text) {
  auto lines = split(text, '\n');
  EXPECT_EQ(lines.back(), "") << "only whole lines";
  lines.pop_back();
  return lines;
}
/// The samples of every line as `name{label=value}=value@time`.
std::vector<std::string> read_all(ReadingLineReader& reader, const std::string& text) {
  std::vector<std::string> read;
  for (const auto line : lines_of(text)) {
    const auto news = reader.take(line);
    EXPECT_TRUE(news) << line;
    if (!news) continue;
    for (const auto& one : news->samples) {
      std::string labels;
      for (const auto& [label, value] : one.key.labels) labels += fmt::format("{}={};", label, value);
      read.push_back(
          fmt::format("{}{{{}}}={}@{}", one.key.name, labels, one.value, news->time.time_since_epoch().count()));
      EXPECT_EQ(one.unit, "W");
    }
  }
  return read;
}

TEST(ReadingLines, WhatWasReadComesOutAgain) {
  auto one = writer(0, 1, "gpu01");
  std::string text;
  one.introduce(text);
  one.add(text, WallTime(Nanos(7)), {sample("gpu.power_w", 512.3, {{"gpu", "GPU-1a"}}), sample("host.load", 1.5e300)});
  one.add(text, WallTime(Nanos(8)), {sample("host.load", -0.1), sample("late", 3)});
  ReadingLineReader reader;
  EXPECT_THAT(read_all(reader, text), ElementsAre("gpu.power_w{gpu=GPU-1a;}=512.3@7", "host.load{}=1.5e+300@7",
                                                  "host.load{}=-0.1@8", "late{}=3@8"));
  EXPECT_EQ(reader.nodes(), 1U);
}

TEST(ReadingLines, SeriesAreNamedOnce) {
  auto one = writer(0, 1, "gpu01");
  std::string first, second;
  one.introduce(first);
  one.add(first, WallTime(Nanos(7)), {sample("a", 1)});
  one.add(second, WallTime(Nanos(8)), {sample("a", 2)});
  EXPECT_EQ(second, "{\"node\":0,\"at\":8,\"first\":0,\"values\":[2]}\n");
}

TEST(ReadingLines, ValuesThatAreNoNumbersAreLeftOut) {
  auto one = writer(0, 1, "gpu01");
  std::string text;
  one.introduce(text);
  one.add(text, WallTime(Nanos(7)),
          {sample("a", std::numeric_limits<double>::quiet_NaN()), sample("b", std::numeric_limits<double>::infinity()),
           sample("c", 1)});
  ReadingLineReader reader;
  EXPECT_THAT(read_all(reader, text), ElementsAre("c{}=1@7"));
}

TEST(ReadingLines, ThoseOfSeveralNodesAreToldApart) {
  // The second and third are parts of a job on one machine.
  ReadingLineReader reader;
  std::vector<std::string> read;
  std::array writers = {writer(0, 3, "gpu01"), writer(1, 3, "gpu02"), writer(2, 3, "gpu02")};
  std::string text;
  for (auto& one : writers) one.introduce(text);
  for (auto& one : writers) one.add(text, WallTime(Nanos(7)), {sample("a", 1)});
  EXPECT_THAT(read_all(reader, text), ElementsAre("a{node=gpu01;}=1@7", "a{node=gpu02;}=1@7", "a{node=gpu02#2;}=1@7"));
  EXPECT_EQ(reader.nodes(), 3U);
}

TEST(ReadingLines, WhatIsKeptIsEnoughToGoOn) {
  auto one = writer(0, 1, "gpu01");
  std::string text;
  one.introduce(text);
  std::vector<Sample> many;
  for (int i = 0; i < 250; ++i) many.push_back(sample(fmt::format("m{}", i), i));
  one.add(text, WallTime(Nanos(7)), many);
  one.introduce(text);  // again: nothing new
  ReadingLineReader reader;
  std::map<std::string, std::string> kept;
  int keeps = 0;
  for (const auto line : lines_of(text)) {
    const auto news = reader.take(line);
    ASSERT_TRUE(news);
    if (news->keep_as.empty()) continue;
    kept[news->keep_as] = line;
    ++keeps;
  }
  EXPECT_EQ(keeps, 4) << "who speaks, and the names in three lines";
  ReadingLineReader next;
  for (const auto& [name, line] : kept) EXPECT_TRUE(next.take(line)) << name;
  std::string more;
  one.add(more, WallTime(Nanos(9)), many);
  ReadingLineReader& undisturbed = reader;
  EXPECT_EQ(read_all(next, more), read_all(undisturbed, more));
}

TEST(ReadingLines, WhoeverComesLateWaitsForAnIntroduction) {
  auto one = writer(0, 1, "gpu01");
  std::string lost, text;
  one.introduce(lost);
  one.add(lost, WallTime(Nanos(7)), {sample("a", 1)});
  one.add(text, WallTime(Nanos(8)), {sample("a", 2)});
  ReadingLineReader reader;
  EXPECT_FALSE(reader.take(lines_of(text).front())) << "nobody knows who speaks";
  text.clear();
  one.introduce(text);
  one.add(text, WallTime(Nanos(9)), {sample("a", 3)});
  EXPECT_THAT(read_all(reader, text), ElementsAre("a{}=3@9"));
}

TEST(ReadingLines, SilenceIsToldAndItsEnd) {
  auto one = writer(0, 1, "gpu01");
  std::string text;
  one.introduce(text);
  one.tell_silence(text, "nvml", "no \"answer\"");
  one.tell_silence(text, "nvml", "");
  ReadingLineReader reader;
  const auto lines = lines_of(text);
  (void)reader.take(lines[0]);
  const auto told = reader.take(lines[1]);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->source, "nvml");
  EXPECT_EQ(told->silent, "no \"answer\"");
  EXPECT_EQ(reader.take(lines[2])->silent, "");
}

TEST(ReadingLines, LinesAreShortHoweverManySeriesThereAre) {
  auto one = writer(0, 1, "gpu01");
  std::string text;
  std::vector<Sample> many;
  for (std::size_t i = 0; i < kMostLineSeries + 10; ++i) {
    many.push_back(sample(fmt::format("{}{}", std::string(190, 'm'), i), -1.2345678901234567e-300));
  }
  one.introduce(text);
  one.add(text, WallTime(Nanos(7)), many);
  for (const auto line : lines_of(text)) EXPECT_LT(line.size(), std::size_t{64} << 10);
  ReadingLineReader reader;
  EXPECT_THAT(read_all(reader, text), SizeIs(kMostLineSeries)) << "the rest is left out";
}

TEST(ReadingLines, WhatCannotBeUsedIsPassedOver) {
  ReadingLineReader reader;
  std::string text;
  auto one = writer(0, 2, "gpu01");
  one.introduce(text);
  one.add(text, WallTime(Nanos(7)), {sample("a", 1)});
  (void)read_all(reader, text);
  for (const auto* line :
       {"", "x", "[]", "{}", R"({"node":-1})", R"({"node":0})", R"({"node":1,"at":1,"first":0,"values":[1]})",
        R"({"node":99999999,"of":1,"schema":1,"host":"a","began":1})",
        R"({"node":1,"of":0,"schema":1,"host":"a","began":1})", R"({"node":1,"of":1,"schema":2,"host":"a","began":1})",
        R"({"node":0,"first":-1,"series":[["a",""]]})", R"({"node":0,"first":5000,"series":[["a",""]]})",
        R"({"node":0,"first":0,"series":[["other",""]]})", R"({"node":0,"first":1,"series":[["a","",{"l":1}]]})",
        R"({"node":0,"first":1,"series":[["",""]]})", R"({"node":0,"first":1,"series":["a"]})",
        R"({"node":0,"at":"x","first":0,"values":[1]})", R"({"node":0,"first":0,"values":[1]})",
        R"({"node":0,"source":"","silent":"x"})"}) {
    EXPECT_FALSE(reader.take(line)) << line;
  }
  const auto half = reader.take(R"({"node":0,"at":1,"first":0,"values":["x",2]})");
  ASSERT_TRUE(half);
  EXPECT_THAT(half->samples, IsEmpty()) << "a text, and a value without a name";
}

}  // namespace
}  // namespace assay
