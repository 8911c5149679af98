#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace assay {

struct ServerEvent;

/// A bounded pipe from whoever has news (any thread) to one client. A handler makes one, hands a copy of the pointer
/// to its feeder, and returns `HttpResponse::streaming(stream, type)`. Feeding never blocks: a client whose queue is
/// full is cut off, since one slow reader must not hold up the others nor eat the memory.
class ResponseStream {
 public:
  struct Options {
    std::size_t queue_bytes = std::size_t{1} << 20;
    std::string heartbeat;  ///< sent when nothing else was for `heartbeat_period`; finds out that a client is gone
    Nanos heartbeat_period = std::chrono::seconds(15);
  };
  explicit ResponseStream(Options options) : options_(std::move(options)) {}
  ResponseStream() : ResponseStream(Options{}) {}

  /// Bytes that may wait for several clients at once.
  using Piece = std::shared_ptr<const std::string>;

  /// Queues bytes. False: the client is gone, was cut off (now or earlier), or the stream was finished.
  bool write(std::string_view bytes);
  /// The same without a copy.
  bool write(Piece piece);
  /// The client gets what is queued and then a proper end.
  void finish();
  /// Still worth feeding.
  bool open() const;
  /// Called once when the stream is over, whoever ended it; at once if it is over already. On any thread, must not
  /// block.
  void on_end(std::function<void()> callback);

  // The server's side.
  const Options& options() const { return options_; }
  /// `wake` is called whenever there is something to take; it must not call back into this object.
  void attach(std::function<void()> wake);
  enum class State {
    feeding,   ///< more may come
    finished,  ///< what is left is all there is
    cut_off,   ///< the client was too slow
    gone,      ///< the client left
  };
  State state() const;
  /// Moves everything that is queued into `pieces`, none of them empty.
  State take(std::vector<Piece>& pieces);
  /// The connection is over. `wake` is not called any more once this has returned.
  void detach();

 private:
  /// Makes room for so many bytes and has `put` add them, or cuts the client off.
  bool add(std::size_t bytes, const std::function<void()>& put);
  void drop_queue();
  /// Ends the stream if it is open; the callbacks to run afterwards, without the lock.
  std::function<void()> end_locked(State state);

  const Options options_;
  mutable std::mutex mutex_;
  State state_ = State::feeding;
  std::vector<Piece> queue_;
  std::size_t queued_bytes_ = 0;
  std::shared_ptr<std::string> growing_;  ///< the last of the queue, where short writes are put together
  std::function<void()> wake_;
  std::function<void()> on_end_;
};

/// Server-sent events over a ResponseStream. Copyable; all copies feed the same client.
class EventStream {
 public:
  explicit EventStream(std::size_t queue_bytes = std::size_t{1} << 20,
                       Nanos heartbeat_period = std::chrono::seconds(15));

  bool send(const ServerEvent& event);
  /// One that `format_event` has made, for several clients at once.
  bool send(ResponseStream::Piece event) { return stream_->write(std::move(event)); }
  bool open() const { return stream_->open(); }
  void finish() { stream_->finish(); }
  void on_end(std::function<void()> callback) { stream_->on_end(std::move(callback)); }
  const std::shared_ptr<ResponseStream>& stream() const { return stream_; }

 private:
  std::shared_ptr<ResponseStream> stream_;
};

}  // namespace assay
