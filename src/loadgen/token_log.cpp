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

std::uint64_t word_of(std::int64_t gap_ns, std::uint32_t tokens) {
  const auto gap = static_cast<std::uint64_t>(std::max<std::int64_t>(0, gap_ns));
  return std::min(gap, kLargestGap) << kLowBits | std::min<std::uint64_t>(tokens, kLowMask);
}

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

std::uint64_t* TokenLog::entry(std::uint64_t id, std::size_t arrivals) noexcept {
  const std::uint64_t words = arrivals + 1;
  std::uint64_t at = next_word_.fetch_add(words, std::memory_order_relaxed);
  // What would lie across the end of a block stays empty there and is taken from the next one.
  while (at % kBlockWords + words > kBlockWords) at = next_word_.fetch_add(words, std::memory_order_relaxed);
  std::uint64_t* const start = block(at / kBlockWords);
  if (!start) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  std::uint64_t* const head = start + at % kBlockWords;
  *head = (id + 1) << kLowBits | arrivals;
  return head + 1;
}

void TokenLog::add(std::uint64_t id, std::span<const TokenArrival> arrivals) noexcept {
  arrivals = arrivals.first(std::min<std::size_t>(arrivals.size(), kLowMask));
  std::uint64_t* word = entry(id, arrivals.size());
  if (!word) return;
  SteadyTime last = arrivals.empty() ? SteadyTime() : arrivals.front().at;
  for (const auto& arrival : arrivals) {
    *word++ = word_of((arrival.at - last).count(), arrival.tokens);
    last = arrival.at;
  }
}

void TokenLog::add_gaps(std::uint64_t id, std::span<const Gap> gaps) noexcept {
  gaps = gaps.first(std::min<std::size_t>(gaps.size(), kLowMask - 1));
  std::uint64_t* word = entry(id, gaps.size() + 1);
  if (!word) return;
  *word++ = word_of(0, 1);  // the first arrival, which has no gap before it
  for (const auto& gap : gaps) *word++ = word_of(gap.ns, gap.tokens);
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
