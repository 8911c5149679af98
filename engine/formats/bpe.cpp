#include "formats/bpe.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "formats/failure.h"
#include "formats/unicode.h"

namespace assay::engine {
namespace {

/// Below this, looking at every pair again beats a heap.
constexpr std::size_t kFew = 24;

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 32) * 0x9E3779B97F4A7C15U;
  value = (value ^ value >> 29) * 0xBF58476D1CE4E5B9U;
  return value ^ value >> 32;
}

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

/// The tokens of short words, in one cache line each; a newer word takes the place of an older one.
class WordCache {
 public:
  struct alignas(64) Entry {
    std::uint32_t key = 0;  // 0: empty
    std::uint8_t length = 0;
    std::uint8_t count = 0;
    std::array<char, 26> text{};
    std::array<std::int32_t, 8> ids{};
  };
  static bool takes(std::string_view word) { return word.size() <= std::tuple_size_v<decltype(Entry::text)>; }

  Entry& entry_for(std::uint32_t key, std::string_view word) {
    std::uint64_t hash = key ^ (std::uint64_t{word.size()} << 32);
    for (std::size_t i = 0; i < word.size(); i += 8) {
      std::uint64_t part = 0;
      std::memcpy(&part, word.data() + i, std::min<std::size_t>(8, word.size() - i));
      hash = mixed(hash ^ part);
    }
    return entries_[hash % kEntries];
  }
  static bool holds(const Entry& entry, std::uint32_t key, std::string_view word) {
    return entry.key == key && std::string_view(entry.text.data(), entry.length) == word;
  }
  static void keep(Entry& entry, std::uint32_t key, std::string_view word, const std::int32_t* ids, std::size_t count) {
    if (count > entry.ids.size()) return;
    entry.key = key;
    entry.length = static_cast<std::uint8_t>(word.size());
    entry.count = static_cast<std::uint8_t>(count);
    std::copy(word.begin(), word.end(), entry.text.begin());
    std::copy_n(ids, count, entry.ids.begin());
  }

 private:
  static constexpr std::size_t kEntries = 8192;
  std::vector<Entry> entries_ = std::vector<Entry>(kEntries);
};

std::uint32_t next_cache_key() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

}  // namespace

Bpe::Bpe(BpeParts parts) : parts_(std::move(parts)), cache_key_(next_cache_key()) {
  slots_.resize(std::bit_ceil(std::max<std::size_t>(16, parts_.merges.size() * 2)));
  for (std::size_t rank = 0; rank < parts_.merges.size(); ++rank) {
    const std::uint64_t pair = pair_key(parts_.merges[rank].left, parts_.merges[rank].right);
    std::size_t at = mixed(pair) & (slots_.size() - 1);
    while (slots_[at].pair != Slot{}.pair && slots_[at].pair != pair) at = (at + 1) & (slots_.size() - 1);
    slots_[at] = {pair, static_cast<std::uint32_t>(rank)};
  }
}

std::uint32_t Bpe::rank_of(std::int32_t left, std::int32_t right) const {
  const std::uint64_t pair = pair_key(left, right);
  for (std::size_t at = mixed(pair) & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].pair == pair) return slots_[at].rank;
    if (slots_[at].pair == Slot{}.pair) return kNoRank;
  }
}

void Bpe::encode(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (word.empty()) return;
  if (!WordCache::takes(word)) return encode_uncached(word, ids);
  thread_local WordCache cache;
  WordCache::Entry& entry = cache.entry_for(cache_key_, word);
  if (WordCache::holds(entry, cache_key_, word)) {
    ids.insert(ids.end(), entry.ids.begin(), entry.ids.begin() + entry.count);
    return;
  }
  const std::size_t before = ids.size();
  encode_uncached(word, ids);
  WordCache::keep(entry, cache_key_, word, ids.data() + before, ids.size() - before);
}

