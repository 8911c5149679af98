#include "agent/outbox.h"

#include <algorithm>

#include "base/log.h"

namespace assay {
namespace {

Parcel pack(std::string stream, bool simulated, bool spooled) {
  return {.stream = std::move(stream), .simulated = simulated, .body = {}, .spooled = spooled};
}

void add_to(Parcel& parcel, std::uint64_t sequence, std::string_view bytes) {
  if (parcel.batches++ == 0) parcel.first_sequence = sequence;
  parcel.last_sequence = sequence;
  append_framed(parcel.body, bytes);
}

}  // namespace

Outbox::Outbox(OutboxOptions options, Spool spool)
    : options_(std::move(options)),
      spool_(std::move(spool)),
      stream_{.id = options_.stream, .simulated = options_.simulated, .names = {}, .devices = {}} {}

void Outbox::push(const Batch& batch) {
  std::string bytes = encode_batch(batch);
  {
    const std::lock_guard lock(mutex_);
    stream_.names.insert(stream_.names.end(), batch.series.begin(), batch.series.end());
    if (batch.devices) stream_.devices = batch.devices;
    ++counts_.pushed;
    if (bytes.size() > options_.largest_batch) {
      ++counts_.given_up;
      log_warning("a batch of {} is too large to send and was dropped",
                  format_bytes({static_cast<std::int64_t>(bytes.size())}));
      return;
    }
    memory_bytes_ += bytes.size();
    memory_.push_back({.sequence = batch.sequence, .bytes = std::move(bytes)});
    while (memory_.size() > options_.memory_batches || (memory_bytes_ > options_.memory_bytes && memory_.size() > 1)) {
      spill_oldest();
    }
  }
  changed_.notify_all();
}

void Outbox::spill_oldest() {
  spool_.append(stream_, memory_.front());
  memory_bytes_ -= memory_.front().bytes.size();
  memory_.pop_front();
}

bool Outbox::empty() const {
  const std::lock_guard lock(mutex_);
  return memory_.empty() && spool_.empty();
}

bool Outbox::wait(SteadyTime deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return woken_ || !memory_.empty() || !spool_.empty(); });
  return !std::exchange(woken_, false) && !(memory_.empty() && spool_.empty());
}

void Outbox::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

std::optional<Parcel> Outbox::next(const ParcelLimits& limits) {
  const std::lock_guard lock(mutex_);
  if (auto parcel = next_spooled(limits)) return parcel;
  if (memory_.empty()) return std::nullopt;
  Parcel parcel = pack(options_.stream, options_.simulated, false);
  for (const auto& waiting : memory_) {
    if (parcel.batches == limits.batches) break;
    if (parcel.batches > 0 && parcel.body.size() + waiting.bytes.size() > limits.bytes) break;
    const bool names = parcel.batches == 0 && limits.name_all;
    add_to(parcel, waiting.sequence, names ? with_all_names(waiting.bytes, stream_) : waiting.bytes);
  }
  return parcel;
}

std::optional<Parcel> Outbox::next_spooled(const ParcelLimits& limits) {
  if (spool_.empty()) return std::nullopt;
  const auto found = spool_.read(limits.bytes);
  if (!found) return std::nullopt;
  Parcel parcel = pack(found->stream, found->simulated, true);
  for (const auto& waiting : found->batches) {
    if (parcel.batches == limits.batches) break;
    const bool names = parcel.batches == 0 && limits.name_all;
    add_to(parcel, waiting.sequence, names ? with_all_names(waiting.bytes, spool_.stream_at_front()) : waiting.bytes);
  }
  return parcel;
}

/// Batches that went to the spool while they were on their way are found there.
std::size_t Outbox::forget(std::string_view stream, std::uint64_t sequence) {
  std::size_t count = spool_.acknowledge(stream, sequence);
  while (stream == options_.stream && !memory_.empty() && memory_.front().sequence <= sequence) {
    memory_bytes_ -= memory_.front().bytes.size();
    memory_.pop_front();
    ++count;
  }
  return count;
}

void Outbox::acknowledge(std::string_view stream, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  counts_.acknowledged += forget(stream, sequence);
}

void Outbox::give_up(std::string_view stream, std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  counts_.given_up += forget(stream, sequence);
}

void Outbox::spill() {
  const std::lock_guard lock(mutex_);
  while (!memory_.empty()) spill_oldest();
}

OutboxCounts Outbox::counts() const {
  const std::lock_guard lock(mutex_);
  OutboxCounts counts = counts_;
  counts.overflowed = spool_.counts().overflowed;
  counts.unwritten = spool_.counts().unwritten;
  counts.in_memory = memory_.size();
  counts.spool_bytes = spool_.bytes();
  return counts;
}

}  // namespace assay
