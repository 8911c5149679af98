#pragma once

#include <string>
#include <string_view>

#include "launch/launcher.h"

namespace assay {

/// What a job said, and how it ended; for tests.
struct FollowedEnd {
  PerStream<std::string> text;
  Result<JobEnding> ending = Error{.kind = ErrorKind::timeout, .message = "it did not end"};
};

/// Reads until it has ended and every stream has; with `until`, until that was said.
inline FollowedEnd follow(RunningJob& job, std::string_view until = {}) {
  FollowedEnd end;
  PerStream<bool> closed;
  bool ended = false;
  // Only ever reached when something is broken.
  const auto limit = SystemClock().now() + std::chrono::seconds(90);
  while (SystemClock().now() < limit) {
    const auto ready = job.wait(limit, -1);
    for (const auto stream : kJobStreams) {
      std::array<char, 65536> buffer;
      if (!ready.streams[stream]) continue;
      const auto got = job.read(stream, buffer);
      if (got) end.text[stream].append(buffer.data(), *got);
      closed[stream] = !got;
    }
    if (!until.empty() && end.text[JobStream::out].find(until) != std::string::npos) return end;
    if (ready.ended) {
      auto ending = job.ending();
      ended = !ending || ending->has_value();
      if (!ending) end.ending = ending.error();
      if (ending && *ending) end.ending = **ending;
    }
    if (ended && closed.values == std::array{true, true, true}) return end;
  }
  return end;
}

}  // namespace assay
