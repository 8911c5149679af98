#include "net/body_pipe.h"

#include <utility>

namespace assay {

BodyPipe::BodyPipe(std::size_t window, std::optional<std::uint64_t> length, std::function<void()> wake)
    : window_(window), length_(length), wake_(std::move(wake)) {}

Result<std::optional<std::string>> BodyPipe::next() {
  std::unique_lock lock(mutex_);
  if (!std::exchange(asked_, true) && wake_) wake_();
  changed_.wait(lock, [this] { return !pieces_.empty() || finished_ || failure_; });
  if (failure_) {
    failure_seen_ = true;
    return *failure_;
  }
  if (pieces_.empty()) return std::optional<std::string>();
  std::optional<std::string> piece = std::move(pieces_.front());
  pieces_.pop_front();
  const bool was_full = bytes_ >= window_;
  bytes_ -= piece->size();
  if (was_full && bytes_ < window_ && wake_) wake_();
  return piece;
}

bool BodyPipe::thirsty() const {
  const std::lock_guard lock(mutex_);
  return asked_ && bytes_ < window_ && !finished_ && !failure_;
}

void BodyPipe::push(std::string piece) {
  {
    const std::lock_guard lock(mutex_);
    bytes_ += piece.size();
    pieces_.push_back(std::move(piece));
  }
  changed_.notify_one();
}

void BodyPipe::finish() {
  {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  changed_.notify_one();
}

void BodyPipe::fail(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (finished_ || failure_) return;
    failure_ = std::move(error);
    pieces_.clear();
    bytes_ = 0;
  }
  changed_.notify_one();
}

void BodyPipe::close() {
  fail({.kind = ErrorKind::interrupted, .message = "the request was answered already"});
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
}

bool BodyPipe::failure_seen() const {
  const std::lock_guard lock(mutex_);
  return failure_seen_;
}

}  // namespace assay
