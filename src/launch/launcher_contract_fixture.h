#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/finished_job_fixture.h"
#include "launch/job.h"
#include "launch/job_script_fixture.h"
#include "launch/launcher.h"

namespace assay {

/// A launcher, and what a test of it needs.
class LauncherPlace {
 public:
  virtual ~LauncherPlace() = default;
  virtual Launcher& launcher() = 0;
  /// The one that deadlines are by.
  virtual const Clock& clock() = 0;
  /// A job that does what the script says, if it is the next one to be started.
  virtual Job job(const JobScript& script) = 0;
  /// Takes the place of a job that runs away from it, as when its node loses power. False: nothing can do that here.
  virtual bool vanish(const RunningJob& /*job*/) { return false; }
  /// As a further process on the same place makes it; made and used in a child of this one. Null: what is there is this
  /// process's alone, or a child of it cannot have threads.
  virtual std::unique_ptr<Launcher> launcher_of_child() { return nullptr; }
};

struct LauncherFactory {
  std::string name;
  std::function<std::unique_ptr<LauncherPlace>()> make_place;
  bool runs_programs = true;  ///< on this machine, and says at once that one cannot be started
  bool interrupts = true;     ///< can send SIGINT; else `interrupt` is `stop`
  bool picks_devices = true;  ///< can start a job on GPUs that are named by their UUID
};

inline std::string launcher_factory_name(const testing::TestParamInfo<LauncherFactory>& info) {
  return info.param.name;
}
inline void PrintTo(const LauncherFactory& factory, std::ostream* out) { *out << factory.name; }

/// The script as a program for `sh -c`, for launchers that start programs.
inline std::string shell_for(const JobScript& script) {
  const auto quoted = [](const std::string& text) {
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
    return result + "'";
  };
  const auto to = [](JobStream stream) -> std::string {
    return stream == JobStream::out ? "\n" : stream == JobStream::error ? " >&2\n" : " | to_events\n";
  };
  std::string shell =
      "to_events() { case $ASSAY_EVENTS in fd:*) eval \"cat >&${ASSAY_EVENTS#fd:}\";;\n"
      "  file:*) cat >>\"${ASSAY_EVENTS#file:}\";; esac; }\n"
      "named() { while [ \"$(cat /proc/$1/comm)\" != $2 ]; do :; done; }\n";
  const auto trap = [&](const JobScript::OnSignal& reaction, std::string_view signal) {
    if (reaction.ignores) shell += fmt::format("trap '' {}\n", signal);
    if (reaction.exit_code) shell += fmt::format("trap 'echo cleaned up; exit {}' {}\n", *reaction.exit_code, signal);
  };
  trap(script.on_interrupt, "INT");
  trap(script.on_terminate, "TERM");
  for (const auto& step : script.steps) {
    if (const auto* say = std::get_if<JobScript::Say>(&step)) {
      shell += fmt::format("printf %s {}{}", quoted(say->text), to(say->stream));
    } else if (const auto* variable = std::get_if<JobScript::SayVariable>(&step)) {
      shell += fmt::format("if [ -n \"${{{0}+set}}\" ]; then echo \"{0}=${0}\"; else echo '{0} is not set'; fi\n",
                           variable->name);
    } else if (std::holds_alternative<JobScript::SayFolder>(step)) {
      shell += "pwd -P\n";
    } else if (const auto* flood = std::get_if<JobScript::Flood>(&step)) {
      shell += fmt::format("head -c {} /dev/zero | tr '\\0' x{}", flood->bytes, to(flood->stream));
    } else if (const auto* wait = std::get_if<JobScript::Wait>(&step)) {
      shell += fmt::format("sleep {} & wait $!\n", seconds_of(wait->duration));
    }
  }
  // Each is waited for until it runs under its own name.
  for (const auto& name : script.leaves_behind) {
    shell += name == "sleep" ? "sleep 1000 & named $! sleep\n"
                             : "setsid sh -c 'trap \"\" TERM; exec tail -f /dev/null' & named $! tail\n";
  }
  if (script.forever) return shell + "while :; do sleep 1000 & wait; done\n";
  return shell +
         (script.signal ? fmt::format("kill -{} $$\n", *script.signal) : fmt::format("exit {}\n", script.exit_code));
}

class LauncherContract : public testing::TestWithParam<LauncherFactory> {
 protected:
  // Only ever reached when something is broken.
  static constexpr Nanos kPatience = std::chrono::seconds(90);
  /// For jobs that do not care about signals.
  static constexpr Nanos kShortGrace = std::chrono::milliseconds(100);
  static constexpr Nanos kLongGrace = std::chrono::hours(10);

  Launcher& launcher() { return place_->launcher(); }
  SteadyTime now() { return place_->clock().now(); }
  Job job(const JobScript& script) { return place_->job(script); }

  std::unique_ptr<RunningJob> start(const Job& job) {
    auto started = launcher().start(job);
    // Nothing that follows makes sense without it.
    if (!started) throw std::runtime_error(started.error().text());
    return std::move(started).value();
  }
  std::unique_ptr<RunningJob> start(const JobScript& script) { return start(job(script)); }
  /// One that has said that it is there and goes on until it is ended.
  std::unique_ptr<RunningJob> start_endless(JobScript script) {
    script.steps.insert(script.steps.begin(), JobScript::Say{"ready\n"});
    script.forever = true;
    auto started = start(script);
    EXPECT_EQ(read_text(*started, JobStream::out, "ready\n"), "ready\n");
    return started;
  }

  ErrorKind start_failure(const Job& job) {
    const auto started = launcher().start(job);
    EXPECT_FALSE(started.ok());
    return started ? ErrorKind::internal : started.error().kind;
  }

  /// What a job wrote, and how it ended.
  struct Outcome {
    PerStream<std::string> text;
    JobEnding ending;
  };

  /// Reads everything until it has ended.
  Outcome finish(RunningJob& running) {
    auto finished = finish_job(running, place_->clock());
    EXPECT_TRUE(finished.ending.ok()) << finished.ending.error().text();
    return {std::move(finished.text), std::move(finished.ending).value_or(JobEnding())};
  }
  Outcome run(const JobScript& script) { return finish(*start(script)); }
  Outcome run(const Job& job) { return finish(*start(job)); }

  /// Reads until `text` was there.
  std::string read_text(RunningJob& running, JobStream stream, std::string_view text) {
    return await_text(running, stream, text, place_->clock());
  }

  static bool nothing(const JobReady& ready) { return !ready.ended && !ready.woken && !any_of(ready.streams); }

  std::unique_ptr<LauncherPlace> place_ = GetParam().make_place();
};

}  // namespace assay
