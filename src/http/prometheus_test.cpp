#include "http/prometheus.h"

#include <limits>
#include <regex>
#include <set>

#include "base/text.h"
#include "fleet/fleet_recording.h"
#include "leader/leader_fixture.h"
#include "leader/test_agent_fixture.h"
#include "telemetry/reading.h"
#include "telemetry/replay/replay_source.h"

namespace assay {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Prometheus : public LeaderTest {
 protected:
  Prometheus() {
    hello(agent_);
    Reading reading;
    reading.devices = {
        {.id = "GPU-a", .facts = {{"name", "NVIDIA H200"}, {"index", "3"}, {"pci_bus_id", "00000000:1B:00.0"}}}};
    read(std::move(reading));
  }
  void read(Reading reading) { taken(agent_, {agent_.batch(clock_.wall(), std::move(reading))}); }
  void read(std::vector<Sample> samples) {
    Reading reading;
    reading.samples = std::move(samples);
    read(std::move(reading));
  }
  std::string text() { return prometheus_text(*leader_); }
  std::vector<std::string> lines() {
    std::vector<std::string> all;
    const std::string body = text();
    for (const auto line : split(body, '\n')) all.emplace_back(line);
    return all;
  }

  static constexpr const char* kGpu =
      R"({gpu="3",UUID="GPU-a",pci_bus_id="00000000:1B:00.0",device="nvidia3",modelName="NVIDIA H200",Hostname="gpu01"})";
  TestAgent agent_;
};

TEST_F(Prometheus, GpusHaveTheNamesAndUnitsOfDcgmExporter) {
  read({sample_of("gpu.util", 0.87, "GPU-a"), sample_of("gpu.memory_used_bytes", 1536.0 * 1024 * 1024, "GPU-a"),
        sample_of("gpu.energy_total_j", 12.5, "GPU-a"), sample_of("gpu.temperature_c", 61, "GPU-a")});
  EXPECT_THAT(lines(), Contains(std::string("DCGM_FI_DEV_GPU_UTIL") + kGpu + " 87"));
  EXPECT_THAT(lines(), Contains(std::string("DCGM_FI_DEV_FB_USED") + kGpu + " 1536"));
  EXPECT_THAT(lines(), Contains(std::string("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION") + kGpu + " 12500"));
  EXPECT_THAT(lines(), Contains(std::string("DCGM_FI_DEV_GPU_TEMP") + kGpu + " 61"));
  EXPECT_THAT(lines(), Contains("# TYPE DCGM_FI_DEV_GPU_UTIL gauge"));
  EXPECT_THAT(lines(), Contains("# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter"));
}

TEST_F(Prometheus, EverythingElseIsUnderOurOwnName) {
  Sample disk = sample_of("host.disk_read_bytes_per_second", 5);
  disk.key.labels["device-name"] = "nvme0n1";
  read({disk});
  EXPECT_THAT(lines(), Contains(R"(assay_host_disk_read_bytes_per_second{device_name="nvme0n1",node="gpu01"} 5)"));
}

TEST_F(Prometheus, LabelsAreEscaped) {
  Sample sample = sample_of("host.x", 1);
  sample.key.labels["mount"] = "a\\b\"c\nd";
  read({sample});
  EXPECT_THAT(lines(), Contains(R"(assay_host_x{mount="a\\b\"c d",node="gpu01"} 1)")) << "no name has a line end";
}

TEST_F(Prometheus, NumbersThatAreNoneHaveTheirOwnWords) {
  const double infinity = std::numeric_limits<double>::infinity();
  read({sample_of("a", std::numeric_limits<double>::quiet_NaN()), sample_of("b", infinity), sample_of("c", -infinity)});
  EXPECT_THAT(lines(), Contains(R"(assay_a{node="gpu01"} NaN)"));
  EXPECT_THAT(lines(), Contains(R"(assay_b{node="gpu01"} +Inf)"));
  EXPECT_THAT(lines(), Contains(R"(assay_c{node="gpu01"} -Inf)"));
}

TEST_F(Prometheus, FaultsAreCountedAndTheGaugeOfDcgmExporterShowsTheirNumber) {
  EXPECT_THAT(lines(), Contains(std::string("DCGM_FI_DEV_XID_ERRORS") + kGpu + " 0"));
  Reading reading;
  for (int i = 0; i < 3; ++i) {
    reading.events.push_back({.time = clock_.wall() + Nanos(i),
                              .kind = "xid",
                              .about = "GPU-a",
                              .message = "a fault",
                              .values = {{"xid", i == 0 ? 31.0 : 79.0}}});
  }
  read(std::move(reading));
  const std::string labels = std::string(kGpu).substr(0, std::string_view(kGpu).size() - 1);
  EXPECT_THAT(lines(), Contains("assay_gpu_xid_total" + labels + R"(,xid="79"} 2)"));
  EXPECT_THAT(lines(), Contains("assay_gpu_xid_total" + labels + R"(,xid="31"} 1)"));
  EXPECT_THAT(lines(), Contains("# TYPE assay_gpu_xid_total counter"));
  EXPECT_THAT(lines(), Contains(std::string("DCGM_FI_DEV_XID_ERRORS") + kGpu + " 79"));
  EXPECT_THAT(lines(), Contains("# TYPE DCGM_FI_DEV_XID_ERRORS gauge"));
}

TEST_F(Prometheus, FreeMemoryIsWhatIsNeitherUsedNorReserved) {
  constexpr double kMiB = 1024 * 1024;
  read({sample_of("gpu.memory_total_bytes", 1000 * kMiB, "GPU-a")});
  EXPECT_THAT(text(), Not(HasSubstr("DCGM_FI_DEV_FB_FREE"))) << "nobody knows how much is used";
  read({sample_of("gpu.memory_used_bytes", 300 * kMiB, "GPU-a")});
  EXPECT_THAT(lines(), Contains(std::string("DCGM_FI_DEV_FB_FREE") + kGpu + " 700"));
  read({sample_of("gpu.memory_reserved_bytes", 100 * kMiB, "GPU-a")});
  EXPECT_THAT(lines(), Contains(std::string("DCGM_FI_DEV_FB_FREE") + kGpu + " 600"));
}

TEST_F(Prometheus, WhatOnlyGrowsIsACounter) {
  read({sample_of("gpu.thermal_violation_seconds", 7, "GPU-a", "s")});
  EXPECT_THAT(lines(), Contains(R"(assay_gpu_thermal_violation_seconds_total{gpu="GPU-a",node="gpu01"} 7)"));
  EXPECT_THAT(lines(), Contains("# TYPE assay_gpu_thermal_violation_seconds_total counter"));
}

TEST_F(Prometheus, AnOfflineNodeIsOnlySaidToBeDown) {
  read({sample_of("gpu.util", 0.87, "GPU-a"), sample_of("host.load", 1)});
  EXPECT_THAT(lines(), Contains(R"(assay_node_up{node="gpu01",simulated="false"} 1)"));
  clock_.advance(std::chrono::seconds(10));
  EXPECT_THAT(lines(), Contains(R"(assay_node_up{node="gpu01",simulated="false"} 0)"));
  EXPECT_THAT(text(), Not(HasSubstr("DCGM_FI_DEV_GPU_UTIL")));
  EXPECT_THAT(text(), Not(HasSubstr("assay_host_load")));
}

TEST_F(Prometheus, OldValuesAreLeftOut) {
  read({sample_of("host.load", 1)});
  clock_.advance(std::chrono::minutes(10));
  taken(agent_, {});
  EXPECT_THAT(text(), Not(HasSubstr("assay_host_load")));
}

TEST_F(Prometheus, AMetricOfAnAgentCannotPoseAsTheLeadersOwn) {
  read({sample_of("node_up", 0), sample_of("samples_total", 7), sample_of("series", 1)});
  std::map<std::string, int> types;
  for (const auto& line : lines()) {
    if (line.starts_with("# TYPE ")) ++types[line];
  }
  for (const auto& [line, count] : types) EXPECT_EQ(count, 1) << line;
  EXPECT_THAT(lines(), Contains(R"(assay_node_up{node="gpu01",simulated="false"} 1)"));
  EXPECT_THAT(text(), Not(HasSubstr(R"(assay_node_up{node="gpu01"} 0)")));
  EXPECT_THAT(text(), Not(HasSubstr(R"(assay_samples_total{)")));
}

TEST_F(Prometheus, TwoLabelsThatBecomeOneAreWrittenOnce) {
  Sample sample = sample_of("host.x", 1);
  sample.key.labels["a-b"] = "first";
  sample.key.labels["a.b"] = "second";
  sample.key.labels["1st"] = "digit";
  read({sample});
  const std::string body = text();
  const auto start = body.find("assay_host_x{");
  ASSERT_NE(start, std::string::npos);
  const std::string line = body.substr(start, body.find('\n', start) - start);
  EXPECT_EQ(line.find("a_b="), line.rfind("a_b=")) << line;
  EXPECT_THAT(line, Not(HasSubstr("{1st"))) << line;
}

TEST_F(Prometheus, EveryNameAndLabelIsGoodSyntaxAndNoLineComesTwice) {
  std::vector<Sample> samples;
  for (const char* metric : {"", "a.b", "a_b", "__name__", "9", "gpu.util"}) {
    for (const char* label : {"", "__name__", "x.y", "x_y", "9"}) {
      for (const char* gpu : {"", "GPU-a"}) {
        Sample sample = sample_of(metric, 1, gpu);
        sample.key.labels[label] = "v";
        samples.push_back(std::move(sample));
      }
    }
    samples.push_back(sample_of(metric, 1, "GPU-a"));
  }
  read(std::move(samples));
  const std::regex good(R"re([a-zA-Z_][a-zA-Z0-9_]*(\{([a-zA-Z][a-zA-Z0-9_]*|_[a-zA-Z0-9][a-zA-Z0-9_]*|_)="[^"]*")re"
                        R"re((,([a-zA-Z][a-zA-Z0-9_]*|_[a-zA-Z0-9][a-zA-Z0-9_]*|_)="[^"]*")*\})? \S+)re");
  std::set<std::string> seen;
  for (const auto& line : lines()) {
    if (line.empty() || line.starts_with('#')) continue;
    EXPECT_TRUE(std::regex_match(line, good)) << line;
    EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
  EXPECT_THAT(lines(), Contains(std::string("DCGM_FI_DEV_GPU_UTIL") + kGpu + " 100"));
  EXPECT_THAT(text(), HasSubstr("assay_gpu_util{"));
  EXPECT_THAT(text(), Not(HasSubstr(R"(assay_metrics_left_out{node="gpu01",simulated="false"} 0)")));
}

