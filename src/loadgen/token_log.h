#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "target/target.h"

namespace assay {

/// The arrival of every token, for the time between tokens: 8 bytes per arrival and 8 per request. Any number of
/// threads add at the same time without locks; reading is for when none does any more.
class TokenLog {
 public:
  TokenLog();
  ~TokenLog();
  TokenLog(const TokenLog&) = delete;
  TokenLog& operator=(const TokenLog&) = delete;

  /// What is beyond the first 65,535 arrivals of a request is left out. Without memory nothing is kept, see `left_out`.
  void add(std::uint64_t id, std::span<const TokenArrival> arrivals) noexcept;

  /// Tokens that arrived together, and how long after the arrival before.
  struct Gap {
    std::int64_t ns;
    std::uint32_t tokens;
    bool operator==(const Gap&) const = default;
  };
  /// What `for_each` of another log gave.
  void add_gaps(std::uint64_t id, std::span<const Gap> gaps) noexcept;

  /// Calls `take` with each request and its gaps: one less than arrivals, since the first has none before it.
  void for_each(const std::function<void(std::uint64_t id, std::span<const Gap> gaps)>& take) const;
  std::uint64_t left_out() const { return left_out_.load(std::memory_order_relaxed); }  ///< requests

 private:
  static constexpr std::uint64_t kBlockWords = std::uint64_t{1} << 17;
  static constexpr std::uint64_t kMostBlocks = std::uint64_t{1} << 16;

  std::uint64_t* block(std::uint64_t index) noexcept;
  /// Room for the arrivals of a request, its head written; null where there is no memory.
  std::uint64_t* entry(std::uint64_t id, std::size_t arrivals) noexcept;

  std::unique_ptr<std::atomic<std::uint64_t*>[]> blocks_;
  std::atomic<std::uint64_t> next_word_{0};
  std::atomic<std::uint64_t> left_out_{0};
};

}  // namespace assay
