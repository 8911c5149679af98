#include "launch/ssh/ssh_launcher.h"

#include <fcntl.h>

#include <csignal>

#include "base/process_tree.h"
#include "launch/launcher_contract.h"
#include "launch/ssh/sshd_fixture.h"

namespace assay {
namespace {

/// Started once for all tests of this program.
SshHosts& hosts() {
  static auto* const made = [] {
    std::signal(SIGPIPE, SIG_IGN);
    auto* both = new SshHosts;  // NOLINT: ended by TearDown of the environment
    both->add("alpha");
    both->add("beta");
    return both;
  }();
  return *made;
}

/// sshd must not outlive the tests.
class SshHostsEnvironment final : public testing::Environment {
 public:
  void TearDown() override {
    if (SshHosts::missing().empty()) delete &hosts();  // NOLINT
  }
};
[[maybe_unused]] const auto* const kEnvironment = testing::AddGlobalTestEnvironment(new SshHostsEnvironment);

SshLauncherOptions options_for(std::vector<std::string> names) {
  return {.hosts = std::move(names),
          .program = ASSAY_PLACE_PROGRAM,
          .engine = {},
          .address = {},
          .state = hosts().folder() / "state",
          .ssh = {.config = hosts().config()}};
}

class SshPlace final : public LauncherPlace {
 public:
  SshPlace() {
    // A place of its own for each test: tokens are used again.
    std::error_code code;
    fs::remove_all(hosts().cache("alpha") / "jobs", code);
  }
  Launcher& launcher() override { return *launcher_; }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override { return {.arguments = {"sh", "-c", shell_for(script)}}; }

 private:
  SystemClock clock_;
  std::unique_ptr<Launcher> launcher_ = make_ssh_launcher(options_for({"alpha"}));
};

std::vector<LauncherFactory> ssh_factories() {
  if (!SshHosts::missing().empty()) return {};
  return {{.name = "ssh", .make_place = [] { return std::make_unique<SshPlace>(); }}};
}
INSTANTIATE_TEST_SUITE_P(Ssh, LauncherContract, testing::ValuesIn(ssh_factories()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(Ssh, OutlivingLauncherContract, testing::ValuesIn(ssh_factories()), launcher_factory_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LauncherContract);

}  // namespace
}  // namespace assay
