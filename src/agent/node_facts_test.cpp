#include "agent/node_facts.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace assay {
namespace {

void put(const fs::path& path, std::string_view text) {
  ASSERT_TRUE(make_folders(path.parent_path()).ok());
  ASSERT_TRUE(write_file_atomically(path, text).ok());
}

TEST(NodeFacts, AreReadFromTheMachine) {
  const TemporaryFolder root;
  put(root.path() / "etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  put(root.path() / "proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
  put(root.path() / "proc/cpuinfo", "model name\t: AMD EPYC 9654\n");
  put(root.path() / "proc/meminfo", "MemTotal:        1024 kB\n");
  put(root.path() / "sys/devices/system/cpu/online", "0-63\n");
  auto facts = node_facts({.root = root.path()});
  EXPECT_EQ(facts["os"], "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(facts["kernel"], "6.1.0-18-amd64");
  EXPECT_EQ(facts["cpu"], "AMD EPYC 9654");
  EXPECT_EQ(facts["cpus"], "64");
  EXPECT_EQ(facts["memory_bytes"], "1048576");
  EXPECT_FALSE(facts["host"].empty());
}

TEST(NodeFacts, WhatIsNotKnownIsLeftOut) {
  const TemporaryFolder root;
  EXPECT_LE(node_facts({.root = root.path()}).size(), 1U) << "the name of the host at most";
  EXPECT_EQ(short_host_name().find('.'), std::string::npos);
}

}  // namespace
}  // namespace assay
