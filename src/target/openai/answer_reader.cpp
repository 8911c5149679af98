#include "target/openai/answer_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

constexpr std::size_t kMostWholeBytes = std::size_t{16} << 20;
constexpr std::size_t kMostRefusalBytes = 4096;
constexpr std::uint32_t kMostChunks = 1U << 20;
// English text: about four characters a token.
constexpr std::size_t kBytesPerToken = 4;

RequestError error_of_status(int status) {
  if (status == 429 || status == 503) return RequestError::overloaded;
  return status >= 500 ? RequestError::server : RequestError::rejected;
}

}  // namespace

void AnswerReader::begin() {
  http_.reset();
  sse_.reset();
  mode_ = Mode::head;
  body_.clear();
  said_done_ = finished_ = counted_ = refused_ = false;
  finish_reason_ = FinishReason::unknown;
  chunks_ = output_tokens_ = input_tokens_ = 0;
  cached_tokens_.reset();
  first_token_ = done_ = SteadyTime();
  arrivals_.clear();
  sizes_.clear();
  text_.clear();
  error_ = RequestError::none;
  problem_.clear();
}

AnswerReader::State AnswerReader::fail(RequestError error, std::string problem) {
  error_ = error;
  problem_ = std::move(problem);
  return State::failed;
}

AnswerReader::State AnswerReader::take(std::string_view& bytes, SteadyTime at) {
  for (;;) {
    switch (http_.next(bytes)) {
      case HttpReader::Event::more: return State::more;
      case HttpReader::Event::head: choose_mode(); break;
      case HttpReader::Event::body:
        if (!take_piece(http_.piece(), at)) return State::failed;
        break;
      case HttpReader::Event::end: return conclude(at, false);
      case HttpReader::Event::error: return fail(RequestError::malformed, std::string(http_.problem()));
    }
  }
}

AnswerReader::State AnswerReader::finish(SteadyTime at) {
  if (http_.finish() == HttpReader::Event::end) return conclude(at, true);
  if (said_done_) return conclude(at, true);
  return fail(RequestError::disconnected, std::string(http_.problem()));
}

void AnswerReader::choose_mode() {
  const HttpHead& head = http_.head();
  if (head.status >= 300) {
    mode_ = Mode::refusal;
  } else {
    mode_ = head.event_stream ? Mode::events : Mode::whole;
  }
}

bool AnswerReader::take_piece(std::string_view piece, SteadyTime at) {
  if (mode_ == Mode::events) {
    for (;;) {
      switch (sse_.next(piece)) {
        case SseReader::Event::more: return true;
        case SseReader::Event::error: fail(RequestError::malformed, "an event is too long"); return false;
        case SseReader::Event::data:
          if (!take_event(sse_.data(), at)) return false;
      }
    }
  }
  if (mode_ == Mode::whole) {
    if (body_.size() + piece.size() > kMostWholeBytes) {
      fail(RequestError::malformed, "the answer is too long");
      return false;
    }
    body_ += piece;
  } else {
    body_ += piece.substr(0, kMostRefusalBytes - std::min(kMostRefusalBytes, body_.size()));
  }
  return true;
}

bool AnswerReader::take_event(std::string_view data, SteadyTime at) {
  if (said_done_) return true;
  if (data == "[DONE]") {
    said_done_ = true;
    done_ = at;
    return true;
  }
  const auto part = scan_answer(data);
  if (!part) {
    fail(RequestError::malformed, "an event is no JSON object");
    return false;
  }
  if (part->failed) {
    std::string words = "the stream says: ";
    append_unescaped(part->message, words);
    fail(RequestError::malformed, std::move(words));
    return false;
  }
  if (part->has_tokens()) {
    if (++chunks_ > kMostChunks) {
      fail(RequestError::malformed, "the answer has too many chunks");
      return false;
    }
    note_tokens(*part, at);
  }
  note_usage(*part);
  note_finish(*part);
  return true;
}

void AnswerReader::note_finish(const AnswerPart& part) {
  if (!part.finished) return;
  finished_ = true;
  finish_reason_ = finish_reason_of(part.finish_reason);
}

