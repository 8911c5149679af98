#include "launch/launcher_contract.h"
#include "slurm_fixture.h"

// What every launcher does, over a real Slurm.

namespace assay {
namespace {

class SlurmContractPlace final : public LauncherPlace {
 public:
  Launcher& launcher() override { return place_.launcher(); }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override { return {.arguments = {"sh", "-c", shell_for(script)}}; }

 private:
  SystemClock clock_;
  SlurmPlaceFixture place_;
};

/// None where there is no Slurm: the tests about it say why.
std::vector<LauncherFactory> slurm_factories() {
  if (!SlurmCluster::check_possible()) return {};
  return {{.name = "slurm", .make_place = [] { return std::make_unique<SlurmContractPlace>(); }}};
}
INSTANTIATE_TEST_SUITE_P(Slurm, LauncherContract, testing::ValuesIn(slurm_factories()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(Slurm, OutlivingLauncherContract, testing::ValuesIn(slurm_factories()), launcher_factory_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LauncherContract);

}  // namespace
}  // namespace assay
