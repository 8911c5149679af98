#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace assay {

/// Every place where a process can be made to die as by `kill -9`, so that a test can look at what it leaves behind:
/// with ASSAY_CRASH_AT=NAME in its environment at the first time that it comes there, with NAME:3 at the third. Each
/// stands between two things that are done for good. Tests go through this list, so that none is left out.
inline constexpr std::array<std::string_view, 36> kCrashPoints = {
    // A leader that is asked for a run or a study.
    "asked",
    "study-stored",
    "run-noted",
    "run-stored",
    "run-listed",
    "job-stored",
    "placed",
    "stop-stored",
    "hold-stored",
    "release-stored",
    "priority-stored",
    "retry-noted",
    "retry-listed",
    "retry-stored",
    "study-went-on",
    "dependent-stored",
    "job-removed",
    // Whoever keeps a run.
    "lease-stored",
    "starting-stored",
    "run-taken",
    "change-stored",
    "change-listed",
    "frames-stored",
    "artifact-stored",
    "run-in-trash",
    "run-removed",
    // An agent that does one.
    "job-taken",
    "workload-started",
    "workload-ended",
    "running-told",
    "frames-told",
    "artifacts-told",
    "end-told",
    "part-frames-told",
    "part-end-told",
    "job-done",
};

/// A name of the list; any other does not compile.
class CrashPoint {
 public:
  consteval CrashPoint(const char* name) : name_(name) {  // NOLINT: made from the text at the call
    if (std::find(kCrashPoints.begin(), kCrashPoints.end(), name_) == kCrashPoints.end()) throw "no such crash point";
  }
  constexpr std::string_view name() const { return name_; }

 private:
  std::string_view name_;
};

/// Dies here if that is wanted; costs a comparison otherwise. Any thread.
void crash_point(CrashPoint point);

}  // namespace assay