void AnswerReader::note_usage(const AnswerPart& part) {
  if (part.output_tokens) {
    output_tokens_ = *part.output_tokens;
    counted_ = true;
  }
  if (part.input_tokens) input_tokens_ = *part.input_tokens;
  if (part.cached_tokens) cached_tokens_ = part.cached_tokens;
}

void AnswerReader::note_tokens(const AnswerPart& part, SteadyTime at) {
  if (first_token_ == SteadyTime()) first_token_ = at;
  if (texts_) append_unescaped(part.text, text_);
  if (!token_times_) return;
  // A server that counts along with each chunk says how many tokens this one carries.
  const bool counts_along = part.output_tokens && *part.output_tokens > output_tokens_;
  const std::uint32_t tokens = counts_along ? *part.output_tokens - output_tokens_ : 1;
  const std::uint64_t size = std::max<std::uint64_t>(part.text.size() + part.thinking.size(), 1);
  if (!arrivals_.empty() && arrivals_.back().at == at) {
    arrivals_.back().tokens += tokens;
    sizes_.back() += size;
  } else {
    arrivals_.push_back({.at = at, .tokens = tokens});
    sizes_.push_back(size);
  }
}

AnswerReader::State AnswerReader::conclude(SteadyTime at, bool by_closing) {
  if (done_ == SteadyTime()) done_ = at;
  if (mode_ == Mode::refusal) return conclude_refusal();
  if (mode_ == Mode::whole) {
    if (!conclude_whole()) return State::failed;
  } else {
    if (sse_.finish() == SseReader::Event::data && !take_event(sse_.data(), at)) return State::failed;
    if (by_closing && !said_done_ && !finished_) {
      return fail(RequestError::disconnected, "the connection ended before the answer did");
    }
    if (!counted_) output_tokens_ = chunks_;
  }
  if (output_tokens_ == 0) return fail(RequestError::empty, "the answer has no token");
  if (token_times_) spread_tokens();
  return State::complete;
}

AnswerReader::State AnswerReader::conclude_refusal() {
  refused_ = true;
  const int status = http_.head().status;
  const auto part = scan_answer(body_);
  std::string words;
  if (part && part->failed) {
    append_unescaped(part->message, words);
  } else {
    words = body_;
  }
  return fail(error_of_status(status), fmt::format("HTTP {}: {}", status, words.substr(0, 300)));
}

bool AnswerReader::conclude_whole() {
  const auto part = scan_answer(body_);
  if (!part || (!part->has_choices && !part->failed)) {
    fail(RequestError::malformed, "the answer is no completion");
    return false;
  }
  if (part->failed) {
    std::string words = "the answer says: ";
    append_unescaped(part->message, words);
    fail(RequestError::malformed, std::move(words));
    return false;
  }
  note_usage(*part);
  note_finish(*part);
  if (texts_) append_unescaped(part->text, text_);
  if (!counted_ && part->has_tokens()) {
    output_tokens_ = static_cast<std::uint32_t>((part->text.size() + part->thinking.size()) / kBytesPerToken + 1);
  }
  return true;
}

/// Makes the numbers of tokens at each moment add up to the server's own: chunks of several tokens are told from their
/// length. The first moment has one at least, since a token was seen then.
void AnswerReader::spread_tokens() {
  std::uint64_t seen = 0;
  std::uint64_t bytes = 0;
  for (const TokenArrival& arrival : arrivals_) seen += arrival.tokens;
  for (const std::uint64_t size : sizes_) bytes += size;
  if (arrivals_.empty() || seen == output_tokens_) return;
  const std::uint64_t to_spread = output_tokens_ - 1;
  const auto share = [&](std::uint64_t passed) {
    return static_cast<std::uint64_t>(static_cast<double>(to_spread) * static_cast<double>(passed) /
                                      static_cast<double>(bytes));
  };
  std::uint64_t passed = 0;
  std::uint64_t given = 0;
  for (std::size_t i = 0; i < arrivals_.size(); ++i) {
    passed += sizes_[i];
    const std::uint64_t upto = i + 1 == arrivals_.size() ? to_spread : share(passed);
    arrivals_[i].tokens = static_cast<std::uint32_t>(upto - given + (i == 0 ? 1 : 0));
    given = upto;
  }
  std::erase_if(arrivals_, [](const TokenArrival& arrival) { return arrival.tokens == 0; });
}

}  // namespace assay
