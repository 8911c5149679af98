#include "loadgen/query_recorder.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/assert.h"

namespace assay {
namespace {

constexpr std::uint8_t kInFlight = 1;
constexpr std::uint64_t kMostPrepared = std::uint64_t{200} << 20;  // bytes

}  // namespace

QueryRecorder::QueryRecorder(const QueryRecorderOptions& options)
    : options_(options), blocks_(std::make_unique<std::atomic<QueryRecord*>[]>(kMostBlocks)) {
  mappings_.reserve(64);
  const std::uint64_t blocks = options.expected / kBlockRecords + 2;
  add_blocks(std::min(blocks, kMostPrepared / kBlockBytes));
}

QueryRecorder::~QueryRecorder() {
  for (const auto& mapping : mappings_) ::munmap(mapping.address, mapping.bytes);
}

bool QueryRecorder::add_blocks(std::uint64_t count) noexcept {
  if (blocks_ready_ + count > kMostBlocks) return false;
  // Populated here, so that no request waits for a page; the zeros that the kernel gives are records not issued.
  const std::size_t bytes = count * kBlockBytes;
  void* const address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (address == MAP_FAILED) return false;
  mappings_.push_back({address, bytes});
  auto* const records = static_cast<QueryRecord*>(address);
  for (std::uint64_t i = 0; i < count; ++i) {
    blocks_[blocks_ready_ + i].store(records + i * kBlockRecords, std::memory_order_release);
  }
  blocks_ready_ += count;
  return true;
}

void QueryRecorder::get_ready() noexcept {
  const std::uint64_t block = issued_.load(std::memory_order_relaxed) / kBlockRecords;
  if (block + 1 >= blocks_ready_) add_blocks(1);
}

bool QueryRecorder::take_down(std::span<const Request> requests, SteadyTime now) noexcept {
  const std::uint64_t first = issued_.load(std::memory_order_relaxed);
  while ((first + requests.size()) / kBlockRecords >= blocks_ready_) {
    if (!add_blocks(1)) return false;
  }
  const std::int64_t now_ns = (now - start_).count();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSAY_ASSERT(requests[i].id == first + i);
    QueryRecord& record = slot(first + i);
    record.scheduled_ns = (requests[i].scheduled - start_).count();
    record.sent_ns = now_ns;
    record.sample = requests[i].sample;
    std::atomic_ref(record.state).store(kInFlight, std::memory_order_relaxed);
  }
  issued_.store(first + requests.size(), std::memory_order_release);
  return true;
}

bool QueryRecorder::complete_one(const Completion& completion) noexcept {
  QueryRecord& record = slot(completion.id);
  std::atomic_ref state(record.state);
  if (state.load(std::memory_order_relaxed) != kInFlight) return false;
  if (completion.sent != SteadyTime()) record.sent_ns = (completion.sent - start_).count();
  if (completion.first_token != SteadyTime()) record.first_token_ns = (completion.first_token - start_).count();
  record.done_ns = (completion.done - start_).count();
  record.input_tokens = completion.input_tokens;
  record.output_tokens = completion.output_tokens;
  record.endpoint = completion.endpoint;
  record.error = completion.error;
  state.store(static_cast<std::uint8_t>(kEndedState + static_cast<std::uint8_t>(completion.outcome)),
              std::memory_order_release);
  if (options_.token_times && !completion.token_times.empty()) {
    tokens_.add(completion.id, completion.token_times);
  }
  if (options_.texts) {
    const std::lock_guard lock(texts_mutex_);
    texts_.emplace_back(completion.id, completion.text);
  }
  return true;
}

void QueryRecorder::complete(std::span<const Completion> completions) noexcept {
  const std::uint64_t issued = issued_.load(std::memory_order_acquire);
  std::uint32_t known = 0;
  for (const auto& completion : completions) {
    if (completion.id < issued && complete_one(completion)) {
      ++known;
    } else {
      faults_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  completions_.add(known);
}

const QueryRecord* QueryRecorder::ended(std::uint64_t id) const noexcept {
  if (id >= issued()) return nullptr;
  QueryRecord& record = slot(id);
  return std::atomic_ref(record.state).load(std::memory_order_acquire) >= kEndedState ? &record : nullptr;
}

bool QueryRecorder::adopt(const QueryRecord& record) noexcept {
  ASSAY_ASSERT(record.ended());
  const std::uint64_t id = issued_.load(std::memory_order_relaxed);
  while (id / kBlockRecords >= blocks_ready_) {
    if (!add_blocks(1)) return false;
  }
  slot(id) = record;
  issued_.store(id + 1, std::memory_order_release);
  completions_.add(1);
  return true;
}

std::uint64_t QueryRecorder::close() noexcept {
  std::uint64_t lost = 0;
  for (std::uint64_t id = 0; id < issued(); ++id) {
    QueryRecord& record = slot(id);
    std::atomic_ref state(record.state);
    if (state.load(std::memory_order_acquire) >= kEndedState) continue;
    record.done_ns = record.scheduled_ns;
    state.store(static_cast<std::uint8_t>(kEndedState + static_cast<std::uint8_t>(RequestOutcome::lost)),
                std::memory_order_release);
    ++lost;
  }
  return lost;
}

const QueryRecord& QueryRecorder::record(std::uint64_t id) const {
  ASSAY_ASSERT(id < issued());
  return slot(id);
}

}  // namespace assay
