#include "launch/hosted/job_order.h"

#include <gmock/gmock.h>

#include "launch/job.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(JobOrder, CarriesTheWholeJob) {
  const Job job{.arguments = {"sh", "-c", "echo 'ä' \"$X\"\n"},
                .environment = {{"X", "a=b"}, {"EMPTY", ""}},
                .folder = "/work folder",
                .scratch = "/tmp/scratch",
                .devices = std::vector<std::string>{"GPU-1"},
                .ranks = {.nodes = 2, .per_node = 4},
                .nodes = {"gpu01", "gpu02"},
                .grace = std::chrono::seconds(7),
                .time_limit = std::chrono::hours(1),
                .name = "a run",
                .token = "r-81",
                .reading_period = std::chrono::seconds(3)};
  const auto read = read_order(write_order(job).value());
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->arguments, job.arguments);
  EXPECT_EQ(read->environment, job.environment);
  EXPECT_EQ(read->folder, job.folder);
  EXPECT_EQ(read->scratch, job.scratch);
  EXPECT_EQ(read->devices, job.devices);
  EXPECT_EQ(read->ranks.nodes, 2);
  EXPECT_EQ(read->ranks.per_node, 4);
  EXPECT_EQ(read->nodes, job.nodes);
  EXPECT_EQ(read->grace, job.grace);
  EXPECT_EQ(read->time_limit, job.time_limit);
  EXPECT_EQ(read->reading_period, job.reading_period);
  EXPECT_EQ(read->name, job.name);
  EXPECT_EQ(read->token, job.token);
  const auto least = read_order(write_order({.arguments = {"true"}}).value());
  EXPECT_EQ(least->folder, std::nullopt);
  EXPECT_EQ(least->devices, std::nullopt) << "not an empty list, which would hide every GPU";
}

TEST(JobOrder, WhatCannotTravelIsRefused) {
  EXPECT_EQ(write_order({}).error().kind, ErrorKind::usage);
  EXPECT_EQ(write_order({.arguments = {"cat"}, .inherit_input = true}).error().kind, ErrorKind::unsupported);
  EXPECT_EQ(write_order({.arguments = {"echo", "\xff"}}).error().kind, ErrorKind::usage);
  EXPECT_EQ(read_order("{}").ok(), false);
  EXPECT_EQ(read_order(R"({"schema": 99})").ok(), false);
  EXPECT_EQ(read_order(R"({"schema": 1, "nodes": 0})").ok(), false);
}

TEST(PartOfJob, IsWrittenAsOneOfSeveral) {
  EXPECT_EQ(parse_part("1/4").value(), (PartOfJob{1, 4}));
  EXPECT_EQ(text_of(PartOfJob{1, 4}), "1/4");
  for (const char* text : {"", "1", "4/4", "-1/4", "1/4x", "a/b"}) EXPECT_FALSE(parse_part(text).ok()) << text;
}

TEST(RankVariables, TellAProcessItsPlace) {
  EXPECT_THAT(rank_variables({}, {}, 0, {}), IsEmpty());
  EXPECT_THAT(rank_variables({.nodes = 2, .per_node = 4}, {1, 2}, 3, {"gpu01", 29500}),
              ElementsAre(Pair("LOCAL_RANK", "3"), Pair("LOCAL_WORLD_SIZE", "4"), Pair("MASTER_ADDR", "gpu01"),
                          Pair("MASTER_PORT", "29500"), Pair("RANK", "7"), Pair("WORLD_SIZE", "8")));
}

}  // namespace
}  // namespace assay
