#include <gmock/gmock.h>
#include <pty.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>

#include "support/assay_cli.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class CommandLine : public testing::Test {
 protected:
  AssayCli cli_;
};

TEST_F(CommandLine, HelpIsGroupedAndHasExamples) {
  const auto help = cli_.run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const auto* text :
       {"Run:", "Look:", "Manage:", "Machine:", "Examples:", "assay exec python3 train.py", "Exit codes:"}) {
    EXPECT_THAT(help.out, HasSubstr(text));
  }
  for (const auto* command : {"run", "exec", "validate", "schema", "runs", "show", "logs", "tag", "rm", "prune",
                              "reindex", "doctor", "version", "completion"}) {
    const auto one = cli_.run({command, "--help"});
    EXPECT_EQ(one.exit_code, 0) << command;
    EXPECT_THAT(one.out, HasSubstr(command));
  }
}

TEST_F(CommandLine, WhatStandardOutputDoesNotTakeIsAnError) {
  const auto program = AssayCli::program().string();
  const auto full = run_command({"sh", "-c", "exec \"$0\" version >/dev/full", program}).value();
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_THAT(full.error, HasSubstr("assay: cannot write to standard output: No space left on device"));
  const auto gone = run_command({"bash", "-c", "set -o pipefail; \"$0\" schema | true", program}).value();
  EXPECT_EQ(gone.exit_code, 0) << gone.error;
}

TEST_F(CommandLine, WrongUseIsExitCode2WithAHint) {
  EXPECT_THAT(cli_.run({"shwo"}).error, HasSubstr("unknown command 'shwo'. Did you mean 'show'?"));
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"shwo"},
                                             {"show"},
                                             {"show", "@last", "--nonsense"},
                                             {"runs", "--limit", "many"},
                                             {"exec"},
                                             {"exec", "--"},
                                             {"run"},
                                             {"run", "no-such-file.yaml"},
                                             {"validate"},
                                             {"show", "nosuchrun"},
                                             {"tag", "@last"},
                                             {"prune"},
                                             {"completion", "fish"},
                                             {"runs", "colour=red"},
                                             {"runs", "--sort", "colour"},
                                             {"exec", "--time-limit", "10", "--", "true"},
                                             {"exec", "--metric", "x=([", "--", "true"},
                                             {"exec", "--", "no-such-program-anywhere"}}) {
    const auto answer = cli_.run(arguments);
    EXPECT_EQ(answer.exit_code, 2) << testing::PrintToString(arguments) << answer.out << answer.error;
    EXPECT_THAT(answer.out, IsEmpty()) << testing::PrintToString(arguments);
    EXPECT_THAT(answer.error, Not(IsEmpty())) << testing::PrintToString(arguments);
  }
}

