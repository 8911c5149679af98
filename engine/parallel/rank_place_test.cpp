#include "parallel/rank_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "formats/failure.h"

namespace assay::engine {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string>;

RankPlace place_from(const Variables& variables) {
  return rank_place_from([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

std::string refusal_of(const Variables& variables) {
  try {
    place_from(variables);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.kind(), "bad_spec");
    EXPECT_FALSE(failure.hint().empty());
    return failure.what();
  }
  return "accepted";
}

const Variables kPlain = {{"RANK", "5"},
                          {"WORLD_SIZE", "8"},
                          {"LOCAL_RANK", "1"},
                          {"LOCAL_WORLD_SIZE", "4"},
                          {"MASTER_ADDR", "gpu01"},
                          {"MASTER_PORT", "29500"}};

const Variables kSlurm = {{"SLURM_PROCID", "3"},
                          {"SLURM_STEP_ID", "2"},
                          {"SLURM_STEP_NUM_TASKS", "7"},
                          {"SLURM_NTASKS", "99"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "1"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                          {"SLURM_STEP_NODELIST", "gpu[007-009,12]"},
                          {"SLURM_JOB_ID", "4711"}};

const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "1"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"PMIX_NAMESPACE", "prterun-host-123@1"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(RankPlace, IsAloneWithoutVariables) {
  const RankPlace place = place_from({});
  EXPECT_EQ(place.origin, RankPlace::Origin::alone);
  EXPECT_EQ(place.rank, 0);
  EXPECT_EQ(place.size, 1);
}

TEST(RankPlace, ReadsThePlainVariables) {
  const RankPlace place = place_from(kPlain);
  EXPECT_EQ(place.origin, RankPlace::Origin::environment);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 4);
  EXPECT_EQ(place.master_address, "gpu01");
  EXPECT_EQ(place.master_port, 29500);
  EXPECT_EQ(place_from(with(kPlain, "ASSAY_RUN_TOKEN", "secret")).token, "secret");
}

TEST(RankPlace, TakesOneRankPerNodeWithoutLocalVariables) {
  Variables variables = kPlain;
  variables.erase("LOCAL_RANK");
  variables.erase("LOCAL_WORLD_SIZE");
  EXPECT_EQ(place_from(variables).local_rank, 0);
  EXPECT_EQ(place_from(variables).local_size, 1);
}

TEST(RankPlace, RefusesContradictionsOfThePlainVariables) {
  EXPECT_THAT(refusal_of({{"RANK", "0"}}), HasSubstr("WORLD_SIZE is not"));
  EXPECT_THAT(refusal_of({{"WORLD_SIZE", "2"}}), HasSubstr("RANK is not"));
  EXPECT_THAT(refusal_of(with(kPlain, "RANK", "8")), HasSubstr("RANK is 8, but WORLD_SIZE is 8"));
  EXPECT_THAT(refusal_of(with(kPlain, "RANK", "-1")), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal_of(with(kPlain, "RANK", "5x")), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal_of(with(kPlain, "LOCAL_RANK", "4")), HasSubstr("LOCAL_WORLD_SIZE is 4"));
  EXPECT_THAT(refusal_of(with(kPlain, "LOCAL_WORLD_SIZE", "9")), HasSubstr("more than all 8 ranks"));
  EXPECT_THAT(refusal_of(with(kPlain, "LOCAL_WORLD_SIZE", "")), HasSubstr("LOCAL_WORLD_SIZE is not"));
  EXPECT_THAT(refusal_of(with(kPlain, "MASTER_ADDR", "")), HasSubstr("MASTER_ADDR is not set"));
  EXPECT_THAT(refusal_of(with(kPlain, "MASTER_PORT", "")), HasSubstr("MASTER_PORT is not"));
  EXPECT_THAT(refusal_of(with(kPlain, "MASTER_PORT", "65536")), HasSubstr("not a port"));
  EXPECT_THAT(refusal_of(with(with(kPlain, "RANK", "0"), "LOCAL_RANK", "1")), HasSubstr("rank 0 cannot be"));
}

TEST(RankPlace, ReadsASlurmStep) {
  const RankPlace place = place_from(kSlurm);
  EXPECT_EQ(place.origin, RankPlace::Origin::slurm);
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 7);
  EXPECT_EQ(place.local_rank, 1);
  EXPECT_EQ(place.local_size, 2);
  EXPECT_EQ(place.master_address, "gpu007");
  EXPECT_EQ(place.master_port, derived_port("slurm:4711.2"));
  EXPECT_NE(place.master_port, place_from(with(kSlurm, "SLURM_STEP_ID", "3")).master_port);
  EXPECT_NE(place.token, place_from(with(kSlurm, "SLURM_JOB_ID", "4712")).token);
}

TEST(RankPlace, PrefersTheMasterThatIsNamedToSlurms) {
  const RankPlace place = place_from(with(with(kSlurm, "MASTER_ADDR", "other"), "MASTER_PORT", "1234"));
  EXPECT_EQ(place.master_address, "other");
  EXPECT_EQ(place.master_port, 1234);
}

TEST(RankPlace, StaysOnLoopbackWhereSlurmUsesOneNode) {
  Variables variables = with(kSlurm, "SLURM_STEP_TASKS_PER_NODE", "7");
  variables["SLURM_NODEID"] = "0";
  EXPECT_EQ(place_from(variables).master_address, "127.0.0.1");
}

TEST(RankPlace, TakesASlurmBatchScriptForOneRank) {
  EXPECT_EQ(place_from({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "1"}}).size, 1);
  EXPECT_EQ(place_from(with(kSlurm, "SLURM_STEP_ID", "4294967290")).size, 1);  // the shell of salloc
}

TEST(RankPlace, RefusesContradictionsOfSlurm) {
  EXPECT_THAT(refusal_of(with(kSlurm, "SLURM_PROCID", "7")), HasSubstr("SLURM_STEP_NUM_TASKS is 7"));
  EXPECT_THAT(refusal_of(with(kSlurm, "SLURM_LOCALID", "2")), HasSubstr("SLURM_LOCALID is 2"));
  EXPECT_THAT(refusal_of(with(kSlurm, "SLURM_LOCALID", "")), HasSubstr("SLURM_LOCALID is not"));
  EXPECT_THAT(refusal_of(with(kSlurm, "SLURM_NODEID", "4")), HasSubstr("has no tasks"));
  EXPECT_THAT(refusal_of(with(kSlurm, "SLURM_STEP_TASKS_PER_NODE", "2(x3")), HasSubstr("has no tasks"));
  EXPECT_THAT(refusal_of(with(kSlurm, "SLURM_STEP_NODELIST", "")), HasSubstr("where rank 0 is"));
}

TEST(RankPlace, ReadsOpenMpi) {
  const RankPlace place = place_from(kOpenMpi);
  EXPECT_EQ(place.origin, RankPlace::Origin::open_mpi);
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.size, 4);
  EXPECT_EQ(place.master_address, "127.0.0.1");
  EXPECT_EQ(place.master_port, derived_port("openmpi:prterun-host-123@1"));
}

