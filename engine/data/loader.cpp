#include "data/loader.h"

#include <algorithm>

#include "base/assert.h"

namespace assay::engine {
namespace {

// Below this, waking a second worker takes longer than it saves.
constexpr std::int64_t kLeastPartBytes = 64 << 10;

}  // namespace

Loader::Loader(const Dataset& dataset, const SampleOrder& order, const LoaderOptions& options)
    : dataset_(dataset), order_(order), options_(options) {
  ASSAY_ASSERT(options.held >= 1 && options.rows >= 1 && options.micro_batches >= 1);
  ASSAY_ASSERT(options.rank >= 0 && options.rank < options.ranks);
  ASSAY_ASSERT(order.global_batch() == options.ranks * options.rows * options.micro_batches);
  next_number_ = options.first_step * options.micro_batches;
  const bool ahead = options.workers > 0 && options.prefetch > 0;
  const std::int64_t buffers = options.held + (ahead ? options.prefetch : 0);
  for (std::int64_t i = 0; i < buffers; ++i) {
    buffers_.push_back(make_buffer());
    free_.push_back(static_cast<std::size_t>(i));
  }
  if (!ahead) return;
  for (std::int64_t i = 0; i < options.workers; ++i) {
    workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

Loader::~Loader() {
  // All at once; the destructors of the threads would stop one after the other.
  for (auto& worker : workers_) worker.request_stop();
}

Loader::Buffer Loader::make_buffer() const {
  Buffer buffer;
  buffer.batch = allocate_batch(dataset_.shape(), options_.rows, options_.pinned);
  const std::int64_t worthwhile = options_.rows * dataset_.shape().bytes_per_sample() / kLeastPartBytes;
  const std::int64_t most = std::max<std::int64_t>(1, std::min(options_.workers, options_.rows));
  const std::int64_t parts = std::clamp<std::int64_t>(worthwhile, 1, most);
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::int64_t first = options_.rows * i / parts;
    const std::int64_t rows = options_.rows * (i + 1) / parts - first;
    buffer.parts.push_back(
        {{buffer.batch.inputs.narrow(0, first, rows), buffer.batch.targets.narrow(0, first, rows)}, first});
  }
  return buffer;
}

void Loader::fill(std::int64_t number, Part& part) const {
  const std::int64_t step = number / options_.micro_batches;
  const std::int64_t micro_batch = number % options_.micro_batches;
  const std::int64_t first_row = (options_.rank * options_.micro_batches + micro_batch) * options_.rows;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(part.rows.inputs.size(0)));
  order_.indices(step, first_row + part.first_row, indices);
  dataset_.fill(indices, part.rows);
}

Loader::Loaded Loader::deliver(std::size_t buffer) {
  ++held_;
  const std::int64_t number = buffers_[buffer].number;
  return {buffers_[buffer].batch, number / options_.micro_batches, number % options_.micro_batches, buffer};
}

Loader::Loaded Loader::prepare_here() {
  const std::size_t buffer = free_.back();
  buffers_[buffer].number = next_number_;
  try {
    for (auto& part : buffers_[buffer].parts) fill(next_number_, part);
  } catch (...) {
    error_ = std::current_exception();
    throw;
  }
  free_.pop_back();
  ++next_number_;
  return deliver(buffer);
}

Loader::Loaded Loader::next() {
  std::unique_lock lock(mutex_);
  ASSAY_ASSERT(held_ < options_.held);
  if (error_) std::rethrow_exception(error_);
  if (workers_.empty()) return prepare_here();
  part_done_.wait(lock, [&] { return !ahead_.empty() && buffers_[ahead_.front()].unfinished_parts == 0; });
  const std::size_t buffer = ahead_.front();
  if (buffers_[buffer].error) {
    error_ = buffers_[buffer].error;
    std::rethrow_exception(error_);
  }
  ahead_.pop_front();
  if (buffers_[buffer].parts.size() > 1) {
    part_to_do_.notify_all();
  } else {
    part_to_do_.notify_one();
  }
  return deliver(buffer);
}

void Loader::recycle(const Loaded& loaded) {
  const std::lock_guard lock(mutex_);
  ASSAY_ASSERT(held_ > 0 && std::find(free_.begin(), free_.end(), loaded.buffer) == free_.end());
  --held_;
  free_.push_back(loaded.buffer);
}

bool Loader::part_to_do() const {
  if (!ahead_.empty()) {
    const Buffer& last = buffers_[ahead_.back()];
    if (parts_begun_ < last.parts.size()) return true;
    if (last.error) return false;  // nobody will ask for what comes after it
  }
  return std::ssize(ahead_) < options_.prefetch;
}

void Loader::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (part_to_do_.wait(lock, stop, [&] { return part_to_do(); }) && !stop.stop_requested()) {
    if (ahead_.empty() || parts_begun_ == buffers_[ahead_.back()].parts.size()) {
      // One is free: of the prefetch + held buffers fewer than `prefetch` are ahead, at most `held` with the caller.
      ahead_.push_back(free_.back());
      free_.pop_back();
      parts_begun_ = 0;
      Buffer& begun = buffers_[ahead_.back()];
      begun.number = next_number_++;
      begun.unfinished_parts = begun.parts.size();
    }
    Buffer& buffer = buffers_[ahead_.back()];
    Part& part = buffer.parts[parts_begun_++];
    lock.unlock();
    std::exception_ptr error;
    try {
      fill(buffer.number, part);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) buffer.error = error;
    if (--buffer.unfinished_parts == 0) part_done_.notify_one();
  }
}

}  // namespace assay::engine
