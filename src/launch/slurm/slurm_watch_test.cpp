#include "launch/slurm/slurm_watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <functional>
#include <thread>

#include "launch/slurm/slurm_commands.h"

// With stand-ins for Slurm's programs, which print what a file says; tests/integration has the real ones.

namespace assay {
namespace {

using namespace std::chrono_literals;

class SlurmWatchTest : public testing::Test {
 protected:
  SlurmWatchTest() {
    program("squeue",
            "[ -e down ] && { echo >>refused; echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; "
            "exit 1; }\n"
            "cat queue");
    program("sacct", "cat history");
    program("scancel", "[ -e down ] && exit 1; echo \"$1\" >>cancelled");
    write("queue", "");
    write("history", "");
  }

  void program(const std::string& name, const std::string& body) {
    const auto path = folder_.path() / name;
    write(name, fmt::format("#!/bin/sh\ncd '{}'\n{}\n", folder_.path().string(), body));
    ::chmod(path.c_str(), 0755);
  }
  void write(const std::string& name, std::string_view text) {
    ASSERT_TRUE(write_file_atomically(folder_.path() / name, text).ok());
  }
  std::shared_ptr<const SlurmControl> commands() const {
    const char* path = std::getenv("PATH");
    return std::make_shared<SlurmCommands>(
        std::map<std::string, std::string>{{"PATH", folder_.path().string() + ":" + (path ? path : "/usr/bin:/bin")}});
  }

  static bool soon(const std::function<bool()>& holds) {
    const auto limit = SystemClock().now() + 90s;
    while (!holds() && SystemClock().now() < limit) std::this_thread::sleep_for(5ms);
    return holds();
  }
  static bool becomes(const SlurmWatch& watch, std::int64_t id, std::string_view state) {
    return soon([&] {
      const auto sight = watch.sight(id);
      return sight && sight->record.state == state;
    });
  }

  TemporaryFolder folder_;
};

TEST_F(SlurmWatchTest, TellsHowFarJobsAre) {
  write("queue", "12|PENDING|Resources||assay:a\n13|RUNNING|None|n1|assay:b\n");
  SlurmWatch watch(commands());
  watch.follow(12, "a");
  EXPECT_TRUE(becomes(watch, 12, "PENDING"));
  EXPECT_FALSE(watch.sight(13)) << "nobody asked";
  write("queue", "12|RUNNING|None|n1|assay:a\n");
  watch.hurry();
  EXPECT_TRUE(becomes(watch, 12, "RUNNING"));
  EXPECT_EQ(watch.sight(12)->record.nodes, "n1");
  watch.forget(12);
  EXPECT_FALSE(watch.sight(12));
}

TEST_F(SlurmWatchTest, WhatWasKnownStaysWhileSlurmctldIsAway) {
  write("queue", "12|RUNNING|None|n1|assay:a\n");
  SlurmWatch watch(commands());
  watch.follow(12, "a");
  ASSERT_TRUE(becomes(watch, 12, "RUNNING"));
  write("down", "");
  testing::internal::CaptureStderr();
  watch.hurry();
  EXPECT_TRUE(soon([&] { return read_file(folder_.path() / "refused").value_or("").size() > 2; }));
  EXPECT_EQ(watch.sight(12)->record.state, "RUNNING");
  fs::remove(folder_.path() / "down");
  write("queue", "12|COMPLETED|None|n1|assay:a\n");
  watch.hurry();
  EXPECT_TRUE(becomes(watch, 12, "COMPLETED"));
  const auto logged = testing::internal::GetCapturedStderr();
  EXPECT_NE(logged.find("Slurm does not answer"), std::string::npos) << logged;
  EXPECT_EQ(logged.find("Slurm does not answer"), logged.rfind("Slurm does not answer")) << "once: " << logged;
}

TEST_F(SlurmWatchTest, WhatSlurmctldForgotIsInTheAccounts) {
  write("history", "12|TIMEOUT|n1\n12.batch|CANCELLED|n1\n");
  SlurmWatch watch(commands());
  watch.follow(12, "a");
  watch.follow(14, "c");
  EXPECT_TRUE(becomes(watch, 12, "TIMEOUT"));
  EXPECT_TRUE(becomes(watch, 14, SlurmWatch::kForgotten)) << "nobody knows it";
}

TEST_F(SlurmWatchTest, AnIdThatWasGivenOutAgainIsAnotherJob) {
  write("queue", "12|RUNNING|None|n1|assay:a\n");
  SlurmWatch watch(commands());
  watch.follow(12, "a");
  ASSERT_TRUE(becomes(watch, 12, "RUNNING"));
  write("queue", "12|RUNNING|None|n1|assay:z\n");
  watch.hurry();
  EXPECT_TRUE(becomes(watch, 12, SlurmWatch::kForgotten));
  watch.cancel(12);
  watch.forget(12);
  EXPECT_FALSE(fs::exists(folder_.path() / "cancelled")) << "not ours to end";
}

TEST_F(SlurmWatchTest, CancelsAgainUntilSlurmctldTakesIt) {
  write("queue", "12|PENDING|Resources||assay:a\n13|RUNNING|None|n1|assay:b\n");
  write("down", "");
  SlurmWatch watch(commands());
  watch.follow(12, "a");
  watch.follow(13, "b");
  watch.cancel(12);
  watch.cancel_at(13, SystemClock().now() + 1h);
  fs::remove(folder_.path() / "down");
  EXPECT_TRUE(soon([&] { return read_file(folder_.path() / "cancelled").value_or("") == "12\n"; }));
}

TEST_F(SlurmWatchTest, WhatIsToBeCancelledIsCancelledBeforeItGoes) {
  write("queue", "12|PENDING|Resources||assay:a\n");
  {
    SlurmWatch watch(commands());
    watch.follow(12, "a");
    watch.cancel(12);
    watch.forget(12);
  }
  EXPECT_EQ(read_file(folder_.path() / "cancelled").value_or(""), "12\n");
}

TEST_F(SlurmWatchTest, WithoutSlurmThereIsAClearError) {
  const TemporaryFolder bare;
  fs::create_symlink("/usr/bin/env", bare.path() / "env");
  const auto submitted = SlurmCommands({{"PATH", bare.path().string()}}).submit({}, "script");
  ASSERT_FALSE(submitted.ok());
  EXPECT_EQ(submitted.error().kind, ErrorKind::missing_file);
  EXPECT_THAT(submitted.error().message, testing::HasSubstr("no 'sbatch' on the PATH"));
}

}  // namespace
}  // namespace assay
