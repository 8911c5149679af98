#include "launch/ssh/ssh_launcher.h"

#include <fcntl.h>

#include <csignal>
#include <future>

#include "base/files.h"
#include "base/ids.h"
#include "base/process_tree.h"
#include "launch/finished_job_fixture.h"
#include "launch/hosted/killed_host_fixture.h"
#include "launch/launcher_contract.h"
#include "launch/ssh/ssh_command.h"
#include "support/source_tree.h"
#include "support/ssh_hosts.h"

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
          .program = test::beside_program("assay_place_program"),
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
  bool vanish(const RunningJob& /*job*/) override {
    bool killed = false;
    for (const auto& entry : fs::directory_iterator(hosts().cache("alpha") / "jobs")) {
      killed = kill_host(JobFolder(entry.path())) || killed;
    }
    return killed;
  }
  std::unique_ptr<Launcher> launcher_of_child() override { return make_ssh_launcher(options_for({"alpha"})); }

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

class SshLauncherTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = SshHosts::missing(); !missing.empty()) GTEST_SKIP() << missing;
  }
  static Job shell(const std::string& script) { return {.arguments = {"sh", "-c", script}, .token = new_id()}; }
  static Error failure_on(const std::string& host, Nanos timeout = std::chrono::seconds(60)) {
    auto options = options_for({host});
    options.ssh.connect_timeout = timeout;
    auto started = make_ssh_launcher(options)->start(shell("true"));
    return started ? Error{.kind = ErrorKind::internal, .message = "it was started"} : started.error();
  }
};

TEST_F(SshLauncherTest, AnUnknownOrAChangedHostKeyIsRefusedByName) {
  hosts().add_stranger("stranger", "alpha");
  const auto unknown = failure_on("stranger");
  EXPECT_EQ(unknown.kind, ErrorKind::denied) << unknown.text();
  EXPECT_THAT(unknown.text() + unknown.hint,
              testing::AllOf(testing::HasSubstr("stranger"), testing::HasSubstr("known_hosts")));
  hosts().add_impostor("impostor", "alpha");
  const auto changed = failure_on("impostor");
  EXPECT_EQ(changed.kind, ErrorKind::denied);
  EXPECT_THAT(changed.hint, testing::HasSubstr("ssh-keygen -R impostor"));
}

TEST(SshError, IsSaidToComeFromSshOnce) {
  const auto said = [](std::string_view words) { return ssh_error("gpu01", words).message; };
  EXPECT_EQ(said("ssh: Could not resolve hostname gpu01: Name or service not known\n"),
            "gpu01: ssh: Could not resolve hostname gpu01: Name or service not known");
  EXPECT_EQ(said("Host key verification failed.\n"), "gpu01: ssh: Host key verification failed.");
  EXPECT_EQ(said(""), "gpu01: ssh: the connection was closed");
}

TEST_F(SshLauncherTest, SomebodyWithoutAnAccountIsDenied) {
  hosts().add_guest("nobody", "alpha");
  const auto denied = failure_on("alpha-nobody");
  EXPECT_EQ(denied.kind, ErrorKind::denied) << denied.text();
  EXPECT_THAT(denied.hint, testing::HasSubstr("never asks for a password"));
}

TEST_F(SshLauncherTest, UsersOfAHostDoNotComeIntoEachOthersWay) {
  if (const auto missing = SshHosts::missing_users(); !missing.empty()) GTEST_SKIP() << missing;
  const std::vector<std::string> users = {"assay-ada", "assay-bob"};
  hosts().add_shared("shared", users);
  const auto launcher_of = [](const std::string& user) {
    auto options = options_for({"shared-" + user});
    options.state = hosts().folder() / ("state-" + user);
    return make_ssh_launcher(options);
  };
  // Both have the same token, and each looks for what the other one's job has left there.
  const auto go = hosts().folder() / "go";
  std::vector<std::unique_ptr<RunningJob>> jobs;
  for (const std::size_t i : {0U, 1U}) {
    const auto others = hosts().home_of(users[1 - i]) / ".cache";
    Job job = shell(fmt::format("until [ -e '{}' ]; do sleep 0.05; done; id -un; ls -R '{}'; echo end", go.string(),
                                others.string()));
    job.token = "same";
    auto started = launcher_of(users[i])->start(job);
    ASSERT_TRUE(started.ok()) << started.error().text();
    jobs.push_back(std::move(*started));
  }
  ASSERT_TRUE(write_file_atomically(go, "").ok());
  for (const std::size_t i : {0U, 1U}) {
    const auto finished = finish_job(*jobs[i]);
    EXPECT_EQ(finished.text[JobStream::out], users[i] + "\nend\n");
    EXPECT_THAT(finished.text[JobStream::error], testing::HasSubstr("ermission denied"));
    EXPECT_TRUE(fs::exists(hosts().home_of(users[i]) / ".cache" / "assay")) << "it was done there";
  }
}

