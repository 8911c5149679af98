#include "net/worker_pool.h"

#include <utility>

namespace assay {

WorkerPool::WorkerPool(std::size_t threads, std::size_t queue_limit) : queue_limit_(queue_limit) {
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

bool WorkerPool::submit(std::size_t caller, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= queue_limit_) return false;
    queue_.push(caller, std::move(work));
  }
  changed_.notify_one();
  return true;
}

void WorkerPool::add(std::size_t caller, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push(caller, std::move(work));
  }
  changed_.notify_one();
}

void WorkerPool::run() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      work = queue_.pop();
    }
    work();
  }
}

}  // namespace assay
