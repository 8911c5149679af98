#include "net/response_stream.h"

#include <utility>

namespace assay {

bool ResponseStream::write(std::string_view bytes) {
  std::function<void()> ended;
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::feeding) return false;
    if (bytes.empty()) return true;
    const bool was_empty = queue_.empty();
    if (queue_.size() + bytes.size() <= options_.queue_bytes) {
      queue_ += bytes;
      if (was_empty && wake_) wake_();
      return true;
    }
    ended = end_locked(State::cut_off);
    queue_.clear();
  }
  if (ended) ended();
  return false;
}

void ResponseStream::finish() {
  std::function<void()> ended;
  {
    const std::lock_guard lock(mutex_);
    ended = end_locked(State::finished);
  }
  if (ended) ended();
}

ResponseStream::State ResponseStream::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool ResponseStream::open() const { return state() == State::feeding; }

void ResponseStream::on_end(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::feeding) {
      on_end_ = std::move(callback);
      return;
    }
  }
  callback();
}

void ResponseStream::attach(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(wake);
}

ResponseStream::State ResponseStream::take(std::string& bytes) {
  const std::lock_guard lock(mutex_);
  bytes = std::exchange(queue_, {});
  return state_;
}

void ResponseStream::detach() {
  std::function<void()> ended;
  {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
    ended = end_locked(State::gone);
    queue_.clear();
  }
  if (ended) ended();
}

std::function<void()> ResponseStream::end_locked(State state) {
  if (state_ != State::feeding) return nullptr;
  state_ = state;
  if (wake_) wake_();
  return std::exchange(on_end_, nullptr);
}

EventStream::EventStream(std::size_t queue_bytes, Nanos heartbeat_period)
    : stream_(std::make_shared<ResponseStream>(ResponseStream::Options{
          .queue_bytes = queue_bytes, .heartbeat = ":\n\n", .heartbeat_period = heartbeat_period})) {}

}  // namespace assay