void Bpe::encode_uncached(std::string_view word, std::vector<std::int32_t>& ids) const {
  if (const auto found = parts_.whole_words.find(word); found != parts_.whole_words.end()) {
    ids.push_back(found->second);
    return;
  }
  if (word.size() > std::numeric_limits<std::int32_t>::max()) {
    throw Failure("unsupported", "a word of 2 GiB or more cannot be tokenized", "Cut the text into smaller pieces.");
  }
  std::vector<std::int32_t> symbols;
  split_into_symbols(word, symbols);
  if (symbols.size() <= kFew) {
    join_few(symbols);
  } else {
    join_many(symbols);
  }
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

void Bpe::split_into_symbols(std::string_view word, std::vector<std::int32_t>& symbols) const {
  symbols.reserve(word.size());
  bool after_unknown = false;
  const auto add_unknown = [&] {
    if (parts_.unknown >= 0 && !(after_unknown && parts_.fuse_unknown)) symbols.push_back(parts_.unknown);
    after_unknown = true;
  };
  const auto byte_id = [&](char byte) { return parts_.byte_ids[static_cast<unsigned char>(byte)]; };
  const auto has_byte = [&](char byte) { return byte_id(byte) >= 0; };

  for (std::size_t at = 0, length = 1; at < word.size(); at += length) {
    const Char next = parts_.starts_as_bytes ? Char{} : first_char(word.substr(at));
    length = next.length;
    const std::string_view bytes = word.substr(at, length);
    const auto found = parts_.starts_as_bytes ? parts_.characters.end() : parts_.characters.find(next.code);
    if (found != parts_.characters.end()) {
      symbols.push_back(found->second);
      after_unknown = false;
    } else if (std::all_of(bytes.begin(), bytes.end(), has_byte)) {
      std::transform(bytes.begin(), bytes.end(), std::back_inserter(symbols), byte_id);
      after_unknown = false;
    } else {
      add_unknown();
    }
  }
}

void Bpe::join_few(std::vector<std::int32_t>& symbols) const {
  std::array<std::uint32_t, kFew> ranks{};  // of the pair that starts here
  std::size_t pairs = symbols.empty() ? 0 : symbols.size() - 1;
  for (std::size_t i = 0; i < pairs; ++i) ranks[i] = rank_of(symbols[i], symbols[i + 1]);
  while (pairs > 0) {
    const auto best = std::min_element(ranks.begin(), ranks.begin() + pairs);
    if (*best == kNoRank) break;
    const auto at = static_cast<std::size_t>(best - ranks.begin());
    symbols[at] = parts_.merges[*best].result;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    std::copy(best + 1, ranks.begin() + pairs, best);
    --pairs;
    if (at > 0) ranks[at - 1] = rank_of(symbols[at - 1], symbols[at]);
    if (at < pairs) ranks[at] = rank_of(symbols[at], symbols[at + 1]);
  }
}

void Bpe::join_many(std::vector<std::int32_t>& symbols) const {
  constexpr std::int32_t kGone = -1;
  const auto size = static_cast<std::int32_t>(symbols.size());
  std::vector<std::int32_t> next(symbols.size());
  std::vector<std::int32_t> previous(symbols.size());
  // Rank above, position below: the smallest number is the next pair to join. A pair that is gone stays in the heap
  // until it comes up and does not fit any more.
  std::vector<std::uint64_t> found;
  const auto candidate = [&](std::int32_t at) -> std::uint64_t {
    const std::uint32_t rank = next[at] < size ? rank_of(symbols[at], symbols[next[at]]) : kNoRank;
    return std::uint64_t{rank} << 32 | static_cast<std::uint32_t>(at);
  };
  const auto joinable = [](std::uint64_t pair) { return pair >> 32 != kNoRank; };
  for (std::int32_t i = 0; i < size; ++i) {
    next[i] = i + 1;
    previous[i] = i - 1;
    if (const auto pair = candidate(i); joinable(pair)) found.push_back(pair);
  }
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> heap({}, std::move(found));

  while (!heap.empty()) {
    const BpeParts::Merge& merge = parts_.merges[heap.top() >> 32];
    const auto at = static_cast<std::int32_t>(heap.top() & 0xFFFFFFFFU);
    heap.pop();
    const std::int32_t right = next[at];
    if (symbols[at] != merge.left || right >= size || symbols[right] != merge.right) continue;
    symbols[at] = merge.result;
    symbols[right] = kGone;
    next[at] = next[right];
    if (next[at] < size) previous[next[at]] = at;
    if (const auto pair = candidate(at); joinable(pair)) heap.push(pair);
    if (previous[at] < 0) continue;
    if (const auto pair = candidate(previous[at]); joinable(pair)) heap.push(pair);
  }
  std::erase(symbols, kGone);
}

}  // namespace assay::engine
