#include "launch/hosted/folder_job.h"

#include "launch/hosted/folder_launcher_fixture.h"
#include "launch/launcher_contract.h"

namespace assay {
namespace {

class FolderPlace final : public LauncherPlace {
 public:
  Launcher& launcher() override { return launcher_; }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override { return {.arguments = {"sh", "-c", shell_for(script)}}; }

 private:
  SystemClock clock_;
  TemporaryFolder folder_;
  FolderLauncher launcher_{folder_.path() / "jobs"};
};

LauncherFactory folder_factory() {
  return {.name = "folder", .make_place = [] { return std::make_unique<FolderPlace>(); }};
}
INSTANTIATE_TEST_SUITE_P(Folder, LauncherContract, testing::Values(folder_factory()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(Folder, OutlivingLauncherContract, testing::Values(folder_factory()), launcher_factory_name);

}  // namespace
}  // namespace assay
