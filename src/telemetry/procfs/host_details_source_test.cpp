#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "base/files.h"
#include "model/metric.h"
#include "support/source_tree.h"
#include "telemetry/procfs/procfs_source.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::IsEmpty;
using testing::Key;
using testing::Not;

class DetailedMachine {
 public:
  explicit DetailedMachine(const std::string& name) : recording_(test::fixture_folder() / "procfs" / name) {
    play("first");
  }
  void play(const std::string& moment) {
    fs::copy(recording_ / moment, root_.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  void write(const fs::path& file, std::string_view content) {
    fs::create_directories((root_.path() / file).parent_path());
    std::ofstream(root_.path() / file) << content;
  }
  void advance(Nanos by) { clock_.advance(by); }
  std::unique_ptr<MetricSource> source() const {
    return make_host_details_source({.root = root_.path(), .clock = &clock_});
  }

 private:
  fs::path recording_;
  TemporaryFolder root_;
  ManualClock clock_;
};

/// By name and the values of the labels: "host.core_util/3".
std::map<std::string, double> read_details(MetricSource& source) {
  std::map<std::string, double> values;
  const auto reading = source.read(SteadyTime::max());
  EXPECT_TRUE(reading.ok());
  for (const auto& sample : reading->samples) {
    std::string key = sample.key.name;
    for (const auto& [label, value] : sample.key.labels) key += "/" + value;
    values[key] = sample.value;
    const auto* metric = find_metric(sample.key.name);
    EXPECT_NE(metric, nullptr) << sample.key.name;
    if (metric != nullptr) {
      EXPECT_EQ(sample.unit, metric->unit);
    }
  }
  return values;
}

TEST(HostDetails, ReadsEachCoreDiskAndInterface) {
  DetailedMachine machine("training-node");
  const auto source = machine.source();
  EXPECT_THAT(read_details(*source), Not(Contains(Key("host.core_util/0")))) << "rates need two readings";
  machine.play("second");
  machine.advance(seconds(10));
  const auto found = read_details(*source);
  double busy = 0;
  int cores = 0;
  for (const auto& [key, value] : found) {
    if (!key.starts_with("host.core_util/")) continue;
    ++cores;
    busy += value;
  }
  EXPECT_EQ(cores, 64);
  EXPECT_NEAR(busy, 40, 1e-6) << "32 busy, 16 half busy, 16 idle";
  EXPECT_NEAR(found.at("host.interface_receive_bytes_per_second/eno1np0"), 1e6, 1);
  EXPECT_EQ(found.at("host.interface_errors/eno1np0"), 0);
  EXPECT_EQ(found.at("host.interface_drops/eno1np0"), 3);
  EXPECT_THAT(found, Not(Contains(Key("host.interface_errors/bond0"))));
  EXPECT_NEAR(found.at("host.device_read_bytes_per_second/sda"), 20'480 * 51.2, 1);
  EXPECT_THAT(found, Contains(Key("host.device_busy/sda")));
}

TEST(HostDetails, ADiskIsAsBusyAsTheTimeItWorked) {
  DetailedMachine machine("small-vm");
  const auto source = machine.source();
  machine.write("proc/diskstats", " 254 0 vda 10 0 100 5 10 0 200 5 0 1000 10\n");
  read_details(*source);
  machine.write("proc/diskstats", " 254 0 vda 10 0 300 5 10 0 200 5 0 1500 10\n");
  machine.advance(seconds(2));
  const auto found = read_details(*source);
  EXPECT_DOUBLE_EQ(found.at("host.device_busy/vda"), 0.25);
  EXPECT_DOUBLE_EQ(found.at("host.device_read_bytes_per_second/vda"), 200 * 512 / 2.0);
}

TEST(HostDetails, ReadsInfinibandPorts) {
  DetailedMachine machine("small-vm");
  const fs::path port = "sys/class/infiniband/mlx5_0/ports/1";
  machine.write(port / "state", "4: ACTIVE\n");
  machine.write(port / "counters/port_rcv_data", "1000\n");
  machine.write(port / "counters/port_xmit_data", "18446744073709551615\n");
  machine.write(port / "counters/symbol_error", "3\n");
  const auto source = machine.source();
  const auto first = read_details(*source);
  EXPECT_EQ(first.at("host.infiniband_up/mlx5_0/1"), 1);
  EXPECT_EQ(first.at("host.infiniband_errors/mlx5_0/symbol_error/1"), 3);
  machine.write(port / "counters/port_rcv_data", "5000\n");
  machine.write(port / "counters/port_xmit_data", "7\n");
  machine.write(port / "state", "1: DOWN\n");
  machine.advance(seconds(2));
  const auto second = read_details(*source);
  EXPECT_EQ(second.at("host.infiniband_up/mlx5_0/1"), 0);
  EXPECT_DOUBLE_EQ(second.at("host.infiniband_receive_bytes_per_second/mlx5_0/1"), 4000 * 4 / 2.0);
  EXPECT_THAT(second, Not(Contains(Key("host.infiniband_transmit_bytes_per_second/mlx5_0/1")))) << "began again";
}

TEST(HostDetails, ReadsTemperaturesEveryTenSeconds) {
  DetailedMachine machine("small-vm");
  machine.write("sys/class/hwmon/hwmon0/name", "coretemp\n");
  machine.write("sys/class/hwmon/hwmon0/temp1_input", "45500\n");
  machine.write("sys/class/hwmon/hwmon0/temp1_label", "Package id 0\n");
  for (const auto* folder : {"hwmon1", "hwmon2"}) {
    machine.write(fs::path("sys/class/hwmon") / folder / "name", "nvme\n");
    machine.write(fs::path("sys/class/hwmon") / folder / "temp1_input", "38000\n");
    machine.write(fs::path("sys/class/hwmon") / folder / "in0_input", "1000\n");
  }
  const auto source = machine.source();
  const auto first = read_details(*source);
  EXPECT_DOUBLE_EQ(first.at("host.temperature_c/coretemp/Package id 0"), 45.5);
  EXPECT_DOUBLE_EQ(first.at("host.temperature_c/nvme/temp1"), 38);
  EXPECT_DOUBLE_EQ(first.at("host.temperature_c/nvme/hwmon2 temp1"), 38);
  machine.advance(seconds(1));
  EXPECT_THAT(read_details(*source), Not(Contains(Key("host.temperature_c/nvme/temp1"))));
  machine.advance(seconds(9));
  EXPECT_THAT(read_details(*source), Contains(Key("host.temperature_c/nvme/temp1")));
}

TEST(HostDetails, ReadsTheTightestLimitOfTheCgroupsAbove) {
  DetailedMachine machine("small-vm");
  machine.write("proc/self/cgroup", "1:name=systemd:/x\n0::/slurm/job_7\n");
  const fs::path top = "sys/fs/cgroup";
  machine.write(top / "slurm/memory.max", "1000\n");
  machine.write(top / "slurm/cpu.max", "max 100000\n");
  machine.write(top / "slurm/job_7/cgroup.controllers", "cpu memory\n");
  machine.write(top / "slurm/job_7/memory.max", "max\n");
  machine.write(top / "slurm/job_7/memory.current", "700\n");
  machine.write(top / "slurm/job_7/cpu.max", "250000 100000\n");
  machine.write(top / "slurm/job_7/cpu.stat", "usage_usec 1000000\nuser_usec 1\nthrottled_usec 500000\n");
  const auto source = machine.source();
  const auto first = read_details(*source);
  EXPECT_EQ(first.at("host.cgroup_memory_limit_bytes"), 1000);
  EXPECT_EQ(first.at("host.cgroup_memory_used_bytes"), 700);
  EXPECT_EQ(first.at("host.cgroup_cpu_limit"), 2.5);
  EXPECT_EQ(first.at("host.cgroup_throttled_seconds"), 0.5);
  machine.write(top / "slurm/job_7/cpu.stat", "usage_usec 4000000\n");
  machine.advance(seconds(2));
  EXPECT_DOUBLE_EQ(read_details(*source).at("host.cgroup_cpu_util"), 1.5);
}

TEST(HostDetails, AsksLocalFileSystemsOnly) {
  DetailedMachine machine("small-vm");
  machine.write("proc/self/mounts",
                "proc /proc proc rw 0 0\n/dev/vda1 / ext4 rw 0 0\n/dev/vda1 /again ext4 rw 0 0\n"
                "nas:/home /home nfs4 rw 0 0\n/dev/vdb /absent xfs rw 0 0\n");
  const auto found = read_details(*machine.source());
  EXPECT_GT(found.at("host.filesystem_used_bytes//"), 0);
  EXPECT_GT(found.at("host.filesystem_available_bytes//"), 0);
  EXPECT_THAT(found, Not(Contains(Key("host.filesystem_used_bytes//home"))));
  EXPECT_THAT(found, Not(Contains(Key("host.filesystem_used_bytes//again"))));
  EXPECT_THAT(found, Not(Contains(Key("host.filesystem_used_bytes//absent"))));
}

TEST(HostDetails, AMachineWithoutAnyOfItHasNoDetails) {
  const TemporaryFolder empty;
  const auto reading = make_host_details_source({.root = empty.path()})->read(SteadyTime::max());
  ASSERT_TRUE(reading.ok());
  EXPECT_THAT(reading->samples, IsEmpty());
  EXPECT_THAT(reading->missing, Contains("host.core_util"));
}

TEST(HostDetails, ReadsThisMachine) {
  const auto source = make_host_details_source({});
  std::map<std::string, double> found;
  while (!found.contains("host.core_util/0")) found = read_details(*source);
  EXPECT_LE(found.at("host.core_util/0"), 1);
}

}  // namespace
}  // namespace assay