TEST(RankPlace, AsksForTheMasterOfOpenMpiOnSeveralNodes) {
  const Variables two_nodes = with(kOpenMpi, "OMPI_COMM_WORLD_LOCAL_SIZE", "2");
  EXPECT_THAT(refusal_of(two_nodes), HasSubstr("MASTER_ADDR"));
  EXPECT_EQ(place_from(with(two_nodes, "MASTER_ADDR", "gpu01")).master_address, "gpu01");
}

TEST(RankPlace, PrefersPlainThenOpenMpiThenSlurm) {
  Variables all = kSlurm;
  all.insert(kOpenMpi.begin(), kOpenMpi.end());
  EXPECT_EQ(place_from(all).origin, RankPlace::Origin::open_mpi);
  all.insert(kPlain.begin(), kPlain.end());
  EXPECT_EQ(place_from(all).origin, RankPlace::Origin::environment);
}

TEST(DerivedPort, LiesBelowThePortsThatLinuxHandsOut) {
  for (int i = 0; i < 1000; ++i) {
    EXPECT_GE(derived_port(std::to_string(i)), 20000);
    EXPECT_LT(derived_port(std::to_string(i)), 32000);
  }
}

TEST(FirstHost, ExpandsSlurmsLists) {
  EXPECT_EQ(first_host("gpu01"), "gpu01");
  EXPECT_EQ(first_host("gpu01,gpu02"), "gpu01");
  EXPECT_EQ(first_host("gpu[01-04]"), "gpu01");
  EXPECT_EQ(first_host("gpu[3,5-7]-ib,login"), "gpu3-ib");
  EXPECT_EQ(first_host("rack[1-2]node[007-009,12],login"), "rack1node007");
  EXPECT_EQ(first_host("broken[1"), "broken1");
  EXPECT_EQ(first_host(""), "");
}

}  // namespace
}  // namespace assay::engine
