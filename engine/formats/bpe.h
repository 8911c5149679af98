#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay::engine {

/// Lets a map with text as its key be asked with a view.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};
using TextToId = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

/// A byte-pair encoding: how a word starts as symbols, and which neighbours are joined, best first.
struct BpeParts {
  struct Merge {
    std::int32_t left = 0;
    std::int32_t right = 0;
    std::int32_t result = 0;
  };
  /// Words start as bytes, of which `byte_ids` are the tokens. Otherwise they start as characters; one that
  /// `characters` lacks becomes the tokens of its bytes, where `byte_ids` has all of them, and else `unknown`.
  bool starts_as_bytes = true;
  std::array<std::int32_t, 256> byte_ids = none();  ///< −1: there is none
  std::unordered_map<char32_t, std::int32_t> characters;
  std::int32_t unknown = -1;  ///< −1: what has no token is left out
  bool fuse_unknown = false;  ///< neighbouring unknown characters become one token
  std::vector<Merge> merges;  ///< ids are not negative; of the same pair twice, the last counts
  TextToId whole_words;       ///< words that are a token whatever the merges make of them

  static constexpr std::array<std::int32_t, 256> none() {
    std::array<std::int32_t, 256> ids{};
    ids.fill(-1);
    return ids;
  }
};

/// Encodes words. Const and thread-safe; every thread keeps the words that it met lately (512 KiB in all).
class Bpe {
 public:
  explicit Bpe(BpeParts parts);

  /// Appends the tokens of `word` to `ids`. Joins the pair with the lowest rank, the leftmost of equals, until none is
  /// left. Takes O(n log n) whatever the word. Throws Failure `unsupported` for a word of 2 GiB or more.
  void encode(std::string_view word, std::vector<std::int32_t>& ids) const;

 private:
  /// A hash table of pairs, since that is where the time goes: one cache line per look-up.
  struct Slot {
    std::uint64_t pair = ~std::uint64_t{0};
    std::uint32_t rank = 0;
  };
  static constexpr std::uint32_t kNoRank = ~std::uint32_t{0};

  std::uint32_t rank_of(std::int32_t left, std::int32_t right) const;
  void encode_uncached(std::string_view word, std::vector<std::int32_t>& ids) const;
  void split_into_symbols(std::string_view word, std::vector<std::int32_t>& symbols) const;
  void join_few(std::vector<std::int32_t>& symbols) const;
  void join_many(std::vector<std::int32_t>& symbols) const;

  BpeParts parts_;
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::uint32_t cache_key_;  // tells the cached words of one encoding from those of another
};

}  // namespace assay::engine