TEST_F(CommandLine, CommandsOfCommandsHaveTheirOwnHelp) {
  const auto help = cli_.run({"nodes", "drain", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--reason"), Not(HasSubstr("assay exec"))));
  const auto mistyped = cli_.run({"nodes", "sho", "gpu01"});
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_THAT(mistyped.error, HasSubstr("`assay nodes` has no command 'sho'. Did you mean 'show'?"));
  EXPECT_THAT(cli_.run({"nodes", "show"}).error, HasSubstr("assay nodes show --help"));
  EXPECT_THAT(cli_.run({"--version"}).out, testing::StartsWith("assay "));
}

TEST_F(CommandLine, AMistakeIsAnsweredWithWhatIsMeant) {
  EXPECT_THAT(cli_.run({"runs", "--sotr", "name"}).error,
              HasSubstr("`assay runs` has no option '--sotr'. Did you mean '--sort'?"));
  EXPECT_THAT(cli_.run({"runs", "--jsno"}).error, HasSubstr("Did you mean '--json'?"));
  EXPECT_THAT(cli_.run({"nodes", "drain", "--help"}).out, HasSubstr("--leader and more: `assay --help`"));
  EXPECT_THAT(cli_.run({"prune", "--older-than", "90"}).error, HasSubstr("like '90d'"));
}

TEST_F(CommandLine, ALoginIsForOneLeaderAlone) {
  const fs::path logins = cli_.folder() / "assay" / "logins";
  fs::create_directories(logins);
  const fs::path file = cli_.write("assay/logins/https___127.0.0.1_1.json",
                                   R"({"schema":1,"url":"https://127.0.0.1:1/","user":"ada","token":"t","id":"i"})");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  const std::map<std::string, std::string> home = {{"XDG_CONFIG_HOME", cli_.folder().string()}};
  EXPECT_EQ(cli_.run({"logout", "https://127.0.0.1:1"}, home).exit_code, 3) << "it is asked, and does not answer";
  const auto other = cli_.run({"logout", "https://127.0.0.1_1"}, home);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.error, HasSubstr("you are not signed in at https://127.0.0.1_1"));
}

TEST_F(CommandLine, APasswordThatIsNotTypedAfterAllLeavesTheTerminalAsItWas) {
  int terminal = -1;
  const std::string program = AssayCli::program().string();
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::execl(program.c_str(), "assay", "login", "http://127.0.0.1:1", "--user", "ada", nullptr);
    ::_exit(127);
  }
  const auto shows = [&] {
    termios now{};
    return ::tcgetattr(terminal, &now) == 0 && (now.c_lflag & ECHO) != 0;
  };
  EXPECT_TRUE(eventually([&] { return !shows(); }));
  ::kill(child, SIGINT);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
  EXPECT_TRUE(shows());
  ::close(terminal);
}

TEST_F(CommandLine, WhatAFailedRunPrintedIsShownByTheCommandThatItNames) {
  ASSERT_EQ(cli_.run({"exec", "--", "sh", "-c", "echo alas; exit 3"}).exit_code, 1);
  const std::string id(cli_.last_run().at("id").as_string());
  EXPECT_THAT(cli_.run({"show", id}).out, HasSubstr("`assay logs " + id + "` shows what it printed."));
  EXPECT_EQ(cli_.run({"logs", id}).out, "alas\n");
}

TEST_F(CommandLine, WhatIsNotThereYetIsExitCode3) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"migrate"}, {"probe", "x.yaml"}}) {
    const auto answer = cli_.run(arguments);
    EXPECT_EQ(answer.exit_code, 3) << answer.error;
    EXPECT_THAT(answer.error, HasSubstr("yet"));
  }
  const auto spec = cli_.write("serve.yaml", "kind: serve\nmodel: llama-3.1-8b\n");
  EXPECT_EQ(cli_.run({"run", spec}).exit_code, 3);
}

TEST_F(CommandLine, EveryErrorIsJsonWhenAskedFor) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"shwo"},
                                                                                         {"show"},
                                                                                         {"show", "nosuchrun"},
                                                                                         {"run", "no-such-file.yaml"},
                                                                                         {"exec"},
                                                                                         {"queue"},
                                                                                         {"runs", "colour=red"}}) {
    int code = 0;
    const auto envelope = cli_.json(arguments, &code);
    ASSERT_TRUE(envelope.contains("error")) << testing::PrintToString(arguments);
    EXPECT_EQ(envelope.at("schema").as_int64(), 1);
    EXPECT_FALSE(envelope.at("ok").as_bool());
    for (const auto* key : {"kind", "message", "hint", "at"})
      EXPECT_TRUE(envelope.at("error").as_object().contains(key));
    EXPECT_NE(code, 0);
  }
}

TEST_F(CommandLine, ExecRecordsEverything) {
  const auto script = cli_.write("train.py",
                                 "import sys\n"
                                 "print('arguments', sys.argv[1:])\n"
                                 "for step in range(3): print(f'step {step} loss={1 / (step + 1):.4f}')\n"
                                 "print('a warning', file=sys.stderr)\n");
  const auto answer =
      cli_.run({"exec", "--name", "my run", "--tag", "gpu=none", "--", "python3", script, "[a,b]", "", "--json"});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("arguments ['[a,b]', '', '--json']")) << "arguments pass untouched";
  EXPECT_THAT(answer.error, AllOf(HasSubstr("a warning"), HasSubstr("✔ valid"), HasSubstr("loss")));

  const auto run = cli_.last_run();
  EXPECT_EQ(run.at("name").as_string(), "my run");
  EXPECT_EQ(run.at("verdict").as_string(), "valid");
  EXPECT_EQ(run.at("tags").as_array().at(0).as_string(), "gpu=none");
  EXPECT_NEAR(run.at("metrics").at("loss").to_number<double>(), 0.3333, 1e-9);
  EXPECT_THAT(cli_.last_series("loss"), testing::ElementsAre(1.0, 0.5, 0.3333));
  const auto& provenance = run.at("provenance").as_object();
  for (const auto* key : {"assay_version", "hostname", "os", "kernel", "cpu_model", "cpu_cores", "memory_bytes",
                          "python_version", "command", "working_directory"}) {
    EXPECT_TRUE(provenance.contains(key)) << key;
  }
  bool cpu = false;
  for (const auto& series : run.at("series").as_array())
    cpu |= series.at("name").as_string() == "host.memory_used_bytes";
  EXPECT_TRUE(cpu) << "host metrics are sampled";
  EXPECT_THAT(cli_.run({"logs", "@last"}).out, AllOf(HasSubstr("arguments"), HasSubstr("a warning")));
  EXPECT_EQ(cli_.run({"logs", "@last", "--errors"}).out, "a warning\n");
}

