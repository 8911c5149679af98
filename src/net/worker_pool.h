#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace assay {

/// A fixed number of threads and a bounded queue of work for them. The destructor waits for the work that has begun
/// and for what is queued.
class WorkerPool {
 public:
  WorkerPool(std::size_t threads, std::size_t queue_limit);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  /// False if the queue is full. Any thread. `work` must not throw.
  bool submit(std::function<void()> work);
  /// However many wait: for work whose number something else bounds.
  void add(std::function<void()> work);

 private:
  void run();

  const std::size_t queue_limit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace assay
