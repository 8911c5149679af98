#include "loadgen/token_log.h"

#include <algorithm>
#include <cstdlib>

namespace assay {
namespace {

// An entry is a word (id + 1) << 16 | count, then `count` words gap_ns << 16 | tokens. A word of 0 where an entry would
// begin is room that was too small for one.
constexpr unsigned kLowBits = 16;
constexpr std::uint64_t kLowMask = (1u << kLowBits) - 1;
constexpr std::uint64_t kLargestGap = (std::uint64_t{1} << (64 - kLowBits)) - 1;  // 78 hours

}  // namespace

TokenLog::TokenLog() : blocks_(std::make_unique<std::atomic<std::uint64_t*>[]>(kMostBlocks)) {}

TokenLog::~TokenLog() {
  for (std::uint64_t i = 0; i < kMostBlocks; ++i) std::free(blocks_[i].load());
}

std::uint64_t* TokenLog::block(std::uint64_t index) noexcept {
  if (index >= kMostBlocks) return nullptr;
  std::uint64_t* found = blocks_[index].load(std::memory_order_acquire);
  if (found) return found;
  auto* const made = static_cast<std::uint64_t*>(std::calloc(kBlockWords, sizeof(std::uint64_t)));
  if (!made) return nullptr;
  if (blocks_[index].compare_exchange_strong(found, made, std::memory_order_acq_rel)) return made;
  std::free(made);
  return found;
}

void TokenLog::add(std::uint64_t id, std::span<const TokenArrival> arrivals) noexcept {
  arrivals = arrivals.first(std::min<std::size_t>(arrivals.size(), kLowMask));
  const std::uint64_t words = arrivals.size() + 1;
  std::uint64_t at = next_word_.fetch_add(words, std::memory_order_relaxed);
  // What would lie across the end of a block stays empty there and is taken from the next one.
  while (at % kBlockWords + words > kBlockWords) at = next_word_.fetch_add(words, std::memory_order_relaxed);
  std::uint64_t* const start = block(at / kBlockWords);
  if (!start) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::uint64_t* word = start + at % kBlockWords;
  *word++ = (id + 1) << kLowBits | arrivals.size();
  SteadyTime last = arrivals.empty() ? SteadyTime() : arrivals.front().at;
  for (const auto& arrival : arrivals) {
    const auto gap = static_cast<std::uint64_t>(std::max<std::int64_t>(0, (arrival.at - last).count()));
    *word++ = std::min(gap, kLargestGap) << kLowBits | std::min<std::uint64_t>(arrival.tokens, kLowMask);
    last = arrival.at;
  }
}

void TokenLog::for_each(const std::function<void(std::uint64_t, std::span<const Gap>)>& take) const {
  std::vector<Gap> gaps;
  const std::uint64_t end = next_word_.load(std::memory_order_acquire);
  for (std::uint64_t at = 0; at < end;) {
    const std::uint64_t* const start = blocks_[at / kBlockWords].load(std::memory_order_acquire);
    if (!start) {
      at = (at / kBlockWords + 1) * kBlockWords;
      continue;
    }
    const std::uint64_t head = start[at % kBlockWords];
    ++at;
    if (head == 0) continue;
    gaps.clear();
    const std::uint64_t count = head & kLowMask;
    for (std::uint64_t i = 1; i < count; ++i) {
      const std::uint64_t word = start[(at + i) % kBlockWords];
      gaps.push_back({static_cast<std::int64_t>(word >> kLowBits), static_cast<std::uint32_t>(word & kLowMask)});
    }
    at += count;
    take((head >> kLowBits) - 1, gaps);
  }
}

}  // namespace assay