TEST_F(CommandLine, ExecNeedsNoDashes) {
  EXPECT_EQ(cli_.run({"exec", "sh", "-c", "echo $0 $1", "--name", "--"}).out, "--name --\n");
  EXPECT_EQ(cli_.last_run().at("name").as_string(), "sh") << "options behind the command are the command's";
  EXPECT_EQ(cli_.run({"exec", "--name", "x", "-q", "--tag=a", "echo", "-q"}).out, "-q\n");
  EXPECT_EQ(cli_.last_run().at("name").as_string(), "x");
  EXPECT_EQ(cli_.run({"exec", "--data", cli_.data().string(), "--", "echo", "--data"}).out, "--data\n");
  EXPECT_EQ(cli_.run({"exec", "--nam", "x", "echo"}).exit_code, 2) << "a mistyped option is no command";
}

TEST_F(CommandLine, ExecListsWhatItRead) {
  const auto answer =
      cli_.run({"exec", "sh", "-c", "echo 'Epoch 1 | Train Loss: 0.5 | Val Loss: 0.4 | Val Acc: 95.5%'"});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.error, HasSubstr("read loss, val_accuracy (percent → share), val_loss from its output"));
  EXPECT_DOUBLE_EQ(cli_.last_run().at("metrics").at("val_accuracy").to_number<double>(), 0.955);
  const auto doubtful = cli_.run({"exec", "sh", "-c", "echo val_acc=0.9; echo val_acc=12"});
  EXPECT_EQ(doubtful.exit_code, 4);
  EXPECT_THAT(doubtful.error, HasSubstr("doubtful_reading"));
}

TEST_F(CommandLine, EveryRankIsItsOwnSeries) {
  EXPECT_EQ(
      cli_.run({"exec", "sh", "-c", "echo '[rank1] loss=2'; echo '[rank0] loss=1'; echo '[rank1] loss=4'"}).exit_code,
      0);
  const auto run = cli_.last_run();
  EXPECT_EQ(run.at("metrics").at("loss").to_number<double>(), 1) << "of the lowest rank";
  int series = 0;
  for (const auto& one : run.at("series").as_array()) series += one.at("name") == "loss" ? 1 : 0;
  EXPECT_EQ(series, 2);
}

TEST_F(CommandLine, ExecPassesInputOn) {
  const auto answer = cli_.run({"exec", "-q", "--", "cat"}, {}, "from the user\n");
  EXPECT_EQ(answer.out, "from the user\n");
}

TEST_F(CommandLine, FailuresHaveTheirExitCodes) {
  EXPECT_EQ(cli_.run({"exec", "--", "false"}).exit_code, 1);
  EXPECT_EQ(cli_.run({"exec", "--", "sh", "-c", "echo loss=nan"}).exit_code, 4);
  EXPECT_EQ(cli_.run({"exec", "--time-limit", "300ms", "--", "sleep", "1000"}).exit_code, 1);
  int code = 0;
  const auto envelope = cli_.json({"exec", "--", "sh", "-c", "echo out of memory >&2; exit 9"}, &code);
  EXPECT_EQ(code, 1);
  EXPECT_EQ(envelope.at("error").at("kind").as_string(), "oom");
  EXPECT_EQ(envelope.at("result").at("verdict").as_string(), "failed");
}

TEST_F(CommandLine, AMistypedProgramLeavesNoRun) {
  EXPECT_EQ(cli_.run({"exec", "--", "no-such-program-anywhere"}).exit_code, 2);
  EXPECT_THAT(cli_.json({"runs"}).at("result").at("runs").as_array(), IsEmpty());
}

