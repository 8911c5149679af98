#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/queued_run.h"

namespace assay {

/// "5 min": as nobody counts seconds of what is guessed.
std::string rough_time(Nanos time);
/// "now", "in 5 min – 12 min"; "-" where nobody can tell.
std::string start_text(std::optional<WallTime> expected, std::optional<WallTime> late, WallTime now);
/// The same for a run that waits: "soon" where what runs before it takes longer than expected.
std::string waiting_start_text(const QueuedRun& run, WallTime now);
/// "12 min ×/÷ 1.3"; a guess has a question mark.
std::string length_text(const ExpectedLength& length);
/// "gpu01, gpu02": the nodes of a run.
std::string with_further(const std::string& node, const std::vector<std::string>& further);
/// What a run does or waits for, for people: "waits for free GPUs, with 2 jobs before it; starts in 5 min – 12 min".
std::string sentence_of(const QueuedRun& run, WallTime now);

}  // namespace assay
