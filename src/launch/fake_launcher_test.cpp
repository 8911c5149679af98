#include "launch/fake_launcher.h"

#include "launch/launcher_contract.h"

namespace assay {
namespace {

class FakePlace final : public LauncherPlace {
 public:
  Launcher& launcher() override { return launcher_; }
  const Clock& clock() override { return clock_; }
  Job job(const JobScript& script) override {
    launcher_.script = script;
    return {.arguments = {"script"}};
  }
  bool vanish(const RunningJob& /*job*/) override {
    launcher_.lose_all({.kind = ErrorKind::lost_peer, .message = "its node is gone"});
    return true;
  }

 private:
  ManualClock clock_;
  FakeLauncher launcher_{clock_};
};

LauncherFactory fake_factory() {
  return {.name = "fake", .make_place = [] { return std::make_unique<FakePlace>(); }, .runs_programs = false};
}
INSTANTIATE_TEST_SUITE_P(Fake, LauncherContract, testing::Values(fake_factory()), launcher_factory_name);
INSTANTIATE_TEST_SUITE_P(Fake, OutlivingLauncherContract, testing::Values(fake_factory()), launcher_factory_name);

TEST(FakeLauncher, TimePassesOnlyAsFarAsSomethingHappens) {
  ManualClock clock;
  FakeLauncher launcher(clock);
  launcher.script = {.steps = {JobScript::Wait{std::chrono::hours(3)}, JobScript::Say{"late\n"}}};
  const auto job = launcher.start({.arguments = {"script"}}).value();
  const auto begin = clock.now();
  EXPECT_FALSE(job->wait(begin + std::chrono::hours(1), -1).streams[JobStream::out]);
  EXPECT_EQ(clock.now() - begin, std::chrono::hours(1));
  EXPECT_TRUE(job->wait(begin + std::chrono::hours(10), -1).streams[JobStream::out]);
  EXPECT_EQ(clock.now() - begin, std::chrono::hours(3));
}

TEST(FakeLauncher, AJobMayBeLost) {
  ManualClock clock;
  FakeLauncher launcher(clock);
  launcher.script.lost = Error{.kind = ErrorKind::crash, .message = "nobody knows"};
  const auto job = launcher.start({.arguments = {"script"}}).value();
  EXPECT_TRUE(job->wait(clock.now(), -1).ended);
  EXPECT_EQ(job->ending().error().message, "nobody knows");
}

TEST(FakeLauncher, RemembersWhatWasAskedFor) {
  ManualClock clock;
  FakeLauncher launcher(clock);
  EXPECT_TRUE(launcher.start({.arguments = {"a", "b"}, .name = "mnist"}).ok());
  ASSERT_EQ(launcher.started.size(), 1U);
  EXPECT_EQ(launcher.started[0].name, "mnist");
}

}  // namespace
}  // namespace assay