TEST_F(SshLauncherTest, AHostThatHangsOrIsNotThereIsGivenUp) {
  hosts().add_hung("hung");
  const auto hung = failure_on("hung", std::chrono::seconds(1));
  EXPECT_EQ(hung.kind, ErrorKind::unreachable) << hung.text();
  EXPECT_THAT(hung.message, testing::HasSubstr("hung"));
  EXPECT_EQ(failure_on("-oProxyCommand=x").kind, ErrorKind::usage);
}

TEST_F(SshLauncherTest, AHostThatHangsDoesNotHoldUpTheOthers) {
  hosts().add_hung("hung");
  auto options = options_for({"hung", "alpha", "beta"});
  options.ssh.connect_timeout = std::chrono::minutes(30);
  const auto launcher = make_ssh_launcher(options);
  const auto on = [](const std::string& host) {
    Job job = shell("echo done");
    job.nodes = {host};
    return job;
  };
  auto hung = std::async(std::launch::async, [&] { return launcher->start(on("hung")); });
  for (const char* host : {"alpha", "beta"}) {
    auto job = launcher->start(on(host));
    ASSERT_TRUE(job.ok()) << job.error().text();
    EXPECT_EQ(finish_job(**job).text[JobStream::out], "done\n");
  }
  EXPECT_EQ(hung.wait_for(std::chrono::seconds(0)), std::future_status::timeout) << "it was not asked yet";
  hosts().end_hung();
  EXPECT_EQ(hung.get().error().kind, ErrorKind::unreachable);
}

TEST_F(SshLauncherTest, AHostBehindAnotherIsReachedAsItsUserHasItConfigured) {
  hosts().add_behind("inner", "alpha", "beta");
  auto job = make_ssh_launcher(options_for({"inner"}))->start(shell("echo there"));
  ASSERT_TRUE(job.ok()) << job.error().text();
  EXPECT_EQ(finish_job(**job).text[JobStream::out], "there\n");
  job->reset();
  hosts().cut("beta");
  EXPECT_EQ(failure_on("inner").kind, ErrorKind::unreachable) << "it was not reached through the other";
  hosts().restore("beta");
}

TEST_F(SshLauncherTest, MoreNodesThanHostsAreRefused) {
  Job job = shell("true");
  job.ranks.nodes = 2;
  EXPECT_EQ(make_ssh_launcher(options_for({"alpha"}))->start(job).error().kind, ErrorKind::unsupported);
  job = shell("true");
  job.nodes = {"gamma"};
  EXPECT_THAT(make_ssh_launcher(options_for({"alpha"}))->start(job).error().message, testing::HasSubstr("gamma"));
}

TEST_F(SshLauncherTest, ADamagedCopyOfTheProgramIsReplaced) {
  const auto launcher = make_ssh_launcher(options_for({"beta"}));
  finish_job(*launcher->start(shell("true")).value());
  fs::path copy;
  for (const auto& entry : fs::directory_iterator(hosts().cache("beta"))) {
    if (fs::exists(entry.path() / "assay")) copy = entry.path() / "assay";
  }
  ASSERT_FALSE(copy.empty());
  const auto whole = fs::file_size(copy);
  // Another file in its place: the host of the job before may still run from the first one.
  const auto half = read_file(copy, std::size_t{1} << 30).value().substr(0, whole / 2);
  ASSERT_TRUE(write_file_atomically(copy, half).ok());
  const auto again = launcher->start(shell("exit 4"));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(finish_job(**again).ending->exit_code, 4);
  EXPECT_EQ(fs::file_size(copy), whole);
}

