#include "launch/slurm/slurm_state.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(SlurmState, ReadsWhatSqueuePrints) {
  // As Slurm 22.05 printed it, but for the last three lines.
  const auto records = parse_squeue(
      "8|PENDING|PartitionNodeLimit||(null)\n"
      "1|RUNNING|None|node[1-2]|assay:abc\n"
      "9|PENDING|ReqNodeNotAvail, UnavailableNodes:node1||assay:d|e\n"
      "10_3|RUNNING|None|node1|assay:array\n"
      "nonsense\n"
      "|RUNNING|None|node1|assay:no-id\n");
  EXPECT_THAT(
      records,
      ElementsAre(
          Pair(1, SlurmRecord{.state = "RUNNING", .reason = "", .nodes = "node[1-2]", .key = "abc"}),
          Pair(8, SlurmRecord{.state = "PENDING", .reason = "PartitionNodeLimit", .nodes = "", .key = ""}),
          Pair(9,
               SlurmRecord{
                   .state = "PENDING", .reason = "ReqNodeNotAvail, UnavailableNodes:node1", .nodes = "", .key = "d"})));
}

TEST(SlurmState, ReadsWhatSacctPrints) {
  const auto record = parse_sacct("12|CANCELLED by 0|node1\n12.batch|CANCELLED|node1\n12.0|FAILED|node1\n", 12);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->state, "CANCELLED");
  EXPECT_EQ(record->nodes, "node1");
  EXPECT_FALSE(parse_sacct("Slurm accounting storage is disabled\n", 12));
}

TEST(SlurmState, ReadsTheIdOfANewJob) {
  EXPECT_EQ(parse_sbatch("4711\n").value(), 4711);
  EXPECT_EQ(parse_sbatch("4711;cluster\n").value(), 4711);
  EXPECT_EQ(parse_sbatch("Welcome to the lab!\n4711\n").value(), 4711);
  EXPECT_THAT(parse_sbatch("Welcome\n").error().message, HasSubstr("'Welcome'"));
  EXPECT_FALSE(parse_sbatch("").ok());
}

TEST(SlurmState, KnowsHowFarAJobIs) {
  EXPECT_EQ(stage_of("PENDING"), SlurmStage::waiting);
  EXPECT_EQ(stage_of("REQUEUED"), SlurmStage::waiting);
  EXPECT_EQ(stage_of("RUNNING"), SlurmStage::running);
  EXPECT_EQ(stage_of("COMPLETING"), SlurmStage::ending);
  for (const auto* const state : {"COMPLETED", "FAILED", "TIMEOUT", "NODE_FAIL", "CANCELLED"}) {
    EXPECT_EQ(stage_of(state), SlurmStage::ended);
  }
}

TEST(SlurmState, SaysWhyAJobWaits) {
  EXPECT_EQ(waiting_text(7, {.state = "PENDING", .reason = "Resources", .nodes = {}, .key = {}}),
            "Slurm job 7 waits: Resources (no free nodes that fit)");
  EXPECT_EQ(waiting_text(7, {.state = "PENDING", .reason = "AssocGrpGRES", .nodes = {}, .key = {}}),
            "Slurm job 7 waits: AssocGrpGRES");
  EXPECT_EQ(waiting_text(7, {.state = "PENDING", .reason = "", .nodes = {}, .key = {}}), "Slurm job 7 waits");
}

TEST(SlurmState, SaysWhySlurmEndedAJob) {
  const auto kind = [](std::string state, std::string reason = {}) {
    const auto error =
        ended_by_slurm(7, {.state = std::move(state), .reason = std::move(reason), .nodes = "n1", .key = {}});
    return error ? std::optional(error->kind) : std::nullopt;
  };
  EXPECT_EQ(kind("TIMEOUT"), ErrorKind::timeout);
  EXPECT_EQ(kind("PREEMPTED"), ErrorKind::interrupted);
  EXPECT_EQ(kind("CANCELLED"), ErrorKind::interrupted);
  EXPECT_EQ(kind("NODE_FAIL"), ErrorKind::lost_peer);
  EXPECT_EQ(kind("OUT_OF_MEMORY"), ErrorKind::oom);
  EXPECT_EQ(kind("PENDING", "PartitionNodeLimit"), ErrorKind::unsupported);
  EXPECT_EQ(kind("PENDING", "Resources"), std::nullopt);
  EXPECT_EQ(kind("COMPLETED"), std::nullopt) << "the job's own doing";
  EXPECT_EQ(kind("FAILED"), std::nullopt);
  EXPECT_EQ(ended_by_slurm(7, {.state = "NODE_FAIL", .reason = {}, .nodes = "n1", .key = {}})->message,
            "the Slurm job 7 lost a node (NODE_FAIL on n1)");
}

TEST(SlurmState, SaysWhySlurmRefusesAJob) {
  const auto error = [](std::string_view said) { return refused_by_slurm(said); };
  const auto partition = error(
      "sbatch: error: invalid partition specified: nope\n"
      "sbatch: error: Batch job submission failed: Invalid partition name specified\n");
  EXPECT_EQ(partition.kind, ErrorKind::usage);
  EXPECT_EQ(partition.message, "Slurm does not take the job: Invalid partition name specified");
  EXPECT_THAT(partition.hint, HasSubstr("sinfo"));
  EXPECT_EQ(error("sbatch: error: Batch job submission failed: Invalid account or account/partition combination "
                  "specified\n")
                .kind,
            ErrorKind::denied);
  EXPECT_EQ(error("sbatch: error: Batch job submission failed: Invalid qos specification\n").kind, ErrorKind::denied);
  EXPECT_EQ(error("sbatch: error: Batch job submission failed: Requested node configuration is not available\n").kind,
            ErrorKind::unsupported);
  EXPECT_EQ(
      error("sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)\n").kind,
      ErrorKind::unreachable);
  EXPECT_THAT(error("sbatch: error: Batch job submission failed: Invalid node name specified\n").hint,
              HasSubstr("sinfo -N"));
  EXPECT_EQ(error("").message, "Slurm does not take the job: sbatch failed without a word");
}

}  // namespace
}  // namespace assay
