#include "telemetry/procfs/procfs_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/files.h"
#include "model/metric.h"
#include "support/source_tree.h"
#include "telemetry/procfs/device_traffic.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using std::chrono::seconds;
using testing::DoubleEq;
using testing::DoubleNear;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

/// A recording laid out as a machine's root folder, with a clock that the test owns.
class RecordedMachine {
 public:
  explicit RecordedMachine(const std::string& name) : recording_(test::fixture_folder() / "procfs" / name) {
    play("first");
  }
  /// Puts another moment's files over the present ones.
  void play(const std::string& moment) {
    fs::copy(recording_ / moment, root_.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }
  void write(const fs::path& file, std::string_view content) { std::ofstream(root_.path() / file) << content; }
  void remove(const fs::path& file) { fs::remove_all(root_.path() / file); }
  void advance(Nanos by) { clock_.advance(by); }
  ProcfsOptions options() const { return {.root = root_.path(), .clock = &clock_}; }

 private:
  fs::path recording_;
  TemporaryFolder root_;
  ManualClock clock_;
};

Reading read(MetricSource& source) {
  auto reading = source.read(SteadyTime::max());
  EXPECT_TRUE(reading.ok()) << reading.error().text();
  return reading ? *reading : Reading{};
}

std::map<std::string, double> values(const Reading& reading) {
  std::map<std::string, double> values;
  for (const auto& sample : reading.samples) values[sample.key.name] = sample.value;
  return values;
}

TEST(ProcfsSource, ReadsATrainingNode) {
  RecordedMachine machine("training-node");
  const auto source = make_procfs_source(machine.options());
  EXPECT_THAT(values(read(*source)),
              UnorderedElementsAre(Pair("host.memory_used_bytes", DoubleEq(200'000'000.0 * 1024)),
                                   Pair("host.memory_available_bytes", DoubleEq(856'458'232.0 * 1024)),
                                   Pair("host.swap_used_bytes", DoubleEq(0)), Pair("host.load1", DoubleEq(30.12))))
      << "rates need two readings";

  machine.play("second");
  machine.advance(seconds(10));
  const Reading reading = read(*source);
  // 32 of 64 CPUs busy, 16 half busy and half waiting for disks, 16 idle.
  constexpr double kCpu = 40.0 / 64;
  // The SATA disk, the old RAID controller's and those seven NVMe disks that were there all the time.
  constexpr double kRead = (20'480 + 4'096 + 7 * 2'048'000) * 51.2;
  constexpr double kWritten = (40'960 + 8'192 + 7 * 1'024'000) * 51.2;
  EXPECT_THAT(values(reading), UnorderedElementsAre(Pair("host.cpu_util", DoubleNear(kCpu, 1e-9)),
                                                    Pair("host.memory_used_bytes", DoubleEq(250'000'000.0 * 1024)),
                                                    Pair("host.memory_available_bytes", DoubleEq(806'458'232.0 * 1024)),
                                                    Pair("host.swap_used_bytes", DoubleEq(200'000.0 * 1024)),
                                                    Pair("host.load1", DoubleEq(31.76)),
                                                    Pair("host.disk_read_bytes_per_second", DoubleNear(kRead, 1)),
                                                    Pair("host.disk_write_bytes_per_second", DoubleNear(kWritten, 1)),
                                                    // Eight ports with 10, 20, … 80 MB and a tenth of that.
                                                    Pair("host.net_receive_bytes_per_second", DoubleNear(36e6, 1)),
                                                    Pair("host.net_transmit_bytes_per_second", DoubleNear(3.6e6, 1))));
  EXPECT_THAT(reading.missing, IsEmpty());
}

TEST(ProcfsSource, ReadsASmallVirtualMachine) {
  RecordedMachine machine("small-vm");
  const auto source = make_procfs_source(machine.options());
  read(*source);
  machine.play("second");
  machine.advance(seconds(3));
  const auto found = values(read(*source));
  EXPECT_DOUBLE_EQ(found.at("host.cpu_util"), 1.0);
  EXPECT_DOUBLE_EQ(found.at("host.memory_used_bytes"), (24'684'100.0 - 23'066'012.0) * 1024);
  EXPECT_NEAR(found.at("host.disk_read_bytes_per_second"), (9'354'906 - 9'272'234) * 512.0 / 3, 1);
  EXPECT_NEAR(found.at("host.disk_write_bytes_per_second"), (12'530'856 - 12'417'624) * 512.0 / 3, 1);
  EXPECT_DOUBLE_EQ(found.at("host.net_receive_bytes_per_second"), 0);
}

TEST(ProcfsSource, EveryMetricIsInTheTableWithItsUnit) {
  RecordedMachine machine("small-vm");
  const auto source = make_procfs_source(machine.options());
  read(*source);
  machine.play("second");
  machine.advance(seconds(1));
  const Reading reading = read(*source);
  EXPECT_EQ(reading.samples.size(), 9U);
  for (const auto& sample : reading.samples) {
    const auto* metric = find_metric(sample.key.name);
    ASSERT_NE(metric, nullptr) << sample.key.name;
    EXPECT_EQ(sample.unit, metric->unit);
  }
}

TEST(ProcfsSource, WithoutTimeBetweenReadingsThereAreNoRates) {
  RecordedMachine machine("small-vm");
  const auto source = make_procfs_source(machine.options());
  read(*source);
  const Reading again = read(*source);
  EXPECT_EQ(again.samples.size(), 4U);
  EXPECT_THAT(again.missing, IsEmpty());
}

TEST(ProcfsSource, ListsWhatCannotBeRead) {
  RecordedMachine machine("small-vm");
  machine.remove("proc/diskstats");
  machine.write("proc/loadavg", "");
  machine.write("proc/stat", "cpu  1 2 3\n");
  machine.write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\nSwapTotal: many kB\n");
  const auto source = make_procfs_source(machine.options());
  read(*source);
  machine.advance(seconds(1));
  const Reading reading = read(*source);
  EXPECT_THAT(reading.missing,
              UnorderedElementsAre("host.cpu_util", "host.load1", "host.swap_used_bytes",
                                   "host.disk_read_bytes_per_second", "host.disk_write_bytes_per_second"));
  EXPECT_DOUBLE_EQ(values(reading).at("host.memory_used_bytes"), 600 * 1024);
}

TEST(ProcfsSource, WithoutAnyFileItIsAnError) {
  const TemporaryFolder empty;
  const auto source = make_procfs_source({.root = empty.path()});
  const auto reading = source->read(SteadyTime::max());
  ASSERT_FALSE(reading.ok());
  EXPECT_EQ(reading.error().kind, ErrorKind::unsupported);
}

TEST(ProcfsSource, CpuTimeThatStepsBackStaysInRange) {
  RecordedMachine machine("small-vm");
  const auto source = make_procfs_source(machine.options());
  const auto util_of = [&](std::string_view line) {
    machine.write("proc/stat", line);
    machine.advance(seconds(1));
    const auto found = values(read(*source));
    return found.contains("host.cpu_util") ? found.at("host.cpu_util") : -1;
  };
  EXPECT_EQ(util_of("cpu  100 0 100 1000 50 0 0 0 0 0\n"), -1);
  EXPECT_EQ(util_of("cpu  200 0 100 1000 40 0 0 0 0 0\n"), 1) << "iowait stepped back";
  EXPECT_EQ(util_of("cpu  10 0 10 10 0 0 0 0 0 0\n"), -1) << "all of it began again";
  EXPECT_EQ(util_of("cpu  20 0 10 40 0 0 0 0 0 0\n"), 0.25);
}

TEST(ProcfsSource, AContainerCountsItsVirtualInterface) {
  const TemporaryFolder nothing;
  InterfaceFilter filter(nothing.path());
  const auto counters = filter.counters(
      "headings\nheadings\n"
      "    lo: 500 1 0 0 0 0 0 0 500 1 0 0 0 0 0 0\n"
      "  eth0:1500 1 0 0 0 0 0 0 2500 1 0 0 0 0 0 0\n");
  ASSERT_THAT(counters, testing::SizeIs(1));
  EXPECT_EQ(counters.at("eth0").in, 1500);
  EXPECT_EQ(counters.at("eth0").out, 2500);
}

TEST(ProcfsSource, ReadsThisMachine) {
  const auto source = make_procfs_source({});
  read(*source);
  // CPU time is counted in ticks of 10 ms: until one has passed, there is no ratio.
  std::map<std::string, double> found;
  while (!found.contains("host.cpu_util")) found = values(read(*source));
  EXPECT_GE(found.at("host.cpu_util"), 0);
  EXPECT_LE(found.at("host.cpu_util"), 1);
  EXPECT_GT(found.at("host.memory_used_bytes"), 0);
  EXPECT_GT(found.at("host.memory_available_bytes"), 0);
}

}  // namespace
}  // namespace assay