TEST_F(Prometheus, ANodeHasOnlySoMuchRoom) {
  const auto series = [](const std::string& name, int labels) {
    Sample sample = sample_of(name, 1);
    for (int i = 0; i < labels; ++i) sample.key.labels["path" + std::to_string(i)] = std::string(250, 'x');
    return sample;
  };
  read({series("long", 12), series("short", 1)});
  EXPECT_THAT(text(), Not(HasSubstr("assay_long{")));
  EXPECT_THAT(text(), HasSubstr("assay_short{"));
  EXPECT_THAT(lines(), Contains(R"(assay_metrics_left_out{node="gpu01",simulated="false"} 1)"));
  std::vector<Sample> many;
  many.reserve(3000);
  for (int i = 0; i < 3000; ++i) many.push_back(series("many" + std::to_string(i), 5));
  read(std::move(many));
  EXPECT_LT(text().size(), std::size_t{3} << 20);
  EXPECT_THAT(lines(), Contains(R"(assay_node_up{node="gpu01",simulated="false"} 1)"));
  EXPECT_THAT(text(), HasSubstr("assay_many0{"));
  EXPECT_THAT(text(), Not(HasSubstr("assay_many2999{")));
}

TEST_F(Prometheus, TheDashboardOfDcgmExporterFindsAllThatItAsksFor) {
  const auto recording = built_in_recording();
  ASSERT_TRUE(recording.ok()) << recording.error().text();
  const auto source =
      make_replay_source(std::make_shared<const Recording>(*recording), ReplayOptions{.clock = &clock_});
  auto first = source->read(clock_.now());
  ASSERT_TRUE(first.ok()) << first.error().text();
  read(std::move(*first));                   // it has the devices
  clock_.advance(std::chrono::seconds(30));  // the first readings have no rates
  auto reading = source->read_everything(clock_.now());
  ASSERT_TRUE(reading.ok()) << reading.error().text();
  read(std::move(*reading));
  std::map<std::string, std::string> first_lines;
  for (const auto& line : lines()) first_lines.emplace(line.substr(0, line.find('{')), line);
  // What its variables and panels query, and the labels that they choose and group by.
  for (const char* name : {"DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_POWER_USAGE",
                           "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
                           "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_MEM_COPY_UTIL"}) {
    ASSERT_TRUE(first_lines.contains(name)) << name;
    EXPECT_THAT(first_lines[name], HasSubstr(R"(Hostname="gpu01")")) << name;
    EXPECT_THAT(first_lines[name], HasSubstr(R"({gpu="0")")) << name;
    EXPECT_THAT(first_lines[name], HasSubstr(R"(UUID="GPU-)")) << name;
  }
  const std::string& active = first_lines["DCGM_FI_PROF_GR_ENGINE_ACTIVE"];
  EXPECT_LE(std::stod(active.substr(active.rfind(' '))), 1) << "a ratio, not percent";
}

TEST_F(Prometheus, LinesOfAMetricStandTogether) {
  TestAgent other("gpu02", "other");
  hello(other);
  read({sample_of("host.load", 1), sample_of("host.cpu_util", 1)});
  taken(other, {other.batch(clock_.wall(), {sample_of("host.load", 2), sample_of("host.cpu_util", 2)})});
  std::string last_name;
  std::map<std::string, int> begun;
  for (const auto& line : lines()) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::string name = line.substr(0, line.find_first_of("{ "));
    if (name != last_name) ++begun[name];
    last_name = name;
  }
  for (const auto& [name, count] : begun) EXPECT_EQ(count, 1) << name;
}

}  // namespace
}  // namespace assay
