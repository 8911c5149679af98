#include "launch/kubernetes/kubernetes_launcher.h"

#include "launch/hosted/job_host.h"
#include "launch/kubernetes/kube_cluster_fixture.h"
#include "launch/kubernetes/pod_host.h"
#include "launch/launcher_contract.h"
#include "launch/local/local_launcher.h"

namespace assay {
namespace {

int pod_stop_pipe = -1;
void stop_pod(int) { (void)!::write(pod_stop_pipe, "t", 1); }

/// What runs in a pod of KubeCluster: this very program, in the place of `assay host-pod`.
TEST(PodOfTheTests, DISABLED_Runs) {
  const char* const folder = std::getenv("ASSAY_TEST_POD");
  if (!folder) GTEST_SKIP() << "only as a pod";
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  pod_stop_pipe = pipe->write_end.get();
  struct sigaction action {};
  action.sa_handler = stop_pod;
  ::sigaction(SIGTERM, &action, nullptr);
  const auto part = parse_part(std::getenv("ASSAY_TEST_POD_PART")).value();
  std::optional<Rendezvous> rendezvous;
  if (part.of > 1) rendezvous = Rendezvous{.address = "127.0.0.1", .port = 29500};
  const auto local = make_local_launcher(Programs{.self = "/proc/self/exe", .engine = {}});
  const auto ending = host_pod({.order = fs::path(folder) / "order",
                                .folder = folder,
                                .part = part,
                                .rendezvous = rendezvous,
                                .stop_fd = pipe->read_end.get()},
                               *local, SystemClock());
  ::_exit(exit_code_for(ending));
}

class KubernetesPlaceOfTest final : public LauncherPlace {
 public:
  Launcher& launcher() override { return *launcher_; }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override { return {.arguments = {"sh", "-c", shell_for(script)}}; }

 private:
  SystemClock clock_;
  TemporaryFolder notes_;
  KubeCluster cluster_;
  std::unique_ptr<Launcher> launcher_ =
      make_kubernetes_launcher({.image = "assay:test"}, cluster_.access(), notes_.path());
};

LauncherFactory kubernetes_factory() {
  return {.name = "kubernetes",
          .make_place = [] { return std::make_unique<KubernetesPlaceOfTest>(); },
          .runs_programs = false,
          .interrupts = false,
          .picks_devices = false};
}
INSTANTIATE_TEST_SUITE_P(Kubernetes, LauncherContract, testing::Values(kubernetes_factory()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(Kubernetes, OutlivingLauncherContract, testing::Values(kubernetes_factory()),
                         launcher_factory_name);

}  // namespace
}  // namespace assay
