#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "target/openai/answer_scan.h"
#include "target/openai/http_reader.h"
#include "target/openai/sse_reader.h"
#include "target/target.h"

namespace assay {

/// Reads one answer after the other from the bytes of a connection: HTTP, server-sent events, chunks of a completion.
/// Pure: times are handed in with the bytes. Memory is bounded whatever a server sends: 64 kB of head, 16 MB of an
/// answer that is not streamed, one event, 24 bytes for each moment at which tokens came where those are wanted. Not
/// thread-safe.
class AnswerReader {
 public:
  AnswerReader(bool token_times, bool texts) : token_times_(token_times), texts_(texts) {}

  enum class State {
    more,      ///< more bytes are needed
    complete,  ///< the answer is whole, and good
    failed     ///< see `error` and `problem`; the connection cannot be used again
  };
  /// Takes bytes that were read at `at`, up to the end of the answer.
  State take(std::string_view& bytes, SteadyTime at);
  /// The connection has ended.
  State finish(SteadyTime at);
  /// The next answer.
  void begin();

  bool begun() const { return http_.begun(); }
  bool said_done() const { return said_done_; }                ///< `[DONE]` has come: nothing of it is missing
  bool keep_alive() const { return http_.head().keep_alive; }  ///< after `complete` or a refusal
  RequestError error() const { return error_; }
  const std::string& problem() const { return problem_; }
  /// After `failed`: the server has answered, and said no. The connection can be used again if `keep_alive`.
  bool refused() const { return refused_; }
  /// How long the server asked to be left alone; 0: it did not.
  Nanos retry_after() const { return std::chrono::seconds(http_.head().retry_after_s); }

  SteadyTime first_token() const { return first_token_; }
  SteadyTime done() const { return done_; }
  std::uint32_t output_tokens() const { return output_tokens_; }
  std::uint32_t input_tokens() const { return input_tokens_; }  ///< 0: the server did not say
  /// Of the input, found in the server's prefix cache; nothing: the server did not say.
  std::optional<std::uint32_t> cached_tokens() const { return cached_tokens_; }
  bool counted() const { return counted_; }  ///< `output_tokens` is the server's number, not that of the chunks
  /// After `complete`: a stream that ended in good order without a word that it has: it may have been cut short.
  bool cut_short() const { return mode_ == Mode::events && !said_done_ && !finished_; }
  FinishReason finish_reason() const { return finish_reason_; }
  std::span<const TokenArrival> token_times() const { return arrivals_; }
  std::string_view text() const { return text_; }

 private:
  enum class Mode { head, events, whole, refusal };

  State fail(RequestError error, std::string problem);
  void choose_mode();
  bool take_piece(std::string_view piece, SteadyTime at);
  bool take_event(std::string_view data, SteadyTime at);
  void note_finish(const AnswerPart& part);
  void note_usage(const AnswerPart& part);
  void note_tokens(const AnswerPart& part, SteadyTime at);
  State conclude(SteadyTime at, bool by_closing);
  State conclude_refusal();
  bool conclude_whole();
  void spread_tokens();

  bool token_times_;
  bool texts_;
  HttpReader http_;
  SseReader sse_;
  Mode mode_ = Mode::head;
  std::string body_;  ///< of an answer that is not streamed, or the start of a refusal
  bool said_done_ = false;
  bool finished_ = false;
  FinishReason finish_reason_ = FinishReason::unknown;
  bool counted_ = false;
  bool refused_ = false;
  std::uint32_t chunks_ = 0;
  std::uint32_t output_tokens_ = 0;
  std::uint32_t input_tokens_ = 0;
  std::optional<std::uint32_t> cached_tokens_;
  SteadyTime first_token_{};
  SteadyTime done_{};
  std::vector<TokenArrival> arrivals_;
  std::vector<std::uint64_t> sizes_;  ///< bytes of text of each arrival
  std::string text_;
  RequestError error_ = RequestError::none;
  std::string problem_;
};

}  // namespace assay
