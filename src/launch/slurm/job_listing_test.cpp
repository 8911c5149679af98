#include "launch/slurm/job_listing.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "base/files.h"
#include "base/text.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// As squeue 22.05 prints it, with '#' for the mark.
std::string printed_line(std::string_view line) {
  std::string text;
  for (const auto field : split(line, '#')) text += std::string(field) + "<m>";
  return text + "\n";
}

TEST(SlurmJobs, ReadsWhatSqueuePrints) {
  const auto text =
      printed_line(
          "3_[1-5]#root#PENDING#normal#Resources##1#2#cpu=2,mem=1000M,node=1,billing=2#N/A#N/A#gres:gpu:1#N/A#"
          "1826569350#1795033348#(null)#arr") +
      printed_line(
          "1#ada#RUNNING#normal#None#node1#1#1#cpu=1,node=1,billing=1#N/A#gres:gpu:1#N/A#N/A#1795033349#1795033348#"
          "(null)#we|ird n\xc3\xa4me");
  const auto read = parse_slurm_jobs(text, "m", false);
  ASSERT_THAT(read.jobs, SizeIs(2));
  const auto& runs = read.jobs[0];
  EXPECT_EQ(runs.id, "1") << "what has nodes comes first";
  EXPECT_EQ(runs.user, "ada");
  EXPECT_EQ(runs.name, "we|ird n\xc3\xa4me");
  EXPECT_EQ(runs.state, "RUNNING");
  EXPECT_EQ(runs.nodes, "node1");
  EXPECT_EQ(runs.gpus, 1);
  EXPECT_EQ(runs.since, WallTime(std::chrono::seconds(1'795'033'349)));
  EXPECT_EQ(runs.reason, "");
  const auto& waits = read.jobs[1];
  EXPECT_EQ(waits.id, "3_[1-5]");
  EXPECT_EQ(waits.reason, "Resources");
  EXPECT_EQ(waits.gpus, 2) << "one for each of two tasks";
  EXPECT_EQ(waits.since, WallTime(std::chrono::seconds(1'795'033'348))) << "the time at which it was asked for";
  EXPECT_EQ(read.left_out, 0U);
}

std::optional<std::int64_t> gpus_of_job(std::string_view allocated, std::string_view asked) {
  const auto read = parse_slurm_jobs(
      printed_line(fmt::format("1#ada#RUNNING#normal#None#node[1-2]#2#4#{}#{}#1795033349#1795033348#(null)#x",
                               allocated, asked)),
      "m", false);
  EXPECT_THAT(read.jobs, SizeIs(1));
  return read.jobs.empty() ? -1 : read.jobs.front().gpus;
}

TEST(SlurmJobs, CountsGpus) {
  EXPECT_EQ(gpus_of_job("cpu=2,gres/gpu=3,gres/gpu:h100=3", "N/A#gres:gpu:8#N/A#N/A"), 3) << "what it was given";
  EXPECT_EQ(gpus_of_job("cpu=2,gres/gpu:a100=1,gres/gpu:h100=2", "N/A#N/A#N/A#N/A"), 3);
  EXPECT_EQ(gpus_of_job("cpu=2", "gres:gpu:h100:3#N/A#N/A#N/A"), 3);
  EXPECT_EQ(gpus_of_job("cpu=2", "N/A#gres:gpu:h100:3(S:0-1)#N/A#N/A"), 6);
  EXPECT_EQ(gpus_of_job("cpu=2", "N/A#gres:gpu#N/A#N/A"), 2);
  EXPECT_EQ(gpus_of_job("cpu=2", "N/A#N/A#gres:gpu:1#N/A"), 4);
  EXPECT_EQ(gpus_of_job("cpu=2", "N/A#N/A#N/A#gres:gpu:1"), std::nullopt) << "nobody says on how many sockets";
  EXPECT_EQ(gpus_of_job("cpu=2", "N/A#gres:shard:4#N/A#N/A"), 0);
  EXPECT_EQ(gpus_of_job("cpu=2", "N/A#gres:gpu:99999999999999999999#N/A#N/A"), 2) << "no number";
}

TEST(SlurmJobs, NobodyMakesUpAJobOfSomebodyElse) {
  // The name has a line end and what looks like a job, but eve cannot know the mark.
  const auto forged =
      "5<m>eve<m>RUNNING<m>normal<m>None<m>node1<m>1<m>1<m>cpu=1<m>N/A<m>N/A<m>N/A<m>N/A<m>1<m>1<m>c\n|"
      "<m>x\n9<guess>bob<guess>RUNNING<m>\n";
  const auto read = parse_slurm_jobs(forged, "m", false);
  ASSERT_THAT(read.jobs, SizeIs(1));
  EXPECT_EQ(read.jobs[0].user, "eve");
  EXPECT_EQ(read.jobs[0].name, "x 9<guess>bob<guess>RUNNING") << "on one line";
}

TEST(SlurmJobs, WhatSlurmKeepsPrivateStaysOut) {
  const auto text = printed_line(
      "1#ada#RUNNING#normal#None#node1#1#1#cpu=1#N/A#gres:gpu:1#N/A#N/A#1795033349#1795033348#assay:k#secret");
  const auto read = parse_slurm_jobs(text, "m", true);
  ASSERT_THAT(read.jobs, SizeIs(1));
  EXPECT_TRUE(read.keeps_private);
  EXPECT_EQ(read.jobs[0].user + read.jobs[0].name, "");
  EXPECT_EQ(read.jobs[0].nodes, "node1") << "that a node is taken is no secret";
  EXPECT_TRUE(read.jobs[0].of_assay);
  EXPECT_TRUE(keeps_jobs_private("Foo = bar\nPrivateData             = accounts,jobs,usage\n"));
  EXPECT_FALSE(keeps_jobs_private("PrivateData             = accounts,usage\n"));
  EXPECT_FALSE(keeps_jobs_private("PrivateData             = none\n"));
  EXPECT_TRUE(keeps_jobs_private("no such line\n")) << "who does not know keeps silent";
}

TEST(SlurmJobs, OfTooManyThoseThatRunAreKept) {
  std::string text;
  const auto add = [&](std::size_t id, std::string_view nodes) {
    text += printed_line(fmt::format("{}#a#S#p#None#{}#1#1#cpu=1#N/A#N/A#N/A#N/A#1#1#(null)#x", id, nodes));
  };
  for (std::size_t i = 1; i <= kMostSlurmJobs; ++i) add(i, "");
  for (std::size_t i = 1; i <= 10; ++i) add(kMostSlurmJobs + i, "n1");
  const auto read = parse_slurm_jobs(text, "m", false);
  ASSERT_THAT(read.jobs, SizeIs(kMostSlurmJobs));
  EXPECT_EQ(read.left_out, 10U);
  EXPECT_EQ(read.jobs[9].nodes, "n1");
  EXPECT_EQ(read.jobs[10].id, "1");
}

/// Stands in for Slurm's programs.
class ReadSlurmJobs : public testing::Test {
 protected:
  void program(const std::string& name, const std::string& body) {
    const auto path = folder_.path() / name;
    ASSERT_TRUE(write_file_atomically(path, "#!/bin/sh\n" + body + "\n").ok());
    ::chmod(path.c_str(), 0755);
  }
  Result<SlurmJobs> read() const {
    const char* path = std::getenv("PATH");
    return read_slurm_jobs(SlurmCommands({{"PATH", folder_.path().string() + ":" + (path ? path : "/usr/bin:/bin")}}));
  }

  TemporaryFolder folder_;
};

TEST_F(ReadSlurmJobs, AsksWithAMarkOfItsOwn) {
  program("scontrol", "echo 'PrivateData = none'");
  // Prints a job with the mark that it was asked with.
  program(
      "squeue",
      "mark=$(echo \"$2\" | sed 's/.*\\(<[a-z0-9]*>\\)$/\\1/')\n"
      "for field in 1 ada RUNNING normal None node1 1 1 cpu=1 N/A N/A N/A N/A 60 60 '(null)' \"$SLURM_TIME_FORMAT\"; "
      "do printf '%s%s' \"$field\" \"$mark\"; done; echo");
  const auto jobs = read();
  ASSERT_TRUE(jobs.ok()) << jobs.error().text();
  ASSERT_THAT(jobs->jobs, SizeIs(1));
  EXPECT_EQ(jobs->jobs[0].user, "ada");
  EXPECT_EQ(jobs->jobs[0].name, "%s") << "times are asked for in seconds";
}

TEST_F(ReadSlurmJobs, SaysThatSlurmDoesNotAnswer) {
  program("scontrol", "echo 'PrivateData = none'");
  program("squeue", "echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1");
  const auto jobs = read();
  ASSERT_FALSE(jobs.ok());
  EXPECT_EQ(jobs.error().kind, ErrorKind::unreachable);
  EXPECT_THAT(jobs.error().text(), HasSubstr("asking Slurm for its jobs: slurm_load_jobs error: Unable to contact"));
}

}  // namespace
}  // namespace assay
