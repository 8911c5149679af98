#include "base/guard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "base/guard_protocol.h"
#include "base/process_tree.h"
#include "base/spawn.h"
#include "support/process_mark.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Only ever reached when something is broken.
constexpr auto kPatience = std::chrono::seconds(90);
// For workloads that ignore SIGTERM on purpose.
constexpr auto kShortGrace = std::chrono::milliseconds(100);

bool eventually(const std::function<bool()>& holds) {
  const auto deadline = SystemClock().now() + kPatience;
  while (!holds()) {
    if (SystemClock().now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

/// Four processes that are hard to get rid of, with their first one waiting for them.
std::string tree_of_four() {
  return fmt::format(
      "sleep 1000 & "                        // a plain child
      "setsid sh -c 'sleep 1001 & exit' & "  // a daemon: forked twice, in a session of its own
      "(trap '' TERM; exec sleep 1002) & "   // ignores SIGTERM
      "sleep 1003 <&- >&- 2>&- {}>&- & "     // holds no descriptor
      "wait; exec sleep 1004",
      kWorkloadEvents);
}

bool tree_stands(const ProcessMark& mark) { return mark.count("sleep") == 4; }

GuardedProcess start(const GuardedOptions& options) {
  auto process = GuardedProcess::start(options);
  // Nothing that follows makes sense without it.
  if (!process) throw std::runtime_error(process.error().text());
  return std::move(process).value();
}

GuardedProcess start_shell(const std::string& script, Nanos grace = std::chrono::seconds(60)) {
  return start({.arguments = {"sh", "-c", script}, .grace = grace});
}

/// Waits for the report and reads nothing else.
Result<GuardReport> report_of(GuardedProcess& process) {
  for (;;) {
    if (!wait_readable(process.report_fd(), SystemClock().now() + kPatience)) {
      return Error{.kind = ErrorKind::timeout, .message = "no report"};
    }
    ASSAY_TRY(auto report, process.poll_report());
    if (report) return std::move(*report);
  }
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  while (wait_readable(fd, SystemClock().now() + kPatience)) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ADD_FAILURE() << "the stream did not end";
  return text;
}

void wait_for_line(int fd, std::string_view line) {
  std::string text;
  while (text.find(line) == std::string::npos && wait_readable(fd, SystemClock().now() + kPatience)) {
    std::array<char, 256> buffer;
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    ASSERT_GT(got, 0);
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

GuardReport finished(GuardedProcess& process) {
  auto report = report_of(process);
  EXPECT_TRUE(report.ok()) << report.error().text();
  return report ? *report : GuardReport{};
}

Error start_failure(const GuardedOptions& options) {
  const auto process = GuardedProcess::start(options);
  EXPECT_FALSE(process.ok());
  return process ? Error{} : process.error();
}

TEST(Guard, ReportsTheExitCode) {
  for (const int code : {0, 1, 42, 127, 255}) {
    auto process = start_shell(fmt::format("exit {}", code));
    const auto report = finished(process);
    EXPECT_EQ(report.exit_code, code);
    EXPECT_EQ(report.signal, std::nullopt);
    EXPECT_THAT(report.left_behind, IsEmpty());
    EXPECT_THAT(report.still_running, IsEmpty());
    EXPECT_FALSE(report.stopped);
  }
}

TEST(Guard, ReportsTheSignal) {
  for (const int signal : {SIGKILL, SIGSEGV, SIGTERM}) {
    auto process = start_shell(fmt::format("kill -{} $$", signal));
    const auto report = finished(process);
    EXPECT_EQ(report.exit_code, std::nullopt);
    EXPECT_EQ(report.signal, signal);
    EXPECT_FALSE(report.stopped);
  }
}

TEST(Guard, ReportsTimeAndMemory) {
  auto process = start_shell("i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done");
  const auto report = finished(process);
  EXPECT_GT(report.user_time + report.system_time, Nanos(0));
  EXPECT_GT(report.peak_rss_bytes, 100'000);
}

TEST(Guard, TheReportCanBeAskedForAgain) {
  auto process = start_shell("exit 4");
  EXPECT_EQ(finished(process).exit_code, 4);
  EXPECT_EQ(finished(process).exit_code, 4);
}

TEST(Guard, ThereIsNoReportWhileTheWorkloadGoesOn) {
  auto process = start_shell("exec sleep 1000");
  const auto report = process.poll_report();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->has_value(), false);
}

TEST(Guard, KeepsOutputErrorsAndEventsApart) {
  auto process = start_shell("echo out; echo error >&2; eval \"echo event >&${ASSAY_EVENTS#fd:}\"");
  EXPECT_EQ(read_to_end(process.out_fd()), "out\n");
  EXPECT_EQ(read_to_end(process.error_fd()), "error\n");
  EXPECT_EQ(read_to_end(process.events_fd()), "event\n");
  EXPECT_EQ(finished(process).exit_code, 0);
}

TEST(Guard, PassesArgumentsOnUntouched) {
  auto process =
      start({.arguments = {"printf", "[%s]", "", "-n", "--", "a\nb", "\xff\xfe", "$HOME", "*", kGuardArgument}});
  EXPECT_EQ(read_to_end(process.out_fd()), fmt::format("[][-n][--][a\nb][\xff\xfe][$HOME][*][{}]", kGuardArgument));
}

TEST(Guard, RunsInAFolderWithAnAddedEnvironment) {
  const TemporaryFolder folder;
  auto process = start({.arguments = {"sh", "-c", "pwd -P; echo \"$ADDED\""},
                        .environment = {{"ADDED", "a\nb"}},
                        .folder = folder.path()});
  EXPECT_EQ(read_to_end(process.out_fd()), fs::canonical(folder.path()).string() + "\na\nb\n");
}

TEST(Guard, StandardInputIsEmptyUnlessInherited) {
  auto empty = start({.arguments = {"cat"}});
  EXPECT_EQ(read_to_end(empty.out_fd()), "");

  const FileDescriptor before(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  const auto input = memory_file("typed\n");
  ASSERT_TRUE(input.ok());
  ::dup2(input->get(), STDIN_FILENO);
  auto inheriting = start({.arguments = {"cat"}, .inherit_input = true});
  EXPECT_EQ(read_to_end(inheriting.out_fd()), "typed\n");
  ::dup2(before.get(), STDIN_FILENO);
}

TEST(Guard, TheWorkloadHasItsOwnDescriptorsAndNoOther) {
  const FileDescriptor leaky(::open("/dev/null", O_RDONLY));
  auto process = start({.arguments = {"ls", "/proc/self/fd"}});
  // 3 is what ls itself has open.
  EXPECT_EQ(read_to_end(process.out_fd()), fmt::format("0\n1\n2\n3\n{}\n", kWorkloadEvents));
}

TEST(Guard, TheWorkloadStartsWithDefaultSignals) {
  auto process = start({.arguments = {"grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"}});
  EXPECT_EQ(read_to_end(process.out_fd()), "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(Guard, SaysWhyAProgramCannotBeStarted) {
  const TemporaryFolder folder;
  const auto in_folder = [&](const std::string& program) {
    return start_failure({.arguments = {program}, .folder = folder.path()});
  };
  std::ofstream(folder.path() / "plain") << "echo\n";
  std::ofstream(folder.path() / "script") << "#!/no/such/interpreter\n";
  ::chmod((folder.path() / "script").c_str(), 0755);

  const auto missing = start_failure({.arguments = {"no-such-program-\xff"}});
  EXPECT_EQ(missing.kind, ErrorKind::missing_file);
  EXPECT_THAT(missing.text(), HasSubstr("there is no program 'no-such-program-\uFFFD' on the PATH"));
  EXPECT_THAT(missing.hint, HasSubstr("spelling"));

  EXPECT_EQ(in_folder("./plain").kind, ErrorKind::denied);
  EXPECT_THAT(in_folder("./plain").hint, HasSubstr("chmod +x"));
  EXPECT_EQ(in_folder(folder.path().string()).kind, ErrorKind::denied);
  EXPECT_THAT(in_folder(folder.path().string()).text(), HasSubstr("is a folder"));
  EXPECT_EQ(in_folder("./script").kind, ErrorKind::missing_file);
  EXPECT_THAT(in_folder("./script").text(), HasSubstr("/no/such/interpreter"));

  EXPECT_EQ(start_failure({.arguments = {}}).kind, ErrorKind::usage);
  EXPECT_EQ(start_failure({.arguments = {"echo", std::string("a\0b", 3)}}).kind, ErrorKind::usage);
  EXPECT_EQ(start_failure({.arguments = {"true"}, .environment = {{"", "x"}}}).kind, ErrorKind::usage);
  EXPECT_EQ(start_failure({.arguments = {"true"}, .folder = folder.path() / "none"}).kind, ErrorKind::missing_file);
}

TEST(Guard, StopLetsTheWorkloadCleanUp) {
  auto process = start_shell("trap 'echo cleaned; exit 3' TERM; echo ready; while :; do sleep 1000 & wait; done");
  wait_for_line(process.out_fd(), "ready\n");
  process.stop();
  const auto report = finished(process);
  EXPECT_EQ(report.exit_code, 3);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(read_to_end(process.out_fd()), "cleaned\n");
}

TEST(Guard, StopAsksAgainWhereTheSignalWasLost) {
  // A handler that does nothing about it and then a program without one: what a process between fork and exec looks
  // like, but long enough to be hit for certain.
  auto process = start_shell("trap 'exec sleep 1000' TERM; echo ready; while :; do sleep 1000 & wait; done",
                             std::chrono::hours(10));
  wait_for_line(process.out_fd(), "ready\n");
  process.stop();
  EXPECT_EQ(finished(process).signal, SIGTERM);
}

TEST(Guard, StopEndsAWorkloadThatIsSuspended) {
  auto process = start_shell("kill -STOP $$; exec sleep 1000");
  ASSERT_TRUE(eventually([&] { return read_process_stat(process.workload_pid())->state == 'T'; }));
  process.stop();
  EXPECT_EQ(finished(process).signal, SIGTERM);
}

TEST(Guard, StopEndsTheWholeTree) {
  const ProcessMark mark;
  auto process = start(
      {.arguments = {"sh", "-c", tree_of_four()}, .environment = {{mark.name(), mark.value()}}, .grace = kShortGrace});
  ASSERT_TRUE(eventually([&] { return tree_stands(mark); }));
  process.stop();
  const auto report = finished(process);
  EXPECT_TRUE(report.stopped);
  EXPECT_THAT(report.still_running, IsEmpty());
  EXPECT_THAT(mark.bearers(), IsEmpty());
}

TEST(Guard, InterruptIsCtrlCThenTermThenKill) {
  const auto interrupted = [](const std::string& traps) {
    auto process = start_shell(traps + "; echo ready; while :; do sleep 1000 & wait; done", kShortGrace);
    wait_for_line(process.out_fd(), "ready\n");
    process.interrupt();
    return finished(process);
  };
  EXPECT_EQ(interrupted("trap 'exit 5' INT; trap 'exit 6' TERM").exit_code, 5);
  EXPECT_EQ(interrupted("trap '' INT; trap 'exit 6' TERM").exit_code, 6);
  EXPECT_EQ(interrupted("trap '' INT TERM").signal, SIGKILL);
}

TEST(Guard, StopAndInterruptMayHaveAGraceOfTheirOwn) {
  const auto deaf = [](const std::string& signals) {
    auto process = start_shell(fmt::format("trap '' {}; echo ready; while :; do sleep 1000; done", signals),
                               std::chrono::hours(10));
    wait_for_line(process.out_fd(), "ready\n");
    return process;
  };
  auto stopped = deaf("TERM");
  stopped.stop(kShortGrace);
  EXPECT_EQ(finished(stopped).signal, SIGKILL);
  auto interrupted = deaf("INT TERM");
  interrupted.interrupt(kShortGrace);
  EXPECT_EQ(finished(interrupted).signal, SIGKILL);
  // The second one cuts the first one's patience short, and not the other way round.
  auto hurried = deaf("TERM");
  hurried.stop();
  hurried.stop(kShortGrace);
  hurried.stop(std::chrono::hours(10));
  EXPECT_EQ(finished(hurried).signal, SIGKILL);
}

TEST(Guard, KillNowDoesNotWaitForTheGrace) {
  const ProcessMark mark;
  auto process = start({.arguments = {"sh", "-c", tree_of_four()},
                        .environment = {{mark.name(), mark.value()}},
                        .grace = std::chrono::hours(10)});
  ASSERT_TRUE(eventually([&] { return tree_stands(mark); }));
  process.kill_now();
  EXPECT_TRUE(finished(process).stopped);
  EXPECT_THAT(mark.bearers(), IsEmpty());
}

TEST(Guard, KillNowCutsAGraceShort) {
  auto process = start_shell("trap '' TERM; echo ready; while :; do sleep 1000; done", std::chrono::hours(10));
  wait_for_line(process.out_fd(), "ready\n");
  process.stop();
  process.kill_now();
  const auto report = finished(process);
  EXPECT_EQ(report.signal, SIGKILL);
  EXPECT_TRUE(report.stopped);
}

TEST(Guard, EndsAndNamesWhatTheFirstProcessLeavesBehind) {
  const ProcessMark mark;
  // Each is waited for until it runs under its own name.
  const std::string script =
      "named() { while [ \"$(cat /proc/$1/comm)\" != $2 ]; do :; done; }; "
      "sleep 1000 & named $! sleep; "
      "setsid sh -c 'trap \"\" TERM; exec tail -f /dev/null' & named $! tail; "
      "exit 7";
  auto process =
      start({.arguments = {"sh", "-c", script}, .environment = {{mark.name(), mark.value()}}, .grace = kShortGrace});
  const auto report = finished(process);
  EXPECT_EQ(report.exit_code, 7);
  EXPECT_FALSE(report.stopped);
  EXPECT_THAT(report.left_behind, UnorderedElementsAre("sleep", "tail"));
  EXPECT_THAT(report.still_running, IsEmpty());
  EXPECT_THAT(mark.bearers(), IsEmpty());
}

TEST(Guard, NothingOutlivesAParentThatIsKilled) {
  const ProcessMark mark;
  const pid_t parent = ::fork();
  if (parent == 0) {
    // By the environment of this process the guard carries the mark, too.
    ::setenv(mark.name().c_str(), mark.value().c_str(), 1);
    const auto process = GuardedProcess::start({.arguments = {"sh", "-c", tree_of_four()}, .grace = kShortGrace});
    while (process.ok()) ::pause();
    ::_exit(1);
  }
  ASSERT_TRUE(eventually([&] { return tree_stands(mark); }));
  ASSERT_THAT(mark.bearers(), testing::Contains("assay-guard"));
  ::kill(parent, SIGKILL);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  EXPECT_TRUE(eventually([&] { return mark.bearers().empty(); })) << testing::PrintToString(mark.bearers());
}

TEST(Guard, NothingOutlivesTheObject) {
  const ProcessMark mark;
  {
    const auto process = start({.arguments = {"sh", "-c", tree_of_four()},
                                .environment = {{mark.name(), mark.value()}},
                                .grace = kShortGrace});
    ASSERT_TRUE(eventually([&] { return tree_stands(mark); }));
  }
  EXPECT_THAT(mark.bearers(), IsEmpty());
}

TEST(Guard, AMovedFromObjectEndsNothing) {
  std::optional<GuardedProcess> first(start_shell("exec sleep 1000"));
  auto second = std::move(*first);
  first.reset();
  const auto report = second.poll_report();
  ASSERT_TRUE(report.ok());
  EXPECT_FALSE(report->has_value());
  EXPECT_TRUE(read_process_stat(second.workload_pid())->alive());
}

TEST(Guard, AKilledGuardIsReportedAndTakesTheWorkloadWithIt) {
  const ProcessMark mark;
  auto process = start({.arguments = {"sh", "-c", "sleep 1000 & wait"}, .environment = {{mark.name(), mark.value()}}});
  ASSERT_TRUE(eventually([&] { return mark.bearers().size() == 2; }));
  const pid_t guard = read_process_stat(process.workload_pid())->parent;
  ASSERT_EQ(read_process_stat(guard)->name, "assay-guard");
  ::kill(guard, SIGKILL);
  const auto report = report_of(process);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::crash);
  EXPECT_TRUE(eventually([&] { return mark.bearers().empty(); })) << testing::PrintToString(mark.bearers());
  // Neither may raise SIGPIPE.
  process.stop();
  process.kill_now();
}

TEST(Guard, IgnoresTheSignalsThatATerminalOrAJobScriptSends) {
  auto process = start_shell("read line < /dev/null; echo ready; exec sleep 1000");
  wait_for_line(process.out_fd(), "ready\n");
  const pid_t guard = read_process_stat(process.workload_pid())->parent;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::kill(guard, signal);
  process.stop();
  EXPECT_TRUE(finished(process).stopped);
}

TEST(Guard, AWorkloadThatKillsItsOwnProcessGroupDoesNotReachTheGuard) {
  auto process = start_shell("kill -KILL 0");
  EXPECT_EQ(finished(process).signal, SIGKILL);
}

TEST(Guard, OutputThatNobodyReadsDoesNotHoldUpTheEnd) {
  auto stopped = start_shell("trap '' TERM; exec yes", kShortGrace);
  ASSERT_TRUE(wait_readable(stopped.out_fd(), SystemClock().now() + kPatience));
  stopped.stop();
  EXPECT_EQ(finished(stopped).signal, SIGKILL);

  // This one ends only once all of its output is gone: the destructor throws it away.
  const auto destroyed = start_shell("trap '' TERM; head -c 4000000 /dev/zero; exit 0", std::chrono::hours(10));
  ASSERT_TRUE(wait_readable(destroyed.out_fd(), SystemClock().now() + kPatience));
}

TEST(Guard, ManyWorkloadsLeaveNoDescriptorAndNoZombie) {
  const auto count = [] { return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()); };
  const auto before = count();
  for (int i = 0; i < 100; ++i) {
    auto process = start({.arguments = {"true"}});
    ASSERT_EQ(finished(process).exit_code, 0);
  }
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(start_failure({.arguments = {"no-such-program-anywhere"}}).kind, ErrorKind::missing_file);
  }
  EXPECT_EQ(count(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Guard, SeveralThreadsStartWorkloadsAtOnce) {
  constexpr int kThreads = 4;
  std::vector<int> correct(kThreads, 0);
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([thread, &correct] {
        for (int round = 0; round < 5; ++round) {
          auto process = GuardedProcess::start({.arguments = {"sh", "-c", fmt::format("exit {}", thread + 10)}});
          if (!process) continue;
          const auto report = report_of(*process);
          if (report && report->exit_code == thread + 10) ++correct[static_cast<std::size_t>(thread)];
        }
      });
    }
  }
  EXPECT_THAT(correct, testing::Each(5));
}

TEST(GuardProtocol, ARequestSurvivesTheTrip) {
  const GuardedOptions options{.arguments = {"a", "", "b\n\xff"},
                               .environment = {{"X", ""}, {"Y", "=z"}},
                               .folder = "relative/folder",
                               .grace = std::chrono::milliseconds(1500)};
  const auto decoded = decode_request(encode_request(options));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->arguments, options.arguments);
  EXPECT_EQ(decoded->environment, options.environment);
  EXPECT_EQ(decoded->folder, options.folder);
  EXPECT_EQ(decoded->grace, options.grace);
  EXPECT_EQ(decode_request(encode_request({.arguments = {"a"}}))->folder, std::nullopt);
  EXPECT_FALSE(decode_request(encode_request(options).substr(0, 20)).ok());
}

TEST(GuardProtocol, AReportSurvivesTheTrip) {
  const GuardReport report{.exit_code = std::nullopt,
                           .signal = 11,
                           .user_time = Nanos(123),
                           .system_time = Nanos(456),
                           .peak_rss_bytes = 789,
                           .left_behind = {"a", "b\"c"},
                           .still_running = {"d"},
                           .stopped = true};
  const auto parsed = parse_report_line(report_line(report));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->exit_code, std::nullopt);
  EXPECT_EQ(parsed->signal, 11);
  EXPECT_EQ(parsed->user_time, Nanos(123));
  EXPECT_EQ(parsed->system_time, Nanos(456));
  EXPECT_EQ(parsed->peak_rss_bytes, 789);
  EXPECT_THAT(parsed->left_behind, ElementsAre("a", "b\"c"));
  EXPECT_THAT(parsed->still_running, ElementsAre("d"));
  EXPECT_TRUE(parsed->stopped);
}

}  // namespace
}  // namespace assay
