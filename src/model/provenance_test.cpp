#include "model/provenance.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

Provenance full_provenance() {
  return {.assay_version = "0.1.0",
          .assay_commit = "abc123",
          .hostname = "gpu01",
          .os = "Debian GNU/Linux 12 (bookworm)",
          .kernel = "6.1.0-18-amd64",
          .cpu_model = "AMD EPYC 9654",
          .cpu_cores = 96,
          .memory_bytes = std::int64_t{1} << 40,
          .cpu_governor = "performance",
          .gpus = {{"GPU-0a", "NVIDIA H200", 150'754'820'096}, {"GPU-0b", "NVIDIA H200", 150'754'820'096}},
          .gpu_driver = "570.86.15",
          .python_version = "3.11.2",
          .torch_version = "2.11.0",
          .engine_version = "0.1.0",
          .git_commit = "def456",
          .git_dirty = false,
          .command = {"python3", "train.py", "--name=a b", ""},
          .working_directory = "/home/someone",
          .environment = {{"CUDA_VISIBLE_DEVICES", "0,1"}, {"OMP_NUM_THREADS", ""}},
          .job = {{"SLURM_JOB_ID", "81"}},
          .seeds = {{"arrivals", std::numeric_limits<std::uint64_t>::max()}, {"order", 7}}};
}

std::string error_of(const json::value& value) {
  const auto provenance = provenance_from_json(value);
  if (provenance.ok()) {
    ADD_FAILURE() << "was accepted";
    return {};
  }
  EXPECT_EQ(provenance.error().kind, ErrorKind::bad_file);
  return provenance.error().message;
}

TEST(Provenance, SurvivesTheRoundTripThroughText) {
  const auto parsed = parse_json(pretty_json(to_json(full_provenance())));
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  const auto after = provenance_from_json(*parsed);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(*after, full_provenance());
}

TEST(Provenance, WhatIsNotKnownIsLeftOut) {
  EXPECT_TRUE(to_json(Provenance{}).empty());
  const auto after = provenance_from_json(json::object{});
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(*after, Provenance{});
  EXPECT_EQ(after->git_dirty, std::nullopt);
}

TEST(Provenance, NamesBadFields) {
  EXPECT_EQ(error_of(5), "provenance: expected a JSON object");
  EXPECT_EQ(error_of({{"os", 5}}), "provenance: 'os' must be a string");
  EXPECT_EQ(error_of({{"cpu_cores", "many"}}), "provenance: 'cpu_cores' must be a whole number");
  EXPECT_EQ(error_of({{"cpu_cores", 1e12}}), "provenance: 'cpu_cores' is out of range");
  EXPECT_EQ(error_of({{"git_dirty", "no"}}), "provenance: 'git_dirty' must be true or false");
  EXPECT_EQ(error_of({{"command", {"ls", 5}}}), "provenance: 'command' must hold strings only");
  EXPECT_EQ(error_of({{"environment", {{"PATH", 5}}}}), "provenance: 'environment' must hold strings only");
  EXPECT_EQ(error_of({{"seeds", {{"order", -1}}}}), "provenance: 'seeds' must hold whole numbers");
  EXPECT_EQ(error_of({{"gpus", json::array{json::object{{"uuid", 1}}}}}), "gpu: 'uuid' must be a string");
}

}  // namespace
}  // namespace assay
