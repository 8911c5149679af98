#include "launch/part_launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/spawn.h"
#include "launch/job.h"
#include "launch/job_ending.h"
#include "launch/local/local_launcher.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct PartOutcome {
  PerStream<std::string> text;
  Result<JobEnding> ending = Error{.kind = ErrorKind::timeout, .message = "it did not end"};
};

/// Processes of a shell, as the second of two nodes.
class PartLauncherTest : public testing::Test {
 protected:
  Job job(const std::string& script, std::int64_t per_node) {
    return {.arguments = {"sh", "-c", script},
            .ranks = {.nodes = 2, .per_node = per_node},
            .nodes = {"one", "two"},
            .grace = std::chrono::milliseconds(100),
            .token = "r1"};
  }
  PartOutcome run(const Job& job) {
    PartOutcome outcome;
    const auto started = launcher_->start(job);
    if (!started) {
      outcome.ending = started.error();
      return outcome;
    }
    auto& running = **started;
    PerStream<bool> closed;
    bool ended = false;
    const auto limit = SystemClock().now() + std::chrono::seconds(90);
    const auto all_closed = [&] {
      return std::find(closed.values.begin(), closed.values.end(), false) == closed.values.end();
    };
    while ((!ended || !all_closed()) && SystemClock().now() < limit) {
      const auto ready = running.wait(limit, -1);
      for (const auto stream : kJobStreams) {
        std::array<char, 1000> buffer;
        if (!ready.streams[stream] || closed[stream]) continue;
        const auto got = running.read(stream, buffer);
        if (got) outcome.text[stream].append(buffer.data(), *got);
        closed[stream] = !got;
      }
      if (!ready.ended) continue;
      const auto ending = running.ending();
      ended = true;
      if (!ending) outcome.ending = ending.error();
      if (ending && *ending) outcome.ending = **ending;
    }
    return outcome;
  }

  std::unique_ptr<Launcher> local_ = make_local_launcher();
  std::unique_ptr<Launcher> launcher_ =
      make_part_launcher(*local_, {.number = 1, .of = 2}, {.address = "gpu01", .port = 4711});
};

constexpr const char* kSayPlace = "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT";

TEST_F(PartLauncherTest, OneProcessIsTheJobItself) {
  const auto outcome = run(job(kSayPlace, 1));
  EXPECT_EQ(outcome.text[JobStream::out], "1/2 0/1 at gpu01:4711\n");
  ASSERT_TRUE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending->exit_code, 0);
}

TEST_F(PartLauncherTest, OfSeveralTheRankStandsBeforeEachLine) {
  const auto outcome = run(job(std::string(kSayPlace) + "; printf 'no end'; echo trouble >&2", 2));
  EXPECT_THAT(outcome.text[JobStream::out],
              AllOf(HasSubstr("[rank 2] 2/4 0/2 at gpu01:4711\n"), HasSubstr("[rank 3] 3/4 1/2 at gpu01:4711\n"),
                    HasSubstr("[rank 3] no end\n")));
  EXPECT_THAT(outcome.text[JobStream::error], AllOf(HasSubstr("[rank 2] trouble\n"), HasSubstr("[rank 3] trouble\n")));
  ASSERT_TRUE(outcome.ending.ok());
  EXPECT_EQ(outcome.ending->exit_code, 0);
}

TEST_F(PartLauncherTest, TheFirstSpeaksForAll) {
  const auto outcome = run(job("echo from $RANK >&${ASSAY_EVENTS#fd:}", 2));
  EXPECT_EQ(outcome.text[JobStream::events], "from 2\n");
}

TEST_F(PartLauncherTest, TheFirstThatFailsEndsTheOthers) {
  const auto outcome = run(job("[ $LOCAL_RANK = 1 ] && exit 7; sleep 1000", 3));
  ASSERT_TRUE(outcome.ending.ok()) << outcome.ending.error().text();
  EXPECT_EQ(outcome.ending->exit_code, 7);
}

TEST_F(PartLauncherTest, ManyLinesOfAllArriveWhole) {
  const auto outcome = run(job("for i in $(seq 20000); do echo line $RANK $i; done", 2));
  const auto& text = outcome.text[JobStream::out];
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 40'000);
  EXPECT_THAT(text, AllOf(HasSubstr("[rank 2] line 2 20000\n"), HasSubstr("[rank 3] line 3 20000\n")));
}

TEST_F(PartLauncherTest, WhoeverAsksCanWakeAndStopIt) {
  const auto started = launcher_->start(job("echo there; sleep 1000", 2));
  ASSERT_TRUE(started.ok());
  auto pipe = make_pipe().value();
  ASSERT_EQ(::write(pipe.write_end.get(), "t", 1), 1);
  const auto limit = SystemClock().now() + std::chrono::seconds(90);
  bool woken = false;
  while (!woken && SystemClock().now() < limit) woken = (*started)->wait(limit, pipe.read_end.get()).woken;
  EXPECT_TRUE(woken);
  (*started)->stop(std::chrono::milliseconds(100));
  std::optional<JobEnding> ending;
  while (!ending && SystemClock().now() < limit) {
    (void)(*started)->wait(SystemClock().now() + std::chrono::milliseconds(50), -1);
    ending = (*started)->ending().value();
  }
  ASSERT_TRUE(ending);
  EXPECT_TRUE(ending->stopped);
  EXPECT_NE(ending->signal, std::nullopt);
}

}  // namespace
}  // namespace assay
