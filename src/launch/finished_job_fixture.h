#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "launch/job_ending.h"
#include "launch/launcher.h"

namespace assay {

/// What a job wrote, and how it ended, or why nobody knows. For tests.
struct FinishedJob {
  PerStream<std::string> text;
  Result<JobEnding> ending = JobEnding();
};

// Only ever reached when something is broken.
inline constexpr Nanos kFinishPatience = std::chrono::seconds(120);

/// Appends what is there of a stream; false at its end.
inline bool take_text(RunningJob& job, JobStream stream, std::string& into) {
  std::array<char, 65536> buffer;
  const auto got = job.read(stream, buffer);
  if (got) into.append(buffer.data(), *got);
  return got.has_value();
}

/// Reads everything until it has ended.
inline FinishedJob finish_job(RunningJob& job, const Clock& clock = SystemClock()) {
  FinishedJob finished;
  PerStream<bool> closed;
  bool ended = false;
  const auto limit = clock.now() + kFinishPatience;
  while (!(ended && all_of(closed)) && clock.now() < limit) {
    const JobReady ready = job.wait(limit, -1);
    for (const auto stream : kJobStreams) {
      if (ready.streams[stream]) closed[stream] = !take_text(job, stream, finished.text[stream]);
    }
    if (!ready.ended) continue;
    auto ending = job.ending();
    ended = !ending || ending->has_value();
    if (!ending) {
      finished.ending = std::move(ending).error();
    } else if (*ending) {
      finished.ending = **std::move(ending);
    }
  }
  EXPECT_TRUE(ended && all_of(closed)) << "it did not end";
  return finished;
}

/// Reads until `text` was there.
inline std::string await_text(RunningJob& job, JobStream stream, std::string_view text,
                              const Clock& clock = SystemClock()) {
  std::string all;
  const auto limit = clock.now() + kFinishPatience;
  while (all.find(text) == std::string::npos && clock.now() < limit) {
    if (job.wait(limit, -1).streams[stream] && !take_text(job, stream, all)) break;
  }
  return all;
}

}  // namespace assay
