#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

/// Bytes that were received and not yet understood. Grows at its end, is consumed from its front.
class InputBuffer {
 public:
  std::string_view view() const { return {bytes_.data() + start_, end_ - start_}; }
  std::size_t size() const { return end_ - start_; }
  bool empty() const { return start_ == end_; }

  /// Room for `count` more bytes behind what is there; valid until the next call.
  std::span<char> prepare(std::size_t count) {
    if (start_ > 0) {
      std::copy(bytes_.begin() + static_cast<std::ptrdiff_t>(start_),
                bytes_.begin() + static_cast<std::ptrdiff_t>(end_), bytes_.begin());
      end_ -= start_;
      start_ = 0;
    }
    if (bytes_.size() < end_ + count) bytes_.resize(end_ + count);
    return {bytes_.data() + end_, count};
  }
  /// The first `count` bytes of what `prepare` gave are filled.
  void commit(std::size_t count) { end_ += count; }
  void consume(std::size_t count) {
    start_ += count;
    if (start_ == end_) start_ = end_ = 0;
  }

 private:
  std::vector<char> bytes_;
  std::size_t start_ = 0;
  std::size_t end_ = 0;
};

}  // namespace assay
