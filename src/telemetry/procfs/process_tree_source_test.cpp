#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/guard.h"
#include "model/metric.h"
#include "telemetry/procfs/procfs_source.h"
#include "telemetry/reading.h"

namespace assay {
namespace {

using std::chrono::seconds;

constexpr pid_t kGuard = 100;
constexpr pid_t kWorkload = 101;

struct FakeProcess {
  pid_t pid;
  pid_t parent;
  double cpu_seconds = 0;
  double waited_cpu_seconds = 0;
  int resident_pages = 0;
  int shared_pages = 0;
  char state = 'S';
  int start = 1000;
};

/// A /proc with four CPUs, a guard, and whatever processes the test puts below it.
class FakeMachine {
 public:
  FakeMachine() {
    fs::create_directories(root_.path() / "proc");
    std::ofstream(root_.path() / "proc/stat") << "cpu  1 1 1 1 1 1 1 1\ncpu0 1\ncpu1 1\ncpu2 1\ncpu3 1\nintr 5\n";
    put({.pid = 1, .parent = 0});
    put({.pid = kGuard, .parent = 1});
  }
  void put(const FakeProcess& process) {
    const auto folder = root_.path() / "proc" / std::to_string(process.pid);
    const auto ticks = [](double cpu) {
      return std::to_string(std::llround(cpu * static_cast<double>(::sysconf(_SC_CLK_TCK))));
    };
    fs::create_directories(folder);
    std::ofstream(folder / "stat") << process.pid << " (work) " << process.state << ' ' << process.parent
                                   << " 1 1 0 -1 0 0 0 0 0 " << ticks(process.cpu_seconds) << " 0 "
                                   << ticks(process.waited_cpu_seconds) << " 0 20 0 1 0 " << process.start << " 0\n";
    std::ofstream(folder / "statm") << "90000 " << process.resident_pages << ' ' << process.shared_pages
                                    << " 1 0 1 0\n";
  }
  void remove(pid_t pid) { fs::remove_all(root_.path() / "proc" / std::to_string(pid)); }
  void advance(Nanos by) { clock_.advance(by); }
  std::unique_ptr<MetricSource> source() const {
    return make_process_tree_source(kWorkload, {.root = root_.path(), .clock = &clock_});
  }

