#include "http/prometheus.h"

#include <limits>

#include "base/text.h"
#include "leader/leader_fixture.h"

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
  EXPECT_THAT(lines(), Contains(R"(assay_host_x{mount="a\\b\"c\nd",node="gpu01"} 1)"));
}

TEST_F(Prometheus, NumbersThatAreNoneHaveTheirOwnWords) {
  const double infinity = std::numeric_limits<double>::infinity();
  read({sample_of("a", std::numeric_limits<double>::quiet_NaN()), sample_of("b", infinity), sample_of("c", -infinity)});
  EXPECT_THAT(lines(), Contains(R"(assay_a{node="gpu01"} NaN)"));
  EXPECT_THAT(lines(), Contains(R"(assay_b{node="gpu01"} +Inf)"));
  EXPECT_THAT(lines(), Contains(R"(assay_c{node="gpu01"} -Inf)"));
}

TEST_F(Prometheus, FaultsAreCounted) {
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
  EXPECT_THAT(lines(), Contains("DCGM_FI_DEV_XID_ERRORS" + labels + R"(,xid="79"} 2)"));
  EXPECT_THAT(lines(), Contains("DCGM_FI_DEV_XID_ERRORS" + labels + R"(,xid="31"} 1)"));
  EXPECT_THAT(lines(), Contains("# TYPE DCGM_FI_DEV_XID_ERRORS counter"));
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
