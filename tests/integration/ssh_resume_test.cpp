#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/text.h"
#include "support/assay_cli.h"
#include "support/ssh_hosts.h"

namespace assay {
namespace {

using testing::HasSubstr;

/// `assay run` as the owner of runs on another machine, killed as by the kernel.
class ResumeOverSsh : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = SshHosts::missing(); !why.empty()) GTEST_SKIP() << why;
    hosts_.emplace();
    hosts_->add("one");
    environment_["ASSAY_SSH_CONFIG"] = hosts_->config().string();
  }
  void TearDown() override {
    let_it_end();
    for (const pid_t owner : owners_) ::kill(owner, SIGKILL);
    for (const pid_t owner : owners_) ::waitpid(owner, nullptr, 0);
  }

  /// Prints a line, waits for the file `go`, prints another; leaves a line in the file `done` for each time.
  std::string waiting_spec(std::string_view more = "") {
    const auto folder = cli_.folder().string();
    return cli_.write("wait.yaml", fmt::format("kind: command\n"
                                               "command: |\n"
                                               "  echo loss=0.5\n"
                                               "  until [ -e '{0}/go' ]; do sleep 0.1; done\n"
                                               "  echo loss=0.25 >>'{0}/done'\n"
                                               "  echo loss=0.25\n"
                                               "{1}",
                                               folder, more));
  }
  void let_it_end() { (void)write_file_atomically(cli_.folder() / "go", "").ok(); }
  std::int64_t times_done() const {
    const auto text = read_file(cli_.folder() / "done").value_or("");
    return std::count(text.begin(), text.end(), '\n');
  }

  pid_t start_owner(const std::vector<std::string>& arguments) {
    std::vector<std::string> words = {AssayCli::program().string(), "--data", cli_.data().string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t owner = ::fork();
    if (owner == 0) {
      for (const auto& [name, value] : environment_) ::setenv(name.c_str(), value.c_str(), 1);
      const int nowhere = ::open("/dev/null", O_RDWR);
      for (const int fd : {0, 1, 2}) ::dup2(nowhere, fd);
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    owners_.push_back(owner);
    return owner;
  }
  /// Lets an owner begin and kills it while its workload waits. The id of the run.
  std::string killed_owner(const std::vector<std::string>& arguments) {
    const pid_t owner = start_owner(arguments);
    EXPECT_TRUE(eventually([&] { return run({"logs", "@last"}).out == "loss=0.5\n"; }));
    ::kill(owner, SIGKILL);
    EXPECT_TRUE(eventually([&] { return run({"runs"}).out.find("without an owner") != std::string::npos; }));
    return std::string(cli_.last_run().at("id").as_string());
  }
  AssayCli::Answer run(const std::vector<std::string>& arguments) { return cli_.run(arguments, environment_); }

  AssayCli cli_;
  std::optional<SshHosts> hosts_;
  std::map<std::string, std::string> environment_;
  std::vector<pid_t> owners_;
};

TEST_F(ResumeOverSsh, ARunWhoseOwnerWasKilledIsRecordedToItsEnd) {
  const auto id = killed_owner({"run", waiting_spec(), "--on", "ssh:one"});
  const auto shown = run({"show", id});
  EXPECT_THAT(shown.out, HasSubstr("assay run --resume " + id));
  EXPECT_TRUE(cli_.json({"show", id}).at("result").at("without_owner").as_bool());
  // Another one is killed, too, before the end.
  const pid_t second = start_owner({"run", "--resume", id});
  EXPECT_TRUE(eventually([&] { return run({"runs"}).out.find("without an owner") == std::string::npos; }));
  const auto refused = run({"run", "--resume", id});
  EXPECT_EQ(refused.exit_code, 3) << refused.error;
  EXPECT_THAT(refused.error, HasSubstr("has an owner: pid"));
  ::kill(second, SIGKILL);
  EXPECT_TRUE(eventually([&] { return run({"runs"}).out.find("without an owner") != std::string::npos; }));
  const auto elsewhere = run({"run", "--resume", id, "--on", "ssh:two"});
  EXPECT_EQ(elsewhere.exit_code, 2) << elsewhere.error;

  let_it_end();
  int code = -1;
  const auto answer = cli_.json({"run", "--resume", id}, &code, environment_);
  EXPECT_EQ(code, 0) << json::serialize(answer);
  const auto& result = answer.at("result").as_object();
  EXPECT_EQ(result.at("verdict").as_string(), "valid");
  EXPECT_EQ(result.at("metrics").at("loss").to_number<double>(), 0.25);
  ASSERT_FALSE(result.at("flags").as_array().empty());
  EXPECT_EQ(result.at("flags").at(0).at("kind").as_string(), "recording_gap");
  EXPECT_EQ(run({"logs", id}).out, "loss=0.5\nloss=0.25\n");
  EXPECT_EQ(cli_.last_series("loss"), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(times_done(), 1);

  const auto again = run({"run", "--resume", id});
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.error, HasSubstr("has ended"));
  const auto nothing = run({"run", "--resume", "nothing-like-it"});
  EXPECT_EQ(nothing.exit_code, 2);
  EXPECT_THAT(nothing.error, HasSubstr("neither a study nor a run"));
}

TEST_F(ResumeOverSsh, ReadingsOfItsMachineAreThereOnceAlsoOfTheTimeWithoutAnOwner) {
  const auto id = killed_owner({"run", waiting_spec(), "--on", "ssh:one"});
  const auto readings = [&] {
    std::int64_t count = 0;
    for (const auto& job : fs::directory_iterator(hosts_->cache("one") / "jobs")) {
      const auto text = read_file(job.path() / "part-0/readings").value_or("");
      for (const auto line : split(text, '\n')) count += line.find("\"values\"") != std::string_view::npos ? 1 : 0;
    }
    return count;
  };
  const auto before = readings();
  EXPECT_TRUE(eventually([&] { return readings() > before + 2; })) << "they go on without an owner";
  let_it_end();
  EXPECT_EQ(run({"run", "--resume", id}).exit_code, 0);
  EXPECT_EQ(static_cast<std::int64_t>(cli_.last_series("host.memory_used_bytes").size()), readings())
      << "none is lost, none is there twice";
}

TEST_F(ResumeOverSsh, AStudyGoesOnWithTheRunThatIsUnderWay) {
  const auto id = killed_owner({"run", waiting_spec("repeat: 2\n"), "--on", "ssh:one"});
  let_it_end();
  int code = -1;
  const auto answer = cli_.json({"run", "--resume", "@last"}, &code, environment_);
  EXPECT_EQ(code, 0) << json::serialize(answer);
  EXPECT_EQ(answer.at("result").at("valid").as_int64(), 2);
  EXPECT_EQ(answer.at("result").at("runs").at(0).at("id").as_string(), id);
  EXPECT_EQ(answer.at("result").at("runs").at(1).at("placement").at("place").as_string(), "ssh:one")
      << "the rest is done at the same place";
  EXPECT_EQ(times_done(), 2);
}

TEST_F(ResumeOverSsh, AJobThatIsGoneLeavesAnInterruptedRun) {
  const auto id = killed_owner({"run", waiting_spec(), "--on", "ssh:one"});
  fs::remove_all(hosts_->cache("one"));
  int code = -1;
  const auto answer = cli_.json({"run", "--resume", id}, &code, environment_);
  EXPECT_EQ(code, 1) << json::serialize(answer);
  EXPECT_EQ(answer.at("result").at("verdict").as_string(), "interrupted");
  EXPECT_EQ(run({"logs", id}).out, "loss=0.5\n");
}

TEST_F(ResumeOverSsh, AHostThatIsAwayLeavesTheRunAsItIs) {
  const auto id = killed_owner({"run", waiting_spec(), "--on", "ssh:one"});
  hosts_->cut("one");
  const auto refused = run({"run", "--resume", id});
  EXPECT_EQ(refused.exit_code, 3) << refused.error;
  EXPECT_THAT(run({"runs"}).out, HasSubstr("without an owner"));
  hosts_->restore("one");
  let_it_end();
  EXPECT_EQ(run({"run", "--resume", id}).exit_code, 0);
  EXPECT_EQ(run({"logs", id}).out, "loss=0.5\nloss=0.25\n");
}

}  // namespace
}  // namespace assay
