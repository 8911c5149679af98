#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

/// Reads the data of server-sent events (text/event-stream) piece by piece, wherever the pieces are cut. Names, ids and
/// comments are passed over; an event that lies whole in the bytes is handed out without copying it. Pure. Memory: at
/// most twice `limit`. Not thread-safe. (`SseParser` of src/net gives whole events; this one is for millions a second.)
class SseReader {
 public:
  explicit SseReader(std::size_t limit = std::size_t{1} << 20) : limit_(limit) {}

  enum class Event {
    more,  ///< every byte is taken, and more are needed
    data,  ///< `data()` is that of the next event
    error  ///< a line or an event is longer than the limit; final
  };
  /// Takes bytes off the front of `bytes`, up to the next event.
  Event next(std::string_view& bytes);
  /// The stream has ended. `data`: there was an event without the blank line that ends it, which careless servers leave
  /// out behind their last one.
  Event finish();
  void reset();

  std::string_view data() const { return data_; }  ///< valid until the next call; lines are separated by '\n'

 private:
  bool take_line(std::string_view& bytes, std::string_view& line);
  bool take_field(std::string_view line);

  std::size_t limit_;
  std::string carry_;  ///< the start of a line that the last piece ended in
  bool clear_carry_ = false;
  std::string event_;  ///< data of an event that has not ended
  bool has_data_ = false;
  bool after_return_ = false;  ///< the last byte was CR: an LF now belongs to it
  bool at_start_ = true;
  bool failed_ = false;
  std::string_view data_;
};

}  // namespace assay
