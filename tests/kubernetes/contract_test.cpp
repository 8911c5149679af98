// What every launcher must do, in a real cluster, with no more rights than packaging/kubernetes gives.
#include "launch/kubernetes/kubernetes_launcher.h"
#include "launch/launcher_contract.h"
#include "real_cluster.h"

namespace assay {
namespace {

class RealKubernetesPlace final : public LauncherPlace {
 public:
  ~RealKubernetesPlace() override { cluster_.clear(name_space_); }
  Launcher& launcher() override { return *launcher_; }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override { return {.arguments = {"sh", "-c", shell_for(script)}}; }

 private:
  RealCluster& cluster_ = *shared_cluster().value();
  const std::string name_space_ = cluster_.make_namespace();
  SystemClock clock_;
  TemporaryFolder notes_;
  std::unique_ptr<Launcher> launcher_ =
      make_kubernetes_launcher({.image = "assay:test"}, cluster_.access("ada", name_space_), notes_.path());
};

LauncherFactory real_kubernetes() {
  return {.name = "kubernetes",
          .make_place = [] { return std::make_unique<RealKubernetesPlace>(); },
          .runs_programs = false,
          .interrupts = false,
          .picks_devices = false};
}
INSTANTIATE_TEST_SUITE_P(RealKubernetes, LauncherContract, testing::Values(real_kubernetes()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(RealKubernetes, OutlivingLauncherContract, testing::Values(real_kubernetes()),
                         launcher_factory_name);

}  // namespace
}  // namespace assay
