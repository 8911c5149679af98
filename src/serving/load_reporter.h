#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

#include "serving/live_figures.h"

namespace assay {

/// What to do about a load while it goes on. Called on the reporter's thread. False: the load has to end.
struct LoadWatch {
  /// Once a second: what this client did since the last time; `since` the start, `lasted` the moment.
  std::function<bool(const LiveMoment& moment, Nanos since, Nanos lasted)> moment;
  /// Some fifty times a second; may be empty.
  std::function<bool()> go_on = {};
};

/// Looks at a load once a second until it is destroyed, on a thread of its own.
class LoadReporter {
 public:
  LoadReporter(QueryRecorder& recorder, std::vector<LatencyLimit> limits, LoadWatch watch);
  /// The start is agreed: from then on there is something to look at, even before the first request.
  void begin(SteadyTime start) { start_.store(start); }
  /// Returns when nothing is called any more.
  void finish();

  std::stop_source stop_load;

 private:
  void speak(const std::stop_token& ending);

  LiveFigures figures_;
  QueryRecorder& recorder_;
  LoadWatch watch_;
  std::atomic<SteadyTime> start_{SteadyTime()};
  std::jthread thread_;
};

}  // namespace assay
