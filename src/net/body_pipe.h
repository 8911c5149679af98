#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/byte_stream.h"

namespace assay {

/// From the I/O thread, which receives the body of a request, to the worker whose handler reads it. Holds at most a
/// window and one piece: when it is full the I/O thread stops reading from the socket, and the client has to wait.
class BodyPipe final : public ByteSource {
 public:
  /// `wake` is called, on the handler's thread, whenever the pipe has become thirsty; it must not call back into it.
  BodyPipe(std::size_t window, std::optional<std::uint64_t> length, std::function<void()> wake);

  // The handler's side.
  /// Waits for bytes, and gives them in the pieces that they arrived in. Errors: `lost_peer` (the client left),
  /// `timeout` (it is too slow), `usage` (too large, or no valid HTTP), `interrupted` (the server stops, or the handler
  /// has already answered).
  Result<std::optional<std::string>> next() override;
  std::optional<std::uint64_t> length() const override { return length_; }

  // The I/O thread's side; none of it blocks.
  /// The handler has asked for bytes, and there is room for more. Nothing is received for who does not ask: a body
  /// that is refused unread need not be sent.
  bool thirsty() const;
  void push(std::string piece);
  void finish();
  /// What was pushed before is dropped. Only the first end counts.
  void fail(Error error);
  /// The handler has returned: `wake` is not called any more.
  void close();
  /// The handler was told of the failure.
  bool failure_seen() const;

 private:
  const std::size_t window_;
  const std::optional<std::uint64_t> length_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> wake_;
  std::deque<std::string> pieces_;
  std::size_t bytes_ = 0;  ///< in the pieces
  bool asked_ = false;
  bool finished_ = false;
  std::optional<Error> failure_;
  bool failure_seen_ = false;
};

}  // namespace assay
