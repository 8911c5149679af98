#include "parallel/cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace assay::engine {
namespace {

using testing::ElementsAre;
using Cpus = std::vector<int>;

/// Two packages of `cores` cores with two hyper-threads each, numbered as Linux mostly does: first all first threads.
CoreTopology two_packages(int cores) {
  CoreTopology topology;
  for (int cpu = 0; cpu < 4 * cores; ++cpu) {
    const int first_thread = cpu % (2 * cores);
    topology.cpus[cpu] = {
        .numa_node = first_thread / cores, .package = first_thread / cores, .core = first_thread % cores};
  }
  return topology;
}

Cpus up_to(int count) {
  Cpus cpus;
  for (int cpu = 0; cpu < count; ++cpu) cpus.push_back(cpu);
  return cpus;
}

TEST(CoresFor, GivesOneRankEverything) {
  const CoreShare share = cores_for(up_to(8), two_packages(2), 0, 1);
  EXPECT_EQ(share.cores, up_to(8));
  EXPECT_FALSE(share.oversubscribed);
  EXPECT_FALSE(share.shares_a_core);
}

TEST(CoresFor, KeepsHyperThreadsAndNumaNodesTogether) {
  // CPUs 0-3 and their second threads 4-7; cores 0 and 1 are on node 0.
  EXPECT_THAT(cores_for(up_to(8), two_packages(2), 0, 2).cores, ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(cores_for(up_to(8), two_packages(2), 1, 2).cores, ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(cores_for(up_to(8), two_packages(2), 3, 4).cores, ElementsAre(3, 7));
  EXPECT_FALSE(cores_for(up_to(8), two_packages(2), 3, 4).shares_a_core);
}

TEST(CoresFor, SharesUnevenNumbersWithoutGapOrOverlap) {
  Cpus all;
  for (int rank = 0; rank < 3; ++rank) {
    const Cpus mine = cores_for(up_to(10), {}, rank, 3).cores;
    EXPECT_GE(mine.size(), 3U);
    EXPECT_LE(mine.size(), 4U);
    all.insert(all.end(), mine.begin(), mine.end());
  }
  EXPECT_EQ(all, up_to(10));
}

TEST(CoresFor, UsesOnlyWhatIsAllowed) {
  EXPECT_THAT(cores_for({1, 2, 6, 7}, two_packages(2), 0, 2).cores, ElementsAre(1));
  EXPECT_THAT(cores_for({1, 2, 6, 7}, two_packages(2), 1, 2).cores, ElementsAre(2, 6, 7));
}

TEST(CoresFor, SplitsHyperThreadsOnlyWhereCoresAreTooFew) {
  const CoreShare share = cores_for({0, 4}, two_packages(2), 1, 2);
  EXPECT_THAT(share.cores, ElementsAre(4));
  EXPECT_TRUE(share.shares_a_core);
  EXPECT_FALSE(share.oversubscribed);
}

TEST(CoresFor, GoesRoundWhereThereAreMoreRanksThanCpus) {
  for (int rank = 0; rank < 5; ++rank) {
    const CoreShare share = cores_for({3, 8}, {}, rank, 5);
    EXPECT_THAT(share.cores, ElementsAre(rank % 2 == 0 ? 3 : 8));
    EXPECT_TRUE(share.oversubscribed);
  }
}

TEST(CoresFor, RefusesNonsense) {
  EXPECT_THROW(cores_for({}, {}, 0, 1), std::invalid_argument);
  EXPECT_THROW(cores_for({0}, {}, 1, 1), std::invalid_argument);
}

TEST(CoreTopology, IsReadFromSysfs) {
  const auto root = std::filesystem::path(testing::TempDir()) / "core_topology_test";
  const auto cpu = root / "devices/system/cpu/cpu12";
  std::filesystem::create_directories(cpu / "topology");
  std::filesystem::create_directories(cpu / "node3");
  std::filesystem::create_directories(root / "devices/system/cpu/cpufreq");
  std::filesystem::create_directories(root / "devices/system/cpu/cpu13");  // offline: no topology
  std::ofstream(cpu / "topology/physical_package_id") << "1\n";
  std::ofstream(cpu / "topology/core_id") << "5\n";
  const CoreTopology topology = read_core_topology(root.string());
  std::filesystem::remove_all(root);
  ASSERT_EQ(topology.cpus.size(), 1U);
  EXPECT_EQ(topology.cpus.at(12), (CoreTopology::Place{.numa_node = 3, .package = 1, .core = 5}));
  EXPECT_TRUE(read_core_topology("/nowhere").cpus.empty());
}

TEST(PinTo, BindsThisAndLaterThreads) {
  const Cpus before = allowed_cores();
  ASSERT_FALSE(before.empty());
  pin_to({before.back()});
  EXPECT_THAT(allowed_cores(), ElementsAre(before.back()));
  Cpus in_thread;
  std::thread([&] { in_thread = allowed_cores(); }).join();
  EXPECT_THAT(in_thread, ElementsAre(before.back()));
  pin_to(before);
  EXPECT_EQ(allowed_cores(), before);
  EXPECT_THROW(pin_to({}), std::system_error);
}

}  // namespace
}  // namespace assay::engine
