#include "launch/slurm/slurm_place.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "launch/job.h"

namespace assay {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Result<SlurmPlace> read_place(std::string_view text) {
  ASSAY_TRY(const auto place, parse_place(fmt::format("slurm:{}", text)));
  return slurm_place_from(place);
}

std::string refusal(std::string_view text) {
  const auto place = read_place(text);
  if (place) return "it was taken";
  EXPECT_EQ(place.error().kind, ErrorKind::usage);
  return place.error().message;
}

TEST(SlurmPlace, ReadsWhatPeopleWrite) {
  const auto place = read_place(
      "partition=gpu,account=a,qos=high,constraint=h100&ib,gres=gpu:h100:2,exclusive,time=1h30min,reservation=r,"
      "nodelist=node[1,3-4],cpus=16,memory=64G,folder=/shared/jobs,assay=/opt/assay");
  ASSERT_TRUE(place.ok()) << place.error().text();
  SlurmPlace expected;
  expected.partition = "gpu";
  expected.account = "a";
  expected.qos = "high";
  expected.constraint = "h100&ib";
  expected.gres = "gpu:h100:2";
  expected.exclusive = true;
  expected.time = 90min;
  expected.reservation = "r";
  expected.nodelist = "node[1,3-4]";
  expected.cpus = "16";
  expected.memory = "64G";
  expected.folder = "/shared/jobs";
  expected.assay = "/opt/assay";
  EXPECT_EQ(*place, expected);
  EXPECT_EQ(read_place("").value(), SlurmPlace{}) << "everything is Slurm's to choose";
}

TEST(SlurmPlace, MistakesAreNamed) {
  EXPECT_THAT(refusal("partiton=gpu"), HasSubstr("no option 'partiton'. Did you mean 'partition'?"));
  EXPECT_EQ(refusal("nodelist=a,b"), "'--on slurm:b' is not an option of it");
  EXPECT_EQ(refusal("partition="), "'--on slurm:partition' has no value");
  EXPECT_EQ(refusal("partition"), "'--on slurm:partition' has no value");
  EXPECT_THAT(refusal("partition=a,partition=b"), HasSubstr("'partition' stands twice"));
  EXPECT_THAT(refusal("exclusive=yes"), HasSubstr("no option 'exclusive'"));
  EXPECT_EQ(refusal("cpus=many"), "'--on slurm:cpus=many' is not a whole number");
  EXPECT_EQ(refusal("folder=jobs"), "'--on slurm:folder=jobs' is not an absolute path");
  EXPECT_THAT(refusal("time=10"), AllOf(HasSubstr("time=10'"), HasSubstr("unit")));
  EXPECT_EQ(refusal("account=a\nb"), "'--on slurm:account' holds a control character");
}

TEST(SlurmPlace, SaysToSlurmWhatAJobNeeds) {
  Job job{.arguments = {"true"}, .name = "mnist"};
  job.ranks = {.nodes = 2, .per_node = 4};
  job.gpus_per_node = 4;
  job.time_limit = 30min;
  auto arguments = sbatch_arguments(slurm_request({}, job, "abc"));
  for (const auto* const wanted : {"--no-requeue", "--nodes=2", "--ntasks-per-node=1", "--job-name=mnist",
                                   "--comment=assay:abc", "--gpus-per-node=4", "--cpus-per-task=4", "--time=36"}) {
    EXPECT_THAT(arguments, Contains(wanted));
  }
  EXPECT_THAT(arguments, Not(Contains(HasSubstr("--partition"))));

  const auto place = read_place("partition=gpu,gres=gpu:h100:2,time=90s,cpus=9,exclusive").value();
  arguments = sbatch_arguments(slurm_request(place, job, "abc"));
  for (const auto* const wanted :
       {"--partition=gpu", "--gres=gpu:h100:2", "--time=2", "--cpus-per-task=9", "--exclusive"}) {
    EXPECT_THAT(arguments, Contains(wanted));
  }
  EXPECT_THAT(arguments, Not(Contains(HasSubstr("gpus-per-node")))) << "what the user asks for wins";
}

TEST(SlurmPlace, NodesThatARunIsPinnedToAreThoseOfTheList) {
  Job job{.arguments = {"true"}};
  job.nodes = {"gpu01", "gpu02"};
  EXPECT_THAT(sbatch_arguments(slurm_request(read_place("nodelist=other").value(), job, "k")),
              Contains("--nodelist=gpu01,gpu02"));
}

TEST(SlurmPlace, ANameOfAJobIsOneShortLine) {
  const auto arguments =
      sbatch_arguments(slurm_request({}, {.arguments = {"true"}, .name = std::string(200, 'x') + "\na"}, "k"));
  EXPECT_THAT(arguments, Contains("--job-name=" + std::string(64, 'x')));
  EXPECT_THAT(sbatch_arguments(slurm_request({}, {.arguments = {"true"}, .name = "a\nb"}, "k")),
              Contains("--job-name=a b"));
  EXPECT_THAT(sbatch_arguments(slurm_request({}, {.arguments = {"true"}}, "k")), Contains("--job-name=assay"));
}

}  // namespace
}  // namespace assay
