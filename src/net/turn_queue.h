#pragma once

#include <cstddef>
#include <deque>
#include <unordered_map>
#include <utility>

namespace assay {

/// A queue in which callers take turns: whoever has put in many waits behind whoever has put in few. In order for each
/// caller. Not thread-safe.
template <typename T>
class TurnQueue {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  void push(std::size_t caller, T entry) {
    auto& own = waiting_[caller];
    if (own.empty()) turns_.push_back(caller);
    own.push_back(std::move(entry));
    ++size_;
  }
  /// Whose turn it is; of one that is not empty.
  const T& front() const { return waiting_.at(turns_.front()).front(); }
  T pop() {
    const std::size_t caller = turns_.front();
    turns_.pop_front();
    const auto own = waiting_.find(caller);
    T entry = std::move(own->second.front());
    own->second.pop_front();
    --size_;
    if (own->second.empty()) {
      waiting_.erase(own);
    } else {
      turns_.push_back(caller);
    }
    return entry;
  }
  /// Takes out an entry of that caller, if it is there.
  void remove(std::size_t caller, const T& entry) {
    const auto own = waiting_.find(caller);
    if (own == waiting_.end()) return;
    size_ -= std::erase(own->second, entry);
    if (!own->second.empty()) return;
    waiting_.erase(own);
    std::erase(turns_, caller);
  }

 private:
  std::unordered_map<std::size_t, std::deque<T>> waiting_;  ///< by caller; none is empty
  std::deque<std::size_t> turns_;                           ///< of the callers that wait
  std::size_t size_ = 0;
};

}  // namespace assay
