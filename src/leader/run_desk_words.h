#pragma once

#include <string_view>

#include "base/result.h"
#include "model/run.h"

namespace assay {

/// Who closes runs that nobody else can.
inline constexpr std::string_view kLeaderOwner = "the leader";
/// What is said of a run that was stored without anybody to do it, when its leader was killed or found no room.
inline constexpr std::string_view kNeverGiven = "the leader was killed before it could give it to a node";

inline bool was_never_given(const Run& run) { return run.error && run.error->message == kNeverGiven; }

/// For who names a run that the desk has no job for.
Error no_such_job(std::string_view run);

/// Whether a run did what it was to do, whatever its figures are worth: what was to come after it may.
inline bool has_succeeded(Verdict verdict) {
  return verdict == Verdict::valid || verdict == Verdict::flagged || verdict == Verdict::invalid;
}

}  // namespace assay