TEST_F(CommandLine, SecretsStayOut) {
  const auto answer = cli_.run(
      {"exec", "--", "sh", "-c", "echo api_key=sk-abcdefghijklmnopqrstuvwx1234567890", "--token", "supersecretvalue1"},
      {{"HF_TOKEN", "hf_abcdefghijklmnopqrstuvwxyz012345"}, {"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  const auto grep =
      run_command({"grep", "-raE", "supersecretvalue1|hf_abcdefghij|sk-abcdefghij", cli_.data().string()});
  ASSERT_TRUE(grep.ok());
  EXPECT_EQ(grep->exit_code, 1) << grep->out;
}

TEST_F(CommandLine, RunsAreListedFilteredAndSorted) {
  for (const auto* name : {"alpha", "beta", "gamma"}) {
    ASSERT_EQ(cli_.run({"exec", "--name", name, "--tag", std::string("n=") + name, "--", "sh", "-c",
                        "echo loss=0.$#; exit 0", "x"})
                  .exit_code,
              0);
  }
  ASSERT_EQ(cli_.run({"exec", "--name", "broken", "--", "false"}).exit_code, 1);
  const auto names = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> list;
    std::vector<std::string> all = {"runs"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto answer = cli_.json(all);
    for (const auto& run : answer.at("result").at("runs").as_array()) list.emplace_back(run.at("name").as_string());
    return list;
  };
  EXPECT_THAT(names({}), testing::ElementsAre("broken", "gamma", "beta", "alpha"));
  EXPECT_THAT(names({"verdict=valid", "--sort", "name"}), testing::ElementsAre("alpha", "beta", "gamma"));
  EXPECT_THAT(names({"tag=n=beta"}), testing::ElementsAre("beta"));
  EXPECT_THAT(names({"name~amm"}), testing::ElementsAre("gamma"));
  EXPECT_THAT(names({"--limit", "2"}), SizeIs(2));
  EXPECT_THAT(names({"metrics.loss<0.5", "--sort", "name"}), SizeIs(3));
  EXPECT_THAT(cli_.run({"runs"}).out, AllOf(HasSubstr("✔ valid"), HasSubstr("✘ failed"), HasSubstr("n=beta")));
}

TEST_F(CommandLine, FiltersTakeNamesAsPeopleWriteThem) {
  cli_.run({"exec", "-q", "--name", "my first run", "true"});
  cli_.run({"exec", "-q", "--name", "other", "echo", "learning_rate=0.1"});
  const auto sweep =
      cli_.write("lr-sweep.yaml", "kind: command\ncommand: echo loss={n}\nparams: {n: 0}\nsweep: {params.n: [1, 2]}\n");
  EXPECT_EQ(cli_.run({"run", "-q", sweep}).exit_code, 0);
  const auto count = [&](const std::vector<std::string>& filter) {
    std::vector<std::string> arguments = {"runs"};
    arguments.insert(arguments.end(), filter.begin(), filter.end());
    return cli_.json(arguments).at("result").at("total").as_int64();
  };
  EXPECT_EQ(count({"name=my first run", "verdict=valid"}), 1);
  EXPECT_EQ(count({"study=lr-sweep"}), 2);
  EXPECT_EQ(count({"study~sweep"}), 2);
  EXPECT_EQ(count({"last=5m"}), 4);
  const auto mistyped = cli_.run({"runs", "study=lr-swep"});
  EXPECT_EQ(mistyped.exit_code, 2);
  EXPECT_THAT(mistyped.error, HasSubstr("Did you mean 'lr-sweep'?"));
  EXPECT_THAT(cli_.run({"runs", "-m", "lr"}).error, HasSubstr("Did you mean 'learning_rate'?"));
  EXPECT_THAT(cli_.run({"run", sweep, "--set", "lr=1"}).error, Not(IsEmpty()));
}

TEST_F(CommandLine, SeveralRunsAreTaggedAndExportedAtOnce) {
  cli_.run({"exec", "-q", "--name", "a", "echo", "loss=1"});
  cli_.run({"exec", "-q", "--name", "b", "echo", "loss=2"});
  EXPECT_EQ(cli_.run({"tag", "@last", "@last-1", "gpu=a100", "a"}).exit_code, 0);
  EXPECT_EQ(cli_.json({"runs", "tag=gpu=a100", "tag=a"}).at("result").at("total").as_int64(), 2)
      << "a word that is also the name of a run is a tag";
  const auto table = cli_.run({"export", "tag:a", "--format", "csv"});
  EXPECT_EQ(table.exit_code, 0) << table.error;
  EXPECT_THAT(table.out, StartsWith("run,step,time_ns"));
  const auto file = cli_.write("both.csv", table.out);
  EXPECT_EQ(cli_.json({"import", "csv", file}).at("result").at("runs").as_array().size(), 2U);
}

TEST_F(CommandLine, TagRmPruneReindex) {
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(cli_.run({"exec", "-q", "--name", "r" + std::to_string(i), "--", "true"}).exit_code, 0);
  EXPECT_EQ(cli_.run({"tag", "r0", "keep", "owner=me"}).exit_code, 0);
  EXPECT_EQ(cli_.run({"tag", "r1", "keep"}).exit_code, 0);
  EXPECT_EQ(cli_.run({"tag", "r1", "--remove", "keep"}).exit_code, 0);
  EXPECT_THAT(cli_.json({"runs", "tag=keep"}).at("result").at("runs").as_array(), SizeIs(1));
  EXPECT_EQ(cli_.run({"tag", "r0", "two words"}).exit_code, 2);
  EXPECT_EQ(cli_.run({"prune", "--keep", "2"}).exit_code, 2) << "nobody is there to answer";
  EXPECT_EQ(cli_.run({"prune", "--keep", "2", "--dry-run"}).exit_code, 0);
  EXPECT_THAT(cli_.json({"runs"}).at("result").at("runs").as_array(), SizeIs(4));
  EXPECT_EQ(cli_.run({"prune", "--keep", "2", "--yes"}).exit_code, 0);
  EXPECT_THAT(cli_.json({"runs"}).at("result").at("runs").as_array(), SizeIs(2));
  EXPECT_EQ(cli_.run({"rm", "@last"}).exit_code, 0);
  fs::remove(cli_.data() / "index.db");
  EXPECT_EQ(cli_.run({"reindex"}).exit_code, 0);
  EXPECT_THAT(cli_.json({"runs"}).at("result").at("runs").as_array(), SizeIs(1));
}

TEST_F(CommandLine, ADamagedRunIsReportedAndTheOthersStay) {
  ASSERT_EQ(cli_.run({"exec", "-q", "--name", "good", "--", "true"}).exit_code, 0);
  ASSERT_EQ(cli_.run({"exec", "-q", "--name", "bad", "--", "true"}).exit_code, 0);
  const std::string bad(cli_.last_run().at("id").as_string());
  ASSERT_TRUE(write_file_atomically(cli_.data() / "runs" / bad / "run.json", "{\"schema\": 1, \"id\":").ok());
  const auto report = cli_.run({"reindex"});
  EXPECT_EQ(report.exit_code, 4);
  EXPECT_THAT(report.error, HasSubstr(bad));
  EXPECT_EQ(cli_.run({"show", "good"}).exit_code, 0);
}

TEST_F(CommandLine, VersionDoctorCompletionSchema) {
  EXPECT_THAT(cli_.run({"version"}).out, StartsWith("assay "));
  const auto doctor = cli_.json({"doctor"});
  EXPECT_GE(doctor.at("result").at("findings").as_array().size(), 8U);
  const auto script = cli_.run({"completion", "bash"});
  EXPECT_EQ(script.exit_code, 0);
  const auto completed = run_command(
      {"bash", "-c", script.out + "COMP_WORDS=(assay sho); COMP_CWORD=1; _assay; echo \"${COMPREPLY[@]}\""});
  ASSERT_TRUE(completed.ok());
  EXPECT_EQ(completed->out, "show\n");
  const auto options = run_command(
      {"bash", "-c", script.out + "COMP_WORDS=(assay runs --so); COMP_CWORD=2; _assay; echo \"${COMPREPLY[@]}\""});
  EXPECT_EQ(options->out, "--sort\n");
  EXPECT_TRUE(parse_json(cli_.run({"schema"}).out).ok());
}

TEST_F(CommandLine, NeedsOnlyLibc) {
  const auto libraries = run_command({"ldd", AssayCli::program().string()});
  ASSERT_TRUE(libraries.ok());
  std::istringstream lines(libraries->out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, testing::AnyOf(HasSubstr("linux-vdso"), HasSubstr("libc.so"), HasSubstr("libm.so"),
                                     HasSubstr("ld-linux")))
        << line;
  }
}

}  // namespace
}  // namespace assay
