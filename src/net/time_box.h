#pragma once

#include <functional>
#include <memory>
#include <set>

#include "base/clock.h"
#include "net/io.h"

namespace assay {

class TimeBox;

/// All that a client has under way, so that it can be broken off at once.
struct TimeBoxes {
  std::set<TimeBox*> active;
  bool cancelled = false;
};

/// Breaks off an operation when its time is over, or when everything is cancelled. For one scope on the I/O thread.
class TimeBox {
 public:
  TimeBox(TimeBoxes& all, const IoExecutor& executor, SteadyTime deadline, std::function<void()> break_off);
  TimeBox(const TimeBox&) = delete;
  TimeBox& operator=(const TimeBox&) = delete;
  ~TimeBox();

  bool expired() const { return state_->expired; }
  void break_off_now();

 private:
  struct State {
    State(const IoExecutor& executor, std::function<void()> stop) : timer(executor), break_off(std::move(stop)) {}
    IoTimer timer;
    std::function<void()> break_off;
    bool expired = false;
  };

  TimeBoxes& all_;
  std::shared_ptr<State> state_;  ///< shared with the timer's handler, which may come after us
};

}  // namespace assay
