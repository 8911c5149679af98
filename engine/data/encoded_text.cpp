#include "data/encoded_text.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "base/assert.h"
#include "formats/failure.h"

namespace assay::engine {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;

std::vector<std::string_view> cut_into_pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t length = text.size();
    if (length > kPieceBytes) {
      const std::size_t line_end = text.rfind('\n', kPieceBytes - 1);
      const bool cut_at_line = line_end != std::string_view::npos && line_end >= kPieceBytes / 4 * 3;
      length = cut_at_line ? line_end + 1 : character_start(text, kPieceBytes);
    }
    pieces.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return pieces;
}

/// Hands out the pieces in order to whoever asks, until enough tokens are there or an encoder failed.
class PieceQueue {
 public:
  PieceQueue(std::vector<std::string_view> pieces, const TextEncoder& encoder, std::int64_t most_tokens)
      : pieces_(std::move(pieces)), encoder_(encoder), most_tokens_(most_tokens), encoded_(pieces_.size()) {}

  std::size_t pieces() const { return pieces_.size(); }

  void work() {
    std::unique_lock lock(mutex_);
    while (next_ < pieces_.size() && tokens_ < most_tokens_ && !failure_) {
      const std::size_t mine = next_++;
      lock.unlock();
      std::vector<std::int32_t> tokens;
      std::exception_ptr failure;
      try {
        tokens = encoder_.encode_checked(pieces_[mine]);
        tokens.shrink_to_fit();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !failure_) failure_ = failure;
      tokens_ += std::ssize(tokens);
      encoded_[mine] = std::move(tokens);
    }
  }

  std::vector<std::vector<std::int32_t>> finish() {
    if (failure_) std::rethrow_exception(failure_);
    encoded_.resize(next_);
    return std::move(encoded_);
  }

 private:
  const std::vector<std::string_view> pieces_;
  const TextEncoder& encoder_;
  const std::int64_t most_tokens_;
  std::mutex mutex_;
  std::vector<std::vector<std::int32_t>> encoded_;
  std::size_t next_ = 0;
  std::int64_t tokens_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

std::vector<std::int32_t> TextEncoder::encode_checked(std::string_view text) const {
  std::vector<std::int32_t> tokens = encode(text);
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary) {
      throw Failure("bad_file", "the tokenizer '" + name + "' made token " + std::to_string(token) +
                                    ", but has a vocabulary of " + std::to_string(vocabulary));
    }
  }
  return tokens;
}

std::size_t character_start(std::string_view text, std::size_t position) {
  for (int i = 0; i < 3 && position < text.size(); ++i, ++position) {
    if ((static_cast<unsigned char>(text[position]) & 0xC0) != 0x80) break;
  }
  return std::min(position, text.size());
}

EncodedText::EncodedText(std::string_view text, const TextEncoder& encoder, std::int64_t most_tokens) {
  PieceQueue queue(cut_into_pieces(text), encoder, most_tokens);
  {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(cores, queue.pieces()); ++i) helpers.emplace_back([&queue] { queue.work(); });
    queue.work();
  }
  pieces_ = queue.finish();
  std::int64_t tokens = 0;
  for (const auto& piece : pieces_) {
    starts_.push_back(tokens);
    tokens += std::ssize(piece);
  }
  size_ = std::min(tokens, most_tokens);
}

void EncodedText::copy(std::int64_t first, std::span<std::int32_t> out) const {
  ASSAY_ASSERT(first >= 0 && first + std::ssize(out) <= size_);
  if (out.empty()) return;
  // The last piece that starts at or before `first`; the empty ones before it start there as well.
  auto piece = static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), first) - starts_.begin()) - 1;
  auto offset = static_cast<std::size_t>(first - starts_[piece]);
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), pieces_[piece].size() - offset);
    std::copy_n(pieces_[piece].begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
    out = out.subspan(count);
    ++piece;
    offset = 0;
  }
}

}  // namespace assay::engine