TEST_F(SshLauncherTest, FilesTravelThereAndBack) {
  const TemporaryFolder scratch;
  fs::create_directories(scratch.path() / "artifacts");
  ASSERT_TRUE(write_file_atomically(scratch.path() / "spec.json", std::string(20'000, 's')).ok());
  Job job = shell("wc -c <\"$SPEC\" >\"$ARTIFACTS/size\"; hostname");
  job.environment = {{"SPEC", "{scratch}/spec.json"}, {"ARTIFACTS", "{scratch}/artifacts"}};
  job.scratch = scratch.path();
  const auto launcher = make_ssh_launcher(options_for({"alpha"}));
  const auto running = launcher->start(job).value();
  EXPECT_EQ(finish_job(*running).ending->exit_code, 0);
  EXPECT_EQ(read_file(scratch.path() / "artifacts/size").value(), "20000\n");
  EXPECT_EQ(running->machine().at("hostname"), "the-place");
}

TEST_F(SshLauncherTest, AnEngineThatIsNotThereIsNamed) {
  Job job = shell("true");
  job.arguments = {std::string(kEngineOfPlace), "train"};
  const auto started = make_ssh_launcher(options_for({"alpha"}))->start(job);
  // Where the tests run with an engine on the PATH, it starts.
  if (!started) {
    EXPECT_EQ(started.error().kind, ErrorKind::no_engine) << started.error().text();
  }
}

TEST_F(SshLauncherTest, ALostConnectionIsSurvived) {
  const auto launcher = make_ssh_launcher(options_for({"alpha"}));
  const TemporaryFolder folder;
  const auto go_on = (folder.path() / "go").string();
  const auto job = launcher->start(
      shell(fmt::format("echo before; while [ ! -e '{}' ]; do sleep 0.05; done; echo after; exit 6", go_on)));
  ASSERT_TRUE(job.ok()) << job.error().text();
  await_text(**job, JobStream::out, "before\n");
  hosts().cut("alpha");
  ASSERT_TRUE(write_file_atomically(go_on, "").ok());
  std::string said;
  for (const auto limit = SystemClock().now() + std::chrono::seconds(120);
       said.empty() && SystemClock().now() < limit;) {
    testing::internal::CaptureStderr();
    (void)(*job)->wait(SystemClock().now() + std::chrono::milliseconds(100), -1);
    said = testing::internal::GetCapturedStderr();
  }
  EXPECT_THAT(said, testing::HasSubstr("the connection to a job that goes on is lost, and tried again for 5 min 00 s"));
  hosts().restore("alpha");
  testing::internal::CaptureStderr();
  const auto outcome = finish_job(**job);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("alpha: the job is followed again"));
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_EQ(outcome.ending->exit_code, 6);
  EXPECT_EQ(outcome.text[JobStream::out], "after\n");
}

TEST_F(SshLauncherTest, AHostThatStaysAwayIsLostAfterAPatience) {
  auto options = options_for({"alpha"});
  options.patience = std::chrono::seconds(1);
  const auto launcher = make_ssh_launcher(options);
  const auto job = launcher->start(shell("echo before; exec sleep 30"));
  ASSERT_TRUE(job.ok()) << job.error().text();
  await_text(**job, JobStream::out, "before\n");
  hosts().cut("alpha");
  const auto outcome = finish_job(**job);
  hosts().restore("alpha");
  ASSERT_FALSE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending.error().kind, ErrorKind::lost_peer);
  EXPECT_THAT(outcome.ending.error().message, testing::HasSubstr("alpha: the job is lost"));
}

TEST_F(SshLauncherTest, HostsMayShareTheirHomeFolders) {
  hosts().add_twin("twin", "alpha");
  Job job = shell("echo rank $RANK");
  job.ranks.nodes = 2;
  const auto launcher = make_ssh_launcher(options_for({"alpha", "twin"}));
  auto running = launcher->start(job);
  ASSERT_TRUE(running.ok()) << running.error().text();
  std::string all;
  const auto limit = SystemClock().now() + std::chrono::seconds(120);
  while (std::count(all.begin(), all.end(), '\n') < 2 && SystemClock().now() < limit) {
    std::array<char, 4096> buffer;
    if ((*running)->wait(limit, -1).streams[JobStream::out]) {
      all.append(buffer.data(), (*running)->read(JobStream::out, buffer).value_or(0));
    }
  }
  EXPECT_THAT(all, testing::AllOf(testing::HasSubstr("rank 0\n"), testing::HasSubstr("[rank 1] rank 1\n")));
}

TEST_F(SshLauncherTest, ANewOwnerTakesAJobOfTwoHostsUpByItsToken) {
  Job job = shell("echo \"$RANK/$WORLD_SIZE at $MASTER_ADDR\"; exec sleep 1000");
  job.ranks.nodes = 2;
  auto first = make_ssh_launcher(options_for({"alpha", "beta"}));
  auto running = first->start(job);
  ASSERT_TRUE(running.ok()) << running.error().text();
  EXPECT_THAT((*running)->handle(), testing::EndsWith(":alpha,beta"));
  running->reset();
  first.reset();
  const auto second = make_ssh_launcher(options_for({"beta", "alpha"}));
  auto attached = second->attach(job.token, {});
  ASSERT_TRUE(attached.ok()) << attached.error().text();
  std::string all;
  const auto limit = SystemClock().now() + std::chrono::seconds(120);
  while (std::count(all.begin(), all.end(), '\n') < 2 && SystemClock().now() < limit) {
    std::array<char, 4096> buffer;
    if ((*attached)->wait(limit, -1).streams[JobStream::out]) {
      all.append(buffer.data(), (*attached)->read(JobStream::out, buffer).value_or(0));
    }
  }
  EXPECT_THAT(
      all, testing::AllOf(testing::HasSubstr("0/2 at 127.0.0.1\n"), testing::HasSubstr("[rank 1] 1/2 at 127.0.0.1\n")));
  (*attached)->stop(std::chrono::seconds(60));
  const auto outcome = finish_job(**attached);
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_EQ(outcome.ending->signal, SIGTERM);
}

}  // namespace
}  // namespace assay
