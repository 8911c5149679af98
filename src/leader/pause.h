#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "base/clock.h"

namespace assay {

/// Sleeps unless told to stop: false then.
inline bool pause_for(const std::stop_token& stop, Nanos period) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any().wait_for(lock, stop, period, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace assay
