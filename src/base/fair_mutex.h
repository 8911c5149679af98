#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

namespace assay {

/// A mutex that serves those who wait in the order in which they came. Whoever does long work in slices and lets go of
/// it in between lets everybody else through; a std::mutex would mostly give it back to the one who just had it.
class FairMutex {
 public:
  void lock() {
    std::unique_lock hold(mutex_);
    if (!held_) {
      held_ = true;
      return;
    }
    Waiting self;
    waiting_.push_back(&self);
    self.turn.wait(hold, [&] { return self.served; });
  }

  void unlock() {
    const std::lock_guard hold(mutex_);
    if (waiting_.empty()) {
      held_ = false;
      return;
    }
    Waiting* const next = waiting_.front();
    waiting_.pop_front();
    next->served = true;
    // Still under the lock: the one that is woken may be gone right after.
    next->turn.notify_one();
  }

  /// How many wait now.
  std::size_t waiting() const {
    const std::lock_guard hold(mutex_);
    return waiting_.size();
  }

 private:
  struct Waiting {
    std::condition_variable turn;
    bool served = false;
  };
  mutable std::mutex mutex_;
  std::deque<Waiting*> waiting_;
  bool held_ = false;
};

}  // namespace assay
