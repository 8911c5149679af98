#pragma once

// What every Launcher must do, the contract test. A test program of an implementation includes this once and says
//
//   INSTANTIATE_TEST_SUITE_P(Local, LauncherContract, testing::Values(LauncherFactory{…}), launcher_factory_name);
//
// and the same for one of the other two suites: what becomes of a job when whoever asked for it is gone.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/spawn.h"
#include "launch/job.h"
#include "launch/launcher_contract_fixture.h"
#include "support/process_mark.h"

namespace assay {

TEST_P(LauncherContract, HasAName) { EXPECT_FALSE(launcher().name().empty()); }

TEST_P(LauncherContract, KeepsOutputErrorsAndEventsApart) {
  const auto outcome = run({.steps = {JobScript::Say{"out, it's\n"}, JobScript::Say{"error\n", JobStream::error},
                                      JobScript::Say{"event\n", JobStream::events}}});
  EXPECT_EQ(outcome.text[JobStream::out], "out, it's\n");
  EXPECT_EQ(outcome.text[JobStream::error], "error\n");
  EXPECT_EQ(outcome.text[JobStream::events], "event\n");
  EXPECT_EQ(outcome.ending.exit_code, 0);
}

TEST_P(LauncherContract, ReportsTheExitCode) {
  for (const int code : {0, 1, 42, 255}) {
    const auto ending = run({.exit_code = code}).ending;
    EXPECT_EQ(ending.exit_code, code);
    EXPECT_EQ(ending.signal, std::nullopt);
    EXPECT_FALSE(ending.stopped);
    EXPECT_THAT(ending.left_behind, testing::IsEmpty());
  }
}

TEST_P(LauncherContract, ReportsTheSignalOfACrash) {
  for (const int signal : {SIGKILL, SIGSEGV}) {
    const auto ending = run({.signal = signal}).ending;
    EXPECT_EQ(ending.exit_code, std::nullopt);
    EXPECT_EQ(ending.signal, signal);
    EXPECT_FALSE(ending.stopped);
  }
}

TEST_P(LauncherContract, WhatWasSaidBeforeACrashIsThere) {
  EXPECT_EQ(run({.steps = {JobScript::Say{"last words"}}, .signal = SIGKILL}).text[JobStream::out], "last words");
}

TEST_P(LauncherContract, TheEndingCanBeAskedForAgain) {
  const auto running = start({.exit_code = 4});
  EXPECT_EQ(finish(*running).ending.exit_code, 4);
  EXPECT_EQ(running->ending().value()->exit_code, 4);
}

TEST_P(LauncherContract, ThereIsNoEndingWhileItGoesOn) {
  const auto running = start_endless({});
  EXPECT_EQ(running->ending().value(), std::nullopt);
}

TEST_P(LauncherContract, ACallerWaitsNoLongerThanItWants) {
  const auto running = start_endless({});
  const auto deadline = now() + std::chrono::milliseconds(20);
  while (now() < deadline) EXPECT_TRUE(nothing(running->wait(deadline, -1)));
  EXPECT_TRUE(nothing(running->wait(SteadyTime(), -1))) << "a deadline that is over asks for what is there";
  running->stop(kLongGrace);
  EXPECT_EQ(finish(*running).ending.signal, SIGTERM);
}

TEST_P(LauncherContract, ACallerCanBeWokenByADescriptorOfItsOwn) {
  const auto running = start_endless({});
  auto pipe = make_pipe();
  ASSERT_TRUE(pipe.ok());
  ASSERT_TRUE(write_all(pipe->write_end.get(), "s").ok());
  const auto before = now();
  const JobReady ready = running->wait(now() + kPatience, pipe->read_end.get());
  EXPECT_TRUE(ready.woken);
  EXPECT_FALSE(ready.ended);
  EXPECT_LT(now() - before, kPatience);
  char byte = 0;
  EXPECT_EQ(::read(pipe->read_end.get(), &byte, 1), 1) << "the byte is the caller's";
}

TEST_P(LauncherContract, WhatWasSeenToItsEndIsNotReadyAgain) {
  const auto running = start({.steps = {JobScript::Say{"text"}}});
  finish(*running);
  EXPECT_TRUE(nothing(running->wait(now() + std::chrono::milliseconds(10), -1)));
  std::array<char, 16> buffer;
  EXPECT_EQ(running->read(JobStream::out, buffer), std::nullopt);
}

TEST_P(LauncherContract, AFloodOnEveryStreamArrivesWhole) {
  constexpr std::size_t kBytes = 5'000'000;
  const auto outcome =
      run({.steps = {JobScript::Flood{kBytes, JobStream::error}, JobScript::Flood{kBytes, JobStream::events},
                     JobScript::Flood{kBytes}, JobScript::Say{"end"}}});
  EXPECT_EQ(outcome.text[JobStream::error].size(), kBytes);
  EXPECT_EQ(outcome.text[JobStream::events].size(), kBytes);
  EXPECT_EQ(outcome.text[JobStream::out], std::string(kBytes, 'x') + "end");
}

TEST_P(LauncherContract, AFloodThatNobodyReadsDoesNotHoldUpTheEnd) {
  const auto running = start({.steps = {JobScript::Flood{50'000'000}}, .forever = true});
  running->kill();
  EXPECT_TRUE(finish(*running).ending.stopped);
}

TEST_P(LauncherContract, StopLetsItCleanUp) {
  const auto running = start_endless({.on_terminate = {.exit_code = 3}});
  running->stop(kLongGrace);
  const auto outcome = finish(*running);
  EXPECT_EQ(outcome.ending.exit_code, 3);
  EXPECT_TRUE(outcome.ending.stopped);
  EXPECT_EQ(outcome.text[JobStream::out], "cleaned up\n");
}

TEST_P(LauncherContract, StopKillsAfterTheGrace) {
  const auto running = start_endless({.on_terminate = {.ignores = true}});
  running->stop(kShortGrace);
  EXPECT_EQ(finish(*running).ending.signal, SIGKILL);
}

TEST_P(LauncherContract, InterruptIsCtrlCThenTermThenKill) {
  const auto interrupted = [&](const JobScript& script) {
    const auto running = start_endless(script);
    running->interrupt(kShortGrace);
    const auto ending = finish(*running).ending;
    EXPECT_TRUE(ending.stopped);
    return ending;
  };
  EXPECT_EQ(interrupted({.on_interrupt = {.exit_code = 5}, .on_terminate = {.exit_code = 6}}).exit_code,
            GetParam().interrupts ? 5 : 6);
  EXPECT_EQ(interrupted({.on_interrupt = {.ignores = true}, .on_terminate = {.exit_code = 6}}).exit_code, 6);
  EXPECT_EQ(interrupted({.on_interrupt = {.ignores = true}, .on_terminate = {.ignores = true}}).signal, SIGKILL);
}

TEST_P(LauncherContract, KillDoesNotWaitForAnything) {
  const auto running = start_endless({.on_terminate = {.ignores = true}});
  running->stop(kLongGrace);
  running->kill();
  const auto ending = finish(*running).ending;
  EXPECT_EQ(ending.signal, SIGKILL);
  EXPECT_TRUE(ending.stopped);
}

TEST_P(LauncherContract, StoppingWhatHasEndedChangesNothing) {
  const auto running = start({.exit_code = 7});
  EXPECT_EQ(finish(*running).ending.exit_code, 7);
  running->interrupt(kShortGrace);
  running->stop(kShortGrace);
  running->kill();
  EXPECT_EQ(running->ending().value()->exit_code, 7);
  EXPECT_FALSE(running->ending().value()->stopped);
}

TEST_P(LauncherContract, RunsInAFolderWithAnAddedEnvironment) {
  const TemporaryFolder folder;
  Job asked =
      job({.steps = {JobScript::SayFolder{}, JobScript::SayVariable{"ADDED"}, JobScript::SayVariable{"OTHER"}}});
  asked.folder = fs::canonical(folder.path());
  asked.environment["ADDED"] = "a b=c";
  EXPECT_EQ(run(asked).text[JobStream::out],
            fs::canonical(folder.path()).string() + "\nADDED=a b=c\nOTHER is not set\n");
}

TEST_P(LauncherContract, SeesItsOwnDevicesAndNoOther) {
  const auto seen = [&](const std::optional<std::vector<std::string>>& devices) {
    Job asked = job({.steps = {JobScript::SayVariable{"CUDA_VISIBLE_DEVICES"}}});
    asked.environment["CUDA_VISIBLE_DEVICES"] = "5";
    asked.devices = devices;
    return run(asked).text[JobStream::out];
  };
  if (GetParam().picks_devices) {
    EXPECT_EQ(seen(std::vector<std::string>{"GPU-1a", "MIG-2b"}), "CUDA_VISIBLE_DEVICES=GPU-1a,MIG-2b\n");
  }
  EXPECT_EQ(seen(std::vector<std::string>{}), "CUDA_VISIBLE_DEVICES=\n") << "none at all";
  EXPECT_EQ(seen(std::nullopt), "CUDA_VISIBLE_DEVICES=5\n") << "not ours to say";
}

TEST_P(LauncherContract, ProcessesThatItLeavesAreNamedAndEnded) {
  const ProcessMark mark;
  Job asked = job({.exit_code = 7, .leaves_behind = {"sleep", "tail"}});
  asked.environment[mark.name()] = mark.value();
  asked.grace = kShortGrace;
  const auto ending = run(asked).ending;
  EXPECT_EQ(ending.exit_code, 7);
  EXPECT_FALSE(ending.stopped);
  EXPECT_THAT(ending.left_behind, testing::UnorderedElementsAre("sleep", "tail"));
  EXPECT_THAT(ending.still_running, testing::IsEmpty());
  EXPECT_THAT(mark.bearers(), testing::IsEmpty());
}

TEST_P(LauncherContract, SaysWhyAJobCannotBeStarted) {
  EXPECT_EQ(start_failure({}), ErrorKind::usage);
  if (!GetParam().runs_programs) return;
  EXPECT_EQ(start_failure({.arguments = {"no-such-program-anywhere"}}), ErrorKind::missing_file);
  EXPECT_EQ(start_failure({.arguments = {"/"}}), ErrorKind::denied);
  EXPECT_EQ(start_failure({.arguments = {"true"}, .folder = "/no/such/folder"}), ErrorKind::missing_file);
}

TEST_P(LauncherContract, JobsSideBySideKeepTheirOwn) {
  std::vector<std::unique_ptr<RunningJob>> jobs;
  for (int i = 0; i < 4; ++i) {
    jobs.push_back(
        start({.steps = {JobScript::Say{fmt::format("job {}\n", i)}, JobScript::Wait{std::chrono::milliseconds(50)}},
               .exit_code = i}));
  }
  for (int i = 3; i >= 0; --i) {
    const auto outcome = finish(*jobs[static_cast<std::size_t>(i)]);
    EXPECT_EQ(outcome.text[JobStream::out], fmt::format("job {}\n", i));
    EXPECT_EQ(outcome.ending.exit_code, i);
  }
}

TEST_P(LauncherContract, ATokenIsNotStartedTwice) {
  Job asked = job({.forever = true});
  asked.token = "r-81/1";
  const auto running = start(asked);
  EXPECT_EQ(start_failure(asked), ErrorKind::busy);
  asked.token = "r-81/2";
  const auto later = start(asked);
  EXPECT_NE(later->handle(), running->handle());
}

TEST_P(LauncherContract, AJobHasOneOwner) {
  Job asked = job({.forever = true});
  asked.token = "r-81/1";
  const auto running = start(asked);
  EXPECT_FALSE(running->handle().empty());
  for (const auto& handle : {running->handle(), asked.token}) {
    const auto attached = launcher().attach(handle, {});
    ASSERT_FALSE(attached.ok());
    EXPECT_EQ(attached.error().kind, ErrorKind::busy);
  }
}

TEST_P(LauncherContract, AJobThatWasNeverThereIsNotFound) {
  for (const std::string_view handle : {"", "nonsense", "local:1", "r-82/1"}) {
    const auto attached = launcher().attach(handle, {});
    ASSERT_FALSE(attached.ok());
    EXPECT_EQ(attached.error().kind, ErrorKind::not_found);
  }
}

TEST_P(LauncherContract, OfAPlaceThatVanishesNobodyKnowsTheEnding) {
  const auto running = start_endless({});
  if (!place_->vanish(*running)) GTEST_SKIP() << "nothing takes this place away";
  const auto finished = finish_job(*running, place_->clock());
  ASSERT_FALSE(finished.ending.ok()) << "it did not end by itself";
  EXPECT_THAT(finished.ending.error().kind, testing::AnyOf(ErrorKind::crash, ErrorKind::lost_peer));
  EXPECT_FALSE(finished.ending.error().message.empty());
  running->kill();
  EXPECT_FALSE(running->ending().ok()) << "and that does not change";
}

/// For tests that kill the owner of a job.
inline std::string said_by_child(pid_t child, int told) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(told, buffer.data(), buffer.size());
  if (got <= 0) ::waitpid(child, nullptr, 0);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

/// Of launchers whose jobs outlive whoever asked.
class OutlivingLauncherContract : public LauncherContract {};

TEST_P(OutlivingLauncherContract, AJobGoesOnWhereItWasLeft) {
  Job asked =
      job({.steps = {JobScript::Say{"one\n"}, JobScript::Wait{std::chrono::seconds(1)}, JobScript::Say{"two\n"}},
           .exit_code = 5});
  asked.token = "r-81/1";
  auto running = start(asked);
  const auto handle = running->handle();
  EXPECT_EQ(read_text(*running, JobStream::out, "one\n"), "one\n");
  running.reset();
  EXPECT_EQ(start_failure(asked), ErrorKind::busy) << "it is still there";

  PerStream<std::uint64_t> taken;
  taken[JobStream::out] = 4;
  auto attached = launcher().attach(handle, taken);
  ASSERT_TRUE(attached.ok()) << attached.error().text();
  const auto rest = finish(**attached);
  EXPECT_EQ(rest.text[JobStream::out], "two\n");
  EXPECT_EQ(rest.ending.exit_code, 5);
  attached->reset();

  // Whoever knows no more than what it had asked for gets everything, also of one that has ended.
  attached = launcher().attach(asked.token, {});
  ASSERT_TRUE(attached.ok()) << attached.error().text();
  EXPECT_EQ(finish(**attached).text[JobStream::out], "one\ntwo\n");
}

TEST_P(OutlivingLauncherContract, AJobGoesOnWhenItsOwnerIsKilled) {
  const TemporaryFolder folder;
  Job asked = job({});
  asked.arguments = {"sh", "-c", "echo one; until [ -e go ]; do sleep 0.05; done; echo two; exit 5"};
  asked.folder = fs::canonical(folder.path());
  asked.token = "r-81/1";
  auto told = make_pipe();
  ASSERT_TRUE(told.ok());
  const pid_t owner = ::fork();
  if (owner == 0) {
    const auto own = place_->launcher_of_child();
    const auto running = own ? own->start(asked) : Result<std::unique_ptr<RunningJob>>(Error{});
    const auto answer = running ? (*running)->handle() : own ? running.error().text() : "none";
    (void)write_all(told->write_end.get(), answer).ok();
    told->write_end.reset();
    while (running.ok()) ::pause();
    ::_exit(1);
  }
  told->write_end.reset();
  const auto handle = said_by_child(owner, told->read_end.get());
  if (handle == "none") {
    ::waitpid(owner, nullptr, 0);
    GTEST_SKIP() << "no other process has this place";
  }
  EXPECT_EQ(launcher().attach(handle, {}).error().kind, ErrorKind::busy) << handle << ": it has its owner";
  ::kill(owner, SIGKILL);
  ASSERT_EQ(::waitpid(owner, nullptr, 0), owner);
  EXPECT_EQ(start_failure(asked), ErrorKind::busy) << "it goes on";
  ASSERT_TRUE(write_file_atomically(folder.path() / "go", "").ok());
  const auto attached = launcher().attach(handle, {});
  ASSERT_TRUE(attached.ok()) << attached.error().text();
  const auto outcome = finish(**attached);
  EXPECT_EQ(outcome.text[JobStream::out], "one\ntwo\n");
  EXPECT_EQ(outcome.ending.exit_code, 5);
}

TEST_P(OutlivingLauncherContract, AJobThatNobodyEndsIsEndedBehindItsTimeLimit) {
  Job asked = job({.steps = {JobScript::Say{"ready\n"}}, .forever = true});
  asked.token = "r-81/1";
  asked.time_limit = std::chrono::milliseconds(100);
  asked.grace = kShortGrace;
  auto running = start(asked);
  EXPECT_EQ(read_text(*running, JobStream::out, "ready\n"), "ready\n");
  running.reset();
  const auto attached = launcher().attach(asked.token, {});
  ASSERT_TRUE(attached.ok()) << attached.error().text();
  EXPECT_TRUE(finish(**attached).ending.stopped) << "whoever asked has not done it";
}

/// Of launchers whose jobs end with whoever asked.
class OwnedLauncherContract : public LauncherContract {};

TEST_P(OwnedLauncherContract, NothingIsLeftWhenTheOwnerIsKilled) {
  const ProcessMark mark;
  Job asked = job({.forever = true, .leaves_behind = {"sleep", "tail"}});
  asked.environment[mark.name()] = mark.value();
  asked.grace = kShortGrace;
  asked.token = "r-81/1";
  auto told = make_pipe();
  ASSERT_TRUE(told.ok());
  const pid_t owner = ::fork();
  if (owner == 0) {
    const auto running = launcher().start(asked);
    if (running) (void)write_all(told->write_end.get(), (*running)->handle()).ok();
    told->write_end.reset();
    while (running.ok()) ::pause();
    ::_exit(1);
  }
  told->write_end.reset();
  std::array<char, 256> buffer;
  const ssize_t got = ::read(told->read_end.get(), buffer.data(), buffer.size());
  ASSERT_GT(got, 0);
  const std::string handle(buffer.data(), static_cast<std::size_t>(got));
  const auto eventually = [&](const std::function<bool()>& holds) {
    const auto limit = SystemClock().now() + kPatience;
    while (!holds() && SystemClock().now() < limit) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return holds();
  };
  EXPECT_TRUE(eventually([&] { return mark.count("sleep") == 2 && mark.count("tail") == 1; }));
  ::kill(owner, SIGKILL);
  ASSERT_EQ(::waitpid(owner, nullptr, 0), owner);
  EXPECT_TRUE(eventually([&] { return mark.bearers().empty(); })) << testing::PrintToString(mark.bearers());
  for (const auto& name : {handle, asked.token}) {
    const auto attached = launcher().attach(name, {});
    ASSERT_FALSE(attached.ok());
    EXPECT_EQ(attached.error().kind, ErrorKind::not_found);
    EXPECT_THAT(attached.error().message, testing::HasSubstr(name));
  }
}

TEST_P(OwnedLauncherContract, LettingGoOfAJobEndsIt) {
  const ProcessMark mark;
  Job asked = job({.steps = {JobScript::Flood{50'000'000}}, .forever = true, .on_terminate = {.ignores = true}});
  asked.environment[mark.name()] = mark.value();
  asked.grace = kShortGrace;
  asked.token = "r-81/1";
  start(asked).reset();
  EXPECT_THAT(mark.bearers(), testing::IsEmpty());
  start(asked).reset();  // the token is free again
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OutlivingLauncherContract);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OwnedLauncherContract);

}  // namespace assay
