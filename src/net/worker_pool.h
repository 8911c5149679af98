#pragma once

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "net/turn_queue.h"

namespace assay {

/// A fixed number of threads and a bounded queue of work for them, in which callers take turns. The destructor waits
/// for the work that has begun and for what is queued.
class WorkerPool {
 public:
  WorkerPool(std::size_t threads, std::size_t queue_limit);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  /// False if the queue is full. Any thread. `work` must not throw.
  bool submit(std::size_t caller, std::function<void()> work);
  /// However many wait: for work whose number something else bounds.
  void add(std::size_t caller, std::function<void()> work);

 private:
  void run();

  const std::size_t queue_limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  TurnQueue<std::function<void()>> queue_;
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace assay
