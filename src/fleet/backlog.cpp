#include "fleet/backlog.h"

#include <utility>

#include "base/assert.h"

namespace assay {

void Backlog::add(const Batch& batch, Nanos made) {
  ASSAY_ASSERT(kept_.empty() || kept_.back().sequence < batch.sequence);
  Kept kept{.sequence = batch.sequence, .samples = batch.samples.size(), .made = made, .bytes = encode_batch(batch)};
  while (!kept_.empty() && bytes_ + kept.bytes.size() > limit_bytes_) {
    overflowed_ += kept_.front().samples;
    drop_oldest();
  }
  bytes_ += kept.bytes.size();
  samples_ += kept.samples;
  kept_.push_back(std::move(kept));
}

void Backlog::drop_oldest() {
  bytes_ -= kept_.front().bytes.size();
  samples_ -= kept_.front().samples;
  kept_.pop_front();
}

Backlog::Body Backlog::body(std::size_t batches, std::size_t bytes) const {
  Body body;
  for (const auto& kept : kept_) {
    if (body.batches > 0 && (body.batches == batches || body.bytes.size() + kept.bytes.size() > bytes)) break;
    append_framed(body.bytes, kept.bytes);
    body.last_sequence = kept.sequence;
    body.samples += kept.samples;
    ++body.batches;
  }
  return body;
}

std::uint64_t Backlog::forget_up_to(std::uint64_t sequence) {
  const std::uint64_t before = samples_;
  while (!kept_.empty() && kept_.front().sequence <= sequence) drop_oldest();
  return before - samples_;
}

void Backlog::name_all(std::vector<SeriesName> names, std::vector<DeviceFacts> devices) {
  if (kept_.empty()) return;
  auto batch = decode_batch(kept_.front().bytes);
  ASSAY_ASSERT(batch.ok());  // these are our own bytes
  batch->first_series = 0;
  batch->series = std::move(names);
  batch->devices = std::move(devices);
  bytes_ -= kept_.front().bytes.size();
  kept_.front().bytes = encode_batch(*batch);
  bytes_ += kept_.front().bytes.size();
}

}  // namespace assay
