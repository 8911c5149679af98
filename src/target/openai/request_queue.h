#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "target/target.h"

namespace assay {

/// Requests on their way from the dispatcher to an event loop: one thread pushes, one thread pops, neither waits for
/// the other, whatever that one is doing. Grows in blocks, up to a limit.
class RequestQueue {
 public:
  explicit RequestQueue(std::size_t most) : most_(most), head_(new Block), tail_(head_) {}
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;
  ~RequestQueue() {
    while (head_) delete std::exchange(head_, head_->next.load(std::memory_order_relaxed));
  }

  /// False where so many are waiting that this one has no place. The pushing thread alone.
  bool push(const Request& request) {
    if (pushed_ - popped_.load(std::memory_order_relaxed) >= most_) return false;
    const std::size_t at = tail_->filled.load(std::memory_order_relaxed);
    tail_->requests[at] = request;
    if (at + 1 == kBlock) {
      auto* fresh = new Block;
      // The block is handed over whole before it counts as full: the reader follows `next` then.
      tail_->next.store(fresh, std::memory_order_relaxed);
      tail_->filled.store(kBlock, std::memory_order_release);
      tail_ = fresh;
    } else {
      tail_->filled.store(at + 1, std::memory_order_release);
    }
    ++pushed_;
    return true;
  }

  /// False where nothing is waiting. The popping thread alone.
  bool pop(Request& into) {
    if (taken_ == kBlock) {
      delete std::exchange(head_, head_->next.load(std::memory_order_relaxed));
      taken_ = 0;
    }
    if (taken_ == head_->filled.load(std::memory_order_acquire)) return false;
    into = head_->requests[taken_++];
    popped_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  /// The popping thread alone.
  bool empty() const {
    if (taken_ < kBlock) return taken_ == head_->filled.load(std::memory_order_acquire);
    const Block* next = head_->next.load(std::memory_order_relaxed);
    return next->filled.load(std::memory_order_acquire) == 0;
  }

 private:
  static constexpr std::size_t kBlock = 512;
  struct Block {
    std::array<Request, kBlock> requests;
    std::atomic<std::size_t> filled{0};
    std::atomic<Block*> next{nullptr};
  };

  std::size_t most_;
  Block* head_;  ///< of the popping thread
  std::size_t taken_ = 0;
  alignas(64) Block* tail_;  ///< of the pushing thread
  std::size_t pushed_ = 0;
  alignas(64) std::atomic<std::size_t> popped_{0};
};

}  // namespace assay
