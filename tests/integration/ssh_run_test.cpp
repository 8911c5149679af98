#include <gmock/gmock.h>

#include <csignal>

#include "support/assay_cli.h"
#include "support/ssh_hosts.h"

// `assay run --on ssh:…` with the built program and real sshd processes on loopback.

namespace assay {
namespace {

using testing::HasSubstr;

class RunsOverSsh : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = SshHosts::missing(); !missing.empty()) GTEST_SKIP() << missing;
    hosts_.emplace();
    hosts_->add("alpha");
  }
  std::map<std::string, std::string> environment() const { return {{"ASSAY_SSH_CONFIG", hosts_->config().string()}}; }
  json::object run(const std::string& spec, const std::string& place, int* code) {
    return cli_.json({"run", spec, "--on", place}, code, environment());
  }

  AssayCli cli_;
  std::optional<SshHosts> hosts_;
};

TEST_F(RunsOverSsh, AStudyIsDoneThereAndRecordedHere) {
  const auto spec = cli_.write("sweep.yaml",
                               "kind: command\n"
                               "command: echo loss={lr}; echo $XDG_CACHE_HOME >$ASSAY_ARTIFACTS/where\n"
                               "params: {lr: 1}\n"
                               "sweep: {params.lr: [0.1, 0.2]}\n");
  int code = -1;
  const auto result = run(spec, "ssh:alpha", &code).at("result").as_object();
  EXPECT_EQ(code, 0) << json::serialize(result);
  EXPECT_EQ(result.at("valid").as_int64(), 2);
  const auto last = cli_.last_run();
  EXPECT_EQ(last.at("placement").at("place"), "ssh:alpha");
  EXPECT_FALSE(last.at("provenance").at("hostname").as_string().empty());
  EXPECT_FALSE(last.at("provenance").at("cpu_model").as_string().empty()) << "as the host describes itself";
  const auto kept = read_file(cli_.data() / "runs" / std::string(last.at("id").as_string()) / "artifacts" / "where");
  ASSERT_TRUE(kept.ok()) << kept.error().text();
  EXPECT_THAT(*kept, HasSubstr("cache alpha"));
}

TEST_F(RunsOverSsh, SaysWhatIsWrongWithAPlace) {
  const auto spec = cli_.write("true.yaml", "kind: command\ncommand: 'true'\n");
  const auto refused = [&](const std::string& place, int code) {
    const auto answer = cli_.run({"run", spec, "--on", place}, environment());
    EXPECT_EQ(answer.exit_code, code) << place << ": " << answer.error;
    return answer.error;
  };
  EXPECT_THAT(refused("shs:alpha", 2), testing::AllOf(HasSubstr("Did you mean 'ssh'?"), HasSubstr("node:NODE")));
  EXPECT_THAT(refused("ssh", 2), HasSubstr("needs a host"));
  EXPECT_THAT(refused("ssh:alpha,patience=3", 2), HasSubstr("patience"));
  hosts_->add_stranger("stranger", "alpha");
  EXPECT_THAT(refused("ssh:stranger", 3), HasSubstr("known_hosts"));
  const auto two = cli_.write("two.yaml", "kind: command\ncommand: 'true'\nnodes: [alpha, beta]\n");
  EXPECT_THAT(cli_.run({"run", two, "--on", "ssh:alpha"}, environment()).error, HasSubstr("beta"));
  EXPECT_THAT(cli_.run({"run", spec, "--on", "ssh:alpha", "--node", "gpu03"}, environment()).error,
              HasSubstr("not both"));
}