 private:
  TemporaryFolder root_;
  ManualClock clock_;
};

std::map<std::string, double> read_tree(MetricSource& source) {
  std::map<std::string, double> values;
  const auto reading = source.read(SteadyTime::max());
  EXPECT_TRUE(reading.ok()) << reading.error().text();
  if (!reading) return values;
  EXPECT_THAT(reading->missing, testing::IsEmpty());
  for (const auto& sample : reading->samples) {
    values[sample.key.name] = sample.value;
    const auto* metric = find_metric(sample.key.name);
    EXPECT_TRUE(metric != nullptr && sample.unit == metric->unit) << sample.key.name;
  }
  return values;
}

TEST(ProcessTreeSource, AddsUpEverythingBelowTheGuard) {
  FakeMachine machine;
  machine.put({.pid = kWorkload, .parent = kGuard, .cpu_seconds = 5, .resident_pages = 300, .shared_pages = 100});
  machine.put({.pid = 120, .parent = kWorkload, .cpu_seconds = 7, .resident_pages = 50, .shared_pages = 60});
  machine.put({.pid = 110, .parent = 120, .cpu_seconds = 1, .resident_pages = 30, .shared_pages = 10});
  machine.put({.pid = 130, .parent = kGuard, .resident_pages = 2, .shared_pages = 1});  // a daemon
  machine.put({.pid = 140, .parent = kWorkload, .cpu_seconds = 3, .resident_pages = 9, .state = 'Z'});
  machine.put({.pid = 200, .parent = 1, .cpu_seconds = 90, .resident_pages = 9000});  // somebody else's
  const auto source = machine.source();

  const auto first = read_tree(*source);
  EXPECT_EQ(first.at("workload.processes"), 4);
  EXPECT_EQ(first.at("workload.rss_bytes"), (200 + 0 + 20 + 1) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  EXPECT_FALSE(first.contains("workload.cpu_util"));

  machine.put({.pid = kWorkload, .parent = kGuard, .cpu_seconds = 8});
  machine.put({.pid = 110, .parent = 120, .cpu_seconds = 2});
  machine.put({.pid = 200, .parent = 1, .cpu_seconds = 99});
  machine.advance(seconds(2));
  EXPECT_DOUBLE_EQ(read_tree(*source).at("workload.cpu_util"), (3 + 1) / 2.0);
}

TEST(ProcessTreeSource, TimeOfProcessesThatComeAndGoIsNotLost) {
  FakeMachine machine;
  machine.put({.pid = kWorkload, .parent = kGuard, .cpu_seconds = 1});
  machine.put({.pid = 110, .parent = kWorkload, .cpu_seconds = 50});
  const auto source = machine.source();
  read_tree(*source);

  // 110 ended after one more second; one that never was seen took half a second.
  machine.remove(110);
  machine.put({.pid = kWorkload, .parent = kGuard, .cpu_seconds = 1, .waited_cpu_seconds = 51.5});
  machine.advance(seconds(1));
  EXPECT_DOUBLE_EQ(read_tree(*source).at("workload.cpu_util"), 1.5);

  // A new process counts with all of its time.
  machine.put({.pid = 150, .parent = kWorkload, .cpu_seconds = 0.5});
  machine.advance(seconds(1));
  EXPECT_DOUBLE_EQ(read_tree(*source).at("workload.cpu_util"), 0.5);

  // The first process ends as well: the guard has waited for it.
  machine.remove(kWorkload);
  machine.put({.pid = 150, .parent = kGuard, .cpu_seconds = 0.5});
  machine.put({.pid = kGuard, .parent = 1, .cpu_seconds = 0.1, .waited_cpu_seconds = 52.5});
  machine.advance(seconds(1));
  const auto last = read_tree(*source);
  EXPECT_DOUBLE_EQ(last.at("workload.cpu_util"), 0);
  EXPECT_EQ(last.at("workload.processes"), 1);
}

TEST(ProcessTreeSource, ImpossibleDifferencesAreLeftOut) {
  FakeMachine machine;
  machine.put({.pid = kWorkload, .parent = kGuard, .cpu_seconds = 1});
  machine.put({.pid = 110, .parent = kWorkload, .cpu_seconds = 5000});
  const auto source = machine.source();
  read_tree(*source);
  // Nobody waited for it (or not yet when its parent was read_tree), so its time is gone …
  machine.remove(110);
  machine.advance(seconds(1));
  EXPECT_FALSE(read_tree(*source).contains("workload.cpu_util"));
  // … and comes back at once.
  machine.put({.pid = kWorkload, .parent = kGuard, .cpu_seconds = 1, .waited_cpu_seconds = 5000});
  machine.advance(seconds(1));
  EXPECT_FALSE(read_tree(*source).contains("workload.cpu_util"));
  machine.put({.pid = kWorkload, .parent = kGuard, .cpu_seconds = 4, .waited_cpu_seconds = 5000});
  machine.advance(seconds(1));
  EXPECT_DOUBLE_EQ(read_tree(*source).at("workload.cpu_util"), 3);
}

TEST(ProcessTreeSource, ANumberThatIsUsedAgainBySomebodyElseDoesNotCount) {
  FakeMachine machine;
  machine.put({.pid = kWorkload, .parent = kGuard});
  machine.put({.pid = 110, .parent = kWorkload, .start = 1000});
  const auto source = machine.source();
  EXPECT_EQ(read_tree(*source).at("workload.processes"), 2);
  machine.put({.pid = 110, .parent = 1, .start = 2000});
  EXPECT_EQ(read_tree(*source).at("workload.processes"), 1);
}

TEST(ProcessTreeSource, AProcessWhoseParentVanishedIsFoundNextTime) {
  FakeMachine machine;
  machine.put({.pid = kWorkload, .parent = kGuard});
  machine.put({.pid = 111, .parent = 110});  // 110 ended while we looked
  const auto source = machine.source();
  EXPECT_EQ(read_tree(*source).at("workload.processes"), 1);
  machine.put({.pid = 111, .parent = kGuard});
  EXPECT_EQ(read_tree(*source).at("workload.processes"), 2);
}

TEST(ProcessTreeSource, AfterTheGuardIsGoneThereIsNothingToRead) {
  FakeMachine machine;
  const auto too_late = machine.source();
  EXPECT_EQ(too_late->read(SteadyTime::max()).error().kind, ErrorKind::not_found);

  machine.put({.pid = kWorkload, .parent = kGuard});
  const auto source = machine.source();
  read_tree(*source);
  machine.remove(kWorkload);
  EXPECT_EQ(read_tree(*source).at("workload.processes"), 0);
  machine.remove(kGuard);
  EXPECT_EQ(source->read(SteadyTime::max()).error().kind, ErrorKind::not_found);
}

TEST(ProcessTreeSource, FollowsARealWorkload) {
  auto process = GuardedProcess::start(
      {.arguments = {"sh", "-c", "sleep 1000 & setsid sh -c 'sleep 1000 & exit'; while :; do :; done"}});
  ASSERT_TRUE(process.ok()) << process.error().text();
  const auto source = make_process_tree_source(process->workload_pid());
  // The busy shell, its child and the daemon.
  std::map<std::string, double> found;
  const auto deadline = SystemClock().now() + seconds(60);
  while (SystemClock().now() < deadline) {
    found = read_tree(*source);
    if (found["workload.processes"] == 3 && found["workload.cpu_util"] > 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(found["workload.processes"], 3);
  EXPECT_GT(found["workload.cpu_util"], 0);
  EXPECT_GT(found["workload.rss_bytes"], 0);
}

}  // namespace
}  // namespace assay
