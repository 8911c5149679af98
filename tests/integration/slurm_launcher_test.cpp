#include "launch/hosted/killed_host_fixture.h"
#include "launch/launcher_contract.h"
#include "slurm_fixture.h"

// What every launcher does, over a real Slurm.

namespace assay {
namespace {

class SlurmContractPlace final : public LauncherPlace {
 public:
  explicit SlurmContractPlace(const std::string& settings = "") : place_(settings) {}
  Launcher& launcher() override { return place_.launcher(); }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override { return {.arguments = {"sh", "-c", shell_for(script)}}; }
  /// Its nodes are this machine.
  bool vanish(const RunningJob& job) override {
    return kill_host(JobFolder(job.handle().substr(std::string_view("slurm:").size())));
  }
  std::unique_ptr<Launcher> launcher_of_child() override { return place_.another_launcher(); }

 private:
  SystemClock clock_;
  SlurmPlaceFixture place_;
};

/// None where there is no Slurm: the tests about it say why.
std::vector<LauncherFactory> slurm_factories() {
  if (!SlurmCluster::check_possible()) return {};
  std::vector<LauncherFactory> factories = {
      {.name = "slurm", .make_place = [] { return std::make_unique<SlurmContractPlace>(); }}};
  if (SlurmCluster::has_rest()) {
    factories.push_back({.name = "slurmrestd", .make_place = [] {
                           return std::make_unique<SlurmContractPlace>("rest=" + shared_slurm().value()->rest());
                         }});
  }
  return factories;
}
INSTANTIATE_TEST_SUITE_P(Slurm, LauncherContract, testing::ValuesIn(slurm_factories()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(Slurm, OutlivingLauncherContract, testing::ValuesIn(slurm_factories()), launcher_factory_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LauncherContract);

}  // namespace
}  // namespace assay