TEST_F(RunsOverSsh, ItsJobGoesOnWhenTheOwnerIsKilled) {
  const auto spec =
      cli_.write("long.yaml", fmt::format("kind: command\ncommand: 'echo there >\"{}\"; exec sleep 1000'\n",
                                          (cli_.folder() / "there").string()));
  auto environment = merged_environment({{"ASSAY_SSH_CONFIG", hosts_->config().string()}}).value();
  const auto nothing = open_file("/dev/null", O_RDWR).value();
  const pid_t owner = spawn({.arguments = {AssayCli::program().string(), "run", spec, "--on", "ssh:alpha", "--data",
                                           cli_.data().string()},
                             .environment = environment,
                             .descriptors = {{nothing.get(), 0}, {nothing.get(), 1}, {nothing.get(), 2}}})
                          .value();
  const auto jobs = hosts_->cache("alpha") / "jobs";
  EXPECT_TRUE(eventually([&] { return fs::exists(cli_.folder() / "there"); }));
  ::kill(owner, SIGKILL);
  ::waitpid(owner, nullptr, 0);
  EXPECT_FALSE(processes_with(jobs.string()).empty()) << "its host is there";
  fs::remove_all(jobs);
  EXPECT_TRUE(eventually([&] { return processes_with(jobs.string()).empty(); })) << "and goes with its folder";
}

TEST_F(RunsOverSsh, ItsMachineIsMeasuredThere) {
  const auto spec = cli_.write("sleep.yaml", "kind: command\ncommand: sleep 0.5\n");
  int code = -1;
  const auto result = run(spec, "ssh:alpha", &code).at("result").as_object();
  EXPECT_EQ(code, 0) << json::serialize(result);
  EXPECT_THAT(result.at("flags").as_array(), testing::IsEmpty());
  EXPECT_THAT(cli_.last_series("host.cpu_util"), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(cli_.last_series("host.memory_used_bytes"), testing::Each(testing::Gt(1e6)));
  EXPECT_THAT(cli_.last_series("workload.rss_bytes"), testing::Not(testing::IsEmpty()));
  EXPECT_THAT(json::serialize(result.at("series")), testing::Not(HasSubstr("\"node\"")))
      << "of one node they are called as those of a run here";
}

TEST_F(RunsOverSsh, OfSeveralMachinesEachIsMeasured) {
  hosts_->add("beta");
  const auto spec = cli_.write("two.yaml", "kind: command\ncommand: sleep 0.5\nscale: [{ranks: 2, nodes: 2}]\n");
  int code = -1;
  const auto result = run(spec, "ssh:alpha,beta", &code).at("result").as_object();
  EXPECT_EQ(code, 0) << json::serialize(result);
  const auto shown = cli_.run({"show", "@last"}, environment()).out;
  for (const auto* host : {"alpha", "beta"}) {
    EXPECT_THAT(shown, HasSubstr(fmt::format("host.cpu_util node={}", host)));
    EXPECT_THAT(shown, HasSubstr(fmt::format("host.memory_used_bytes node={}", host)));
  }
  EXPECT_THAT(shown, HasSubstr("workload.rss_bytes node=beta rank=1"));
  EXPECT_THAT(cli_.run({"report", "@last", "--format", "md"}, environment()).out, HasSubstr(", beta |"));
}

TEST_F(RunsOverSsh, TrainingOverTwoHostsIsOneRun) {
  const auto engine = AssayCli::program().parent_path() / "assay-engine";
  if (!fs::exists(engine)) GTEST_SKIP() << "there is no engine beside this assay";
  hosts_->add("beta");
  const auto spec =
      cli_.write("two.yaml",
                 "kind: train\nmodel: mlp\ndataset: {name: spiral, samples: 500}\nepochs: 2\ndevice: cpu\n"
                 "scale: [{ranks: 2, nodes: 2}]\n");
  int code = -1;
  const auto result =
      run(spec, fmt::format("ssh:alpha,beta,engine={}", engine.string()), &code).at("result").as_object();
  EXPECT_TRUE(code == 0 || code == 4) << json::serialize(result);
  EXPECT_EQ(result.at("nodes").as_int64(), 2);
  EXPECT_EQ(result.at("ranks").as_int64(), 2);
  EXPECT_TRUE(result.at("metrics").as_object().contains("val_loss"));
}

}  // namespace
}  // namespace assay
