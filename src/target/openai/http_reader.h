#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

struct HttpReaderLimits {
  std::size_t head_bytes = std::size_t{64} << 10;  ///< status line and header fields
  std::uint64_t body_bytes = std::uint64_t{256} << 20;
};

/// What a client of a load needs to know of an answer's head.
struct HttpHead {
  int status = 0;
  bool event_stream = false;        ///< Content-Type: text/event-stream
  bool keep_alive = false;          ///< the connection can be used again once the answer has ended
  std::uint32_t retry_after_s = 0;  ///< Retry-After in seconds; 0: not said
};

/// Reads HTTP/1.1 answers piece by piece, wherever the pieces are cut, and hands the body on without copying it. Pure:
/// no clock, no socket. What two programs could read in two ways is refused: two lengths, a length beside chunks,
/// folded fields, bare carriage returns in the head. Memory: at most `head_bytes`. Not thread-safe.
class HttpReader {
 public:
  explicit HttpReader(HttpReaderLimits limits = {}) : limits_(limits) {}

  enum class Event {
    more,  ///< every byte is taken, and more are needed
    head,  ///< `head()` is known
    body,  ///< `piece()` is a part of the body, not empty
    end,   ///< the answer is complete; what is left in `bytes` does not belong to it
    error  ///< see `problem()`; final
  };
  /// Takes bytes off the front of `bytes`, up to the next event.
  Event next(std::string_view& bytes);
  /// The connection has ended. `end`: the answer is complete (its end is the connection's), else `error`.
  Event finish();
  /// Gets ready for the next answer on the same connection.
  void reset();

  const HttpHead& head() const { return head_; }
  std::string_view piece() const { return piece_; }  ///< points into the bytes given to `next`
  std::string_view problem() const { return problem_; }
  /// Whether a byte of the answer has come.
  bool begun() const { return head_bytes_ > 0; }

 private:
  enum class State { head, sized, until_close, chunk_size, chunk_data, chunk_end, trailer, done, failed };

  Event fail(std::string_view problem);
  Event take_head(std::string_view& bytes);
  Event read_head(std::string_view text);
  bool read_status(std::string_view line);
  bool read_field(std::string_view line);
  bool read_length(std::string_view value);
  Event begin_body();
  Event take_data(std::string_view& bytes, State after);
  bool take_line(std::string_view& bytes, std::string_view& line);
  Event take_chunk_size(std::string_view& bytes);
  Event take_trailer(std::string_view& bytes);

  HttpReaderLimits limits_;
  State state_ = State::head;
  HttpHead head_;
  std::string carry_;  ///< the start of a head or line that the last piece ended in
  std::size_t head_bytes_ = 0;
  std::uint64_t body_bytes_ = 0;
  std::uint64_t left_ = 0;  ///< of the sized body or the chunk
  unsigned interim_ = 0;
  bool has_length_ = false;
  bool chunked_ = false;
  bool http_1_0_ = false;
  bool said_close_ = false;
  bool said_keep_ = false;
  std::string_view piece_;
  std::string_view problem_;
};

}  // namespace assay
