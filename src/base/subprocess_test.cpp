#include "base/subprocess.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "base/files.h"
#include "base/process_tree.h"

namespace assay {
namespace {

using testing::HasSubstr;

CommandOutput run(const std::vector<std::string>& arguments, const CommandOptions& options = {}) {
  auto output = run_command(arguments, options);
  EXPECT_TRUE(output.ok()) << output.error().text();
  return output ? *output : CommandOutput{};
}

Error failure(const std::vector<std::string>& arguments, const CommandOptions& options = {}) {
  auto output = run_command(arguments, options);
  EXPECT_FALSE(output.ok());
  return output ? Error{} : output.error();
}

fs::path write_script(const fs::path& path, std::string_view content, mode_t mode = 0755) {
  std::ofstream(path) << content;
  ::chmod(path.c_str(), mode);
  return path;
}

TEST(Subprocess, KeepsOutputErrorsAndExitCodeApart) {
  const auto output = run({"sh", "-c", "echo to out; echo to error >&2; exit 3"});
  EXPECT_EQ(output.out, "to out\n");
  EXPECT_EQ(output.error, "to error\n");
  EXPECT_EQ(output.exit_code, 3);
  EXPECT_EQ(output.signal, std::nullopt);
  EXPECT_FALSE(output.truncated);
}

TEST(Subprocess, TellsTheSignalThatEndedACommand) {
  const auto output = run({"sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(output.exit_code, std::nullopt);
  EXPECT_EQ(output.signal, SIGSEGV);
}

TEST(Subprocess, FeedsInput) {
  const std::string input(300'000, 'x');
  EXPECT_EQ(run({"wc", "-c"}, {.input = input}).out, "300000\n");
  EXPECT_EQ(run({"cat"}).out, "");
}

TEST(Subprocess, ACommandThatReadsNoneOfItsInputIsFine) {
  EXPECT_EQ(run({"true"}, {.input = std::string(4 << 20, 'x')}).exit_code, 0);
}

TEST(Subprocess, RunsInAFolderWithAnAddedEnvironment) {
  const TemporaryFolder folder;
  const auto output = run({"sh", "-c", "pwd -P; echo $ASSAY_ADDED"},
                          {.folder = folder.path(), .environment = {{"ASSAY_ADDED", "a b"}}});
  EXPECT_EQ(output.out, fs::canonical(folder.path()).string() + "\na b\n");
}

TEST(Subprocess, DropsOutputBeyondTheLimitAndSaysSo) {
  const auto output = run({"sh", "-c", "head -c 3000000 /dev/zero; echo done >&2"}, {.output_limit = 1000});
  EXPECT_EQ(output.out, std::string(1000, '\0'));
  EXPECT_EQ(output.error, "done\n");
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_TRUE(output.truncated);
}

TEST(Subprocess, EndsTheWholeGroupAtTheDeadline) {
  const TemporaryFolder folder;
  pid_t background = 0;
  // A slow machine may need more time to come as far as writing the number down.
  for (Nanos deadline = std::chrono::milliseconds(200); background == 0; deadline *= 2) {
    const auto error =
        failure({"sh", "-c", "sleep 1000 & echo $! > pid; wait"}, {.deadline = deadline, .folder = folder.path()});
    ASSERT_EQ(error.kind, ErrorKind::timeout);
    ASSERT_THAT(error.message, HasSubstr("'sh' did not end within"));
    std::ifstream(folder.path() / "pid") >> background;
  }
  const auto gone = [&] {
    const auto process = read_process_stat(background);
    return !process || !process->alive();
  };
  const auto patience = SystemClock().now() + std::chrono::seconds(60);
  while (!gone() && SystemClock().now() < patience) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(gone());
}

TEST(Subprocess, DoesNotWaitForWhatACommandLeavesBehind) {
  const auto output = run({"sh", "-c", "sleep 1000 & echo $!"}, {.deadline = std::chrono::seconds(60)});
  EXPECT_EQ(output.exit_code, 0);
  EXPECT_THAT(output.out, testing::EndsWith("\n"));
}

TEST(Subprocess, AnEndlessWriterMeetsTheDeadline) {
  EXPECT_EQ(failure({"yes"}, {.deadline = std::chrono::milliseconds(300)}).kind, ErrorKind::timeout);
}

TEST(Subprocess, PassesArgumentsOnUntouched) {
  const auto output = run({"printf", "[%s]", "", "-n", "--", "a\nb", "\xff\xfe", "$HOME", "*"});
  EXPECT_EQ(output.out, "[][-n][--][a\nb][\xff\xfe][$HOME][*]");
}

TEST(Subprocess, TellsAMissingProgramFromOneThatExits127) {
  EXPECT_EQ(run({"sh", "-c", "exit 127"}).exit_code, 127);
  const auto error = failure({"no-such-program-anywhere"});
  EXPECT_EQ(error.kind, ErrorKind::missing_file);
  EXPECT_EQ(error.text(), "there is no program 'no-such-program-anywhere' on the PATH");
  EXPECT_THAT(error.hint, HasSubstr("spelling"));
  EXPECT_EQ(failure({"./no/such/path"}).text(), "there is no program './no/such/path'");
}

TEST(Subprocess, SaysWhyAFileCannotBeRun) {
  const TemporaryFolder folder;
  const CommandOptions here{.folder = folder.path()};
  write_script(folder.path() / "plain", "echo hello\n", 0644);
  write_script(folder.path() / "no-interpreter", "#!/no/such/interpreter -x\n");
  write_script(folder.path() / "windows", "#!/bin/sh\r\necho\r\n");
  write_script(folder.path() / "no-format", "no first line\n");

  const auto plain = failure({"./plain"}, here);
  EXPECT_EQ(plain.kind, ErrorKind::denied);
  EXPECT_THAT(plain.text(), HasSubstr("plain' is not executable"));
  EXPECT_THAT(plain.hint, HasSubstr("chmod +x"));

  const auto directory = failure({folder.path().string()});
  EXPECT_EQ(directory.kind, ErrorKind::denied);
  EXPECT_THAT(directory.text(), HasSubstr("is a folder"));

  const auto interpreter = failure({"./no-interpreter"}, here);
  EXPECT_EQ(interpreter.kind, ErrorKind::missing_file);
  EXPECT_THAT(interpreter.text(), HasSubstr("is a script for '/no/such/interpreter', which does not exist"));

  EXPECT_THAT(failure({"./windows"}, here).text(), HasSubstr("Windows line ends"));
  EXPECT_EQ(failure({"./no-format"}, here).kind, ErrorKind::bad_file);
  EXPECT_THAT(failure({"plain"}, here).hint, HasSubstr("write './plain'"));

  const auto no_folder = failure({"true"}, {.folder = folder.path() / "missing"});
  EXPECT_EQ(no_folder.kind, ErrorKind::missing_file);
  EXPECT_THAT(no_folder.text(), HasSubstr("cannot enter the folder"));
}

TEST(Subprocess, FindsProgramsOnThePathOfTheAddedEnvironment) {
  const TemporaryFolder folder;
  write_script(folder.path() / "only-here", "#!/bin/sh\necho found\n");
  EXPECT_EQ(run({"only-here"}, {.environment = {{"PATH", "/nowhere:" + folder.path().string()}}}).out, "found\n");
}

/// For root: as somebody whom permissions hold for.
class WithoutRights {
 public:
  WithoutRights() { EXPECT_TRUE(::getuid() != 0 || ::seteuid(65534) == 0); }
  WithoutRights(const WithoutRights&) = delete;
  WithoutRights& operator=(const WithoutRights&) = delete;
  ~WithoutRights() { EXPECT_TRUE(::getuid() != 0 || ::seteuid(0) == 0); }
};

TEST(Subprocess, AFolderOfThePathThatIsClosedToUsIsPassedOver) {
  const TemporaryFolder folder;
  const auto closed = folder.path() / "closed";
  fs::create_directory(closed);
  fs::permissions(closed, fs::perms::none);
  const CommandOptions options{.environment = {{"PATH", closed.string() + ":/usr/bin:/bin"}}};
  {
    const WithoutRights here;
    EXPECT_EQ(run({"true"}, options).exit_code, 0);
    const auto error = failure({"no-such-program-anywhere"}, options);
    EXPECT_EQ(error.kind, ErrorKind::missing_file) << error.text();
    EXPECT_EQ(failure({(closed / "program").string()}, options).kind, ErrorKind::denied);
  }
}

TEST(Subprocess, RefusesWhatNoProgramCanBeGiven) {
  EXPECT_EQ(failure({}).kind, ErrorKind::usage);
  EXPECT_EQ(failure({""}).kind, ErrorKind::usage);
  EXPECT_EQ(failure({"echo", std::string("a\0b", 3)}).kind, ErrorKind::usage);
  EXPECT_EQ(failure({"true"}, {.environment = {{"A=B", "c"}}}).kind, ErrorKind::usage);
  EXPECT_EQ(failure({"true", std::string(4 << 20, 'x')}).kind, ErrorKind::usage);
}

TEST(Subprocess, TheChildInheritsNoDescriptorOfOurs) {
  // Without O_CLOEXEC, as a careless library would open it.
  const FileDescriptor leaky(::open("/dev/null", O_RDONLY));
  // 3 is what ls itself has open.
  EXPECT_EQ(run({"ls", "/proc/self/fd"}).out, "0\n1\n2\n3\n");
}

TEST(Subprocess, TheChildStartsWithDefaultSignals) {
  const auto before = std::signal(SIGUSR1, SIG_IGN);
  sigset_t blocked;
  sigset_t mask_before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask_before);
  const auto output = run({"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"});
  sigset_t mask_after;
  pthread_sigmask(SIG_SETMASK, &mask_before, &mask_after);
  std::signal(SIGUSR1, before);
  EXPECT_EQ(output.out, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  EXPECT_EQ(sigismember(&mask_after, SIGUSR2), 1) << "our own mask must come back as it was";
}

TEST(Subprocess, ExitCodesArriveEvenIfWeWereStartedWithChildrenIgnored) {
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(run({"sh", "-c", "exit 5"}).exit_code, 5);
  std::signal(SIGCHLD, SIG_DFL);
}

TEST(Subprocess, ManyThreadsRunCommandsAtOnce) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 10;
  std::vector<int> correct(kThreads, 0);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([thread, &correct] {
        for (int round = 0; round < kRounds; ++round) {
          const std::string text = std::to_string(thread) + "/" + std::to_string(round);
          const auto output = run_command({"cat"}, {.deadline = std::chrono::seconds(60), .input = text});
          if (output && output->out == text && output->exit_code == 0) ++correct[static_cast<std::size_t>(thread)];
        }
      });
    }
  }
  EXPECT_THAT(correct, testing::Each(kRounds));
}

TEST(Subprocess, LeavesNoDescriptorAndNoZombie) {
  const auto count = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
  const auto before = count();
  for (int i = 0; i < 50; ++i) run({"true"});
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(failure({"no-such-program-anywhere"}).kind, ErrorKind::missing_file);
  }
  ASSERT_EQ(failure({"sleep", "1000"}, {.deadline = std::chrono::milliseconds(10)}).kind, ErrorKind::timeout);
  EXPECT_EQ(count(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace assay
