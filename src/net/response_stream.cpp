#include "net/response_stream.h"

#include <utility>

#include "net/sse.h"

namespace assay {
namespace {

/// What is written bit by bit is sent in pieces of up to so many bytes.
constexpr std::size_t kGrowingBytes = std::size_t{64} << 10;

}  // namespace

bool ResponseStream::write(std::string_view bytes) {
  return add(bytes.size(), [&] {
    if (!growing_ || growing_->size() + bytes.size() > kGrowingBytes) {
      growing_ = std::make_shared<std::string>();
      queue_.push_back(growing_);
    }
    *growing_ += bytes;
  });
}

bool ResponseStream::write(Piece piece) {
  return add(piece->size(), [&] {
    growing_.reset();
    queue_.push_back(std::move(piece));
  });
}

bool ResponseStream::add(std::size_t bytes, const std::function<void()>& put) {
  std::function<void()> ended;
  {
    const std::lock_guard lock(mutex_);
    if (state_ != State::feeding) return false;
    if (bytes == 0) return true;
    const bool was_empty = queue_.empty();
    if (queued_bytes_ + bytes <= options_.queue_bytes) {
      queued_bytes_ += bytes;
      put();
      if (was_empty && wake_) wake_();
      return true;
    }
    ended = end_locked(State::cut_off);
    drop_queue();
  }
  if (ended) ended();
  return false;
}

void ResponseStream::drop_queue() {
  queue_.clear();
  growing_.reset();
  queued_bytes_ = 0;
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

ResponseStream::State ResponseStream::take(std::vector<Piece>& pieces) {
  const std::lock_guard lock(mutex_);
  pieces = std::exchange(queue_, {});
  drop_queue();
  return state_;
}

void ResponseStream::detach() {
  std::function<void()> ended;
  {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
    ended = end_locked(State::gone);
    drop_queue();
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

bool EventStream::send(const ServerEvent& event) { return stream_->write(format_event(event)); }

}  // namespace assay
