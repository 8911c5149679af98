#include "telemetry/lines/line_sampler.h"

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/text.h"
#include "support/source_tree.h"
#include "telemetry/nvml/fake_driver.h"
#include "telemetry/nvml/nvml_source.h"
#include "telemetry/procfs/procfs_source.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::UnorderedElementsAre;

/// Gives what the test says.
class ScriptedSource final : public MetricSource {
 public:
  ScriptedSource(std::function<Result<Reading>(int)> read) : read_(std::move(read)) {}
  std::string_view name() const override { return "scripted"; }
  Result<Reading> read(SteadyTime) override { return read_(readings_++); }

 private:
  std::function<Result<Reading>(int)> read_;
  int readings_ = 0;
};

struct Told {
  std::vector<Sample> samples;
  std::vector<std::string> silences;
};
Told read_lines(const std::string& text) {
  Told told;
  ReadingLineReader reader;
  for (const auto line : split(text, '\n')) {
    const auto news = reader.take(line);
    EXPECT_EQ(news.has_value(), !line.empty()) << line;
    if (!news) continue;
    told.samples.insert(told.samples.end(), news->samples.begin(), news->samples.end());
    if (!news->source.empty()) told.silences.push_back(news->source + ":" + news->silent);
  }
  return told;
}
std::vector<double> values_of(const Told& told) {
  std::vector<double> values;
  for (const auto& sample : told.samples) values.push_back(sample.value);
  return values;
}

std::vector<LineSource> one_source(std::function<Result<Reading>(int)> read) {
  std::vector<LineSource> sources;
  sources.push_back({.source = std::make_unique<ScriptedSource>(std::move(read)), .labels = {{"rank", "3"}}});
  return sources;
}
Reading reading_of(double value) {
  return {.samples = {{.key = {.name = "a", .labels = {}}, .unit = "", .value = value}}};
}

/// All lines until so many of them are there, and the rest.
std::string lines_until(LineSampler& sampler, const std::function<bool(const std::string&)>& enough) {
  std::string lines;
  const auto limit = SystemClock().now() + 90s;
  while (!enough(lines) && SystemClock().now() < limit) {
    lines += sampler.take();
    std::this_thread::sleep_for(1ms);
  }
  return lines + sampler.finish();
}

TEST(LineSampler, ReadsAtTheBeginningAndAtTheEnd) {
  LineSampler sampler(one_source([](int i) { return reading_of(i); }), {.node = {.host = "gpu01"}, .period = 10h});
  const auto told =
      read_lines(lines_until(sampler, [](const auto& lines) { return lines.find("values") != std::string::npos; }));
  EXPECT_THAT(values_of(told), ElementsAre(0, 1));
  EXPECT_EQ(told.samples.front().key.labels.at("rank"), "3");
  EXPECT_EQ(sampler.finish(), "") << "it has ended";
}

TEST(LineSampler, ReadsOnceAPeriod) {
  LineSampler sampler(one_source([](int i) { return reading_of(i); }), {.node = {.host = "gpu01"}, .period = 1ms});
  const auto values =
      values_of(read_lines(lines_until(sampler, [](const auto& lines) { return lines.size() > 5000; })));
  ASSERT_GT(values.size(), 10U);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<double>(i)) << "none is lost";
}

TEST(LineSampler, ASourceThatGivesNothingIsTold) {
  LineSampler sampler(one_source([](int i) -> Result<Reading> {
                        if (i > 8) return reading_of(i);
                        return Error{.kind = ErrorKind::timeout, .message = "no answer"};
                      }),
                      {.node = {.host = "gpu01"}, .period = 1ms});
  const auto told =
      read_lines(lines_until(sampler, [](const auto& lines) { return lines.find("values") != std::string::npos; }));
  EXPECT_THAT(told.silences, ElementsAre("scripted:no answer", "scripted:"));
}

TEST(LineSampler, LinesThatNobodyTakesDoNotPileUp) {
  std::atomic<int> readings = 0;
  LineSampler sampler(one_source([&](int i) {
                        readings = i;
                        return reading_of(i);
                      }),
                      {.node = {.host = "gpu01"}, .period = 1ms, .most_waiting = 300});
  const auto limit = SystemClock().now() + 90s;
  while (readings < 100 && SystemClock().now() < limit) std::this_thread::sleep_for(1ms);
  EXPECT_LT(sampler.take().size(), 500U);
  EXPECT_THAT(values_of(read_lines("{\"node\":0,\"of\":1,\"schema\":1,\"host\":\"a\",\"began\":1}\n"
                                   "{\"node\":0,\"first\":0,\"series\":[[\"a\",\"\",{\"rank\":\"3\"}]]}\n" +
                                   sampler.finish())),
              testing::Not(testing::IsEmpty()))
      << "it goes on once there is room";
}

/// The GPUs and instances that are told of a machine where a job has these.
std::set<std::string> gpus_told(const std::string& machine, std::optional<std::vector<std::string>> gpus) {
  const FakeDriver driver(test::beside_program("libfake-nvml.so"), test::fixture_folder() / "nvml" / machine);
  auto api = driver.load();
  EXPECT_TRUE(api.ok()) << api.error().text();
  std::vector<LineSource> sources;
  sources.push_back({.source = make_nvml_source(std::move(*api), {})});
  sources.push_back({.source = make_procfs_source({})});
  LineSampler sampler(std::move(sources), {.node = {.host = "gpu01"}, .period = 10h, .gpus = std::move(gpus)});
  std::set<std::string> seen, names;
  for (const auto& sample : read_lines(sampler.finish()).samples) {
    names.insert(sample.key.name);
    if (const auto gpu = sample.key.labels.find("gpu"); gpu != sample.key.labels.end()) seen.insert(gpu->second);
  }
  EXPECT_THAT(names, Contains("host.memory_used_bytes"));
  if (!seen.empty()) EXPECT_THAT(names, IsSupersetOf({"gpu.power_w", "gpu.throttle", "gpu.sm_clock_mhz"}));
  return seen;
}

TEST(LineSampler, OnlyTheGpusOfTheJobAreTold) {
  const auto all = gpus_told("h200-x2.txt", {});
  ASSERT_EQ(all.size(), 2U);
  const auto& one = *all.begin();
  EXPECT_THAT(gpus_told("h200-x2.txt", {{one}}), UnorderedElementsAre(one));
  EXPECT_THAT(gpus_told("h200-x2.txt", {{one.substr(0, one.size() - 1)}}), UnorderedElementsAre(one))
      << "as CUDA lets it be cut";
  EXPECT_THAT(gpus_told("h200-x2.txt", std::vector<std::string>()), testing::IsEmpty());
}

TEST(LineSampler, TheGpuOfAnInstanceBelongsToIt) {
  std::vector<std::string> instances, whole;
  for (const auto& id : gpus_told("h200-mig.txt", {})) (id.starts_with("MIG-") ? instances : whole).push_back(id);
  ASSERT_EQ(instances.size(), 2U);
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_THAT(gpus_told("h200-mig.txt", {{instances[0]}}), UnorderedElementsAre(instances[0], whole[0]));
}

}  // namespace
}  // namespace assay
