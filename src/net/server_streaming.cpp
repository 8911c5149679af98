// How a ServerConnection sends what a ResponseStream is fed with.
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include "net/chunk.h"
#include "net/response_head.h"
#include "net/server_connection.h"

namespace assay {
namespace {

// What a client may send ahead while it is being streamed to.
constexpr std::size_t kReadAheadBytes = std::size_t{16} << 10;
// From here on, two writes more cost less than a copy.
constexpr std::size_t kFramedInPlace = std::size_t{64} << 10;

}  // namespace

IoTask<bool> ServerConnection::send_stream(const HttpResponse& response, bool head_only, bool chunked) {
  const auto source = response.stream;
  const ResponseFraming framing{.keep_alive = false, .chunked = chunked, .date = shared_.date()};
  const std::string head = format_response_head(response, framing);
  bool proper_end = co_await write(head);
  if (proper_end && !head_only && !aborted_) {
    streaming_ = source;
    source->attach([weak = weak_from_this(), executor = stream_->executor()] {
      asio::post(executor, [weak] {
        const auto self = weak.lock();
        if (!self) return;
        // A client that takes nothing would hold a write until its time is over.
        if (self->streaming_ && self->streaming_->state() == ResponseStream::State::cut_off) self->stream_->close();
        self->wakeup_.notify();
      });
    });
    if (shared_.stopping) source->finish();
    watching_ = true;
    asio::co_spawn(stream_->executor(), [self = shared_from_this()] { return self->watch_client(); }, asio::detached);
    proper_end = co_await pump(*source, chunked);
    streaming_.reset();
    stream_->cancel();
    while (watching_) co_await wakeup_.wait();
  }
  source->detach();
  co_return proper_end;
}

IoTask<bool> ServerConnection::pump(ResponseStream& source, bool chunked) {
  const auto& options = source.options();
  const bool beats = !options.heartbeat.empty();
  SteadyTime last = std::chrono::steady_clock::now();
  std::vector<ResponseStream::Piece> pieces;
  for (;;) {
    const auto state = source.take(pieces);
    if (client_left_ || state == ResponseStream::State::cut_off) co_return false;
    if (pieces.empty() && state != ResponseStream::State::feeding) {
      const std::string_view last_chunk = chunked ? kLastChunk : "";
      co_return co_await write(last_chunk);
    }
    if (pieces.empty()) {
      allow_forever();
      const SteadyTime next_beat = beats ? last + options.heartbeat_period : SteadyTime::max();
      co_await wakeup_.wait_until(next_beat);
      if (std::chrono::steady_clock::now() < next_beat) continue;
      pieces.push_back(std::make_shared<const std::string>(options.heartbeat));
    }
    for (auto& piece : pieces) {
      const bool sent = co_await write_piece(*piece, chunked);
      if (!sent) co_return false;
      piece.reset();
    }
    last = std::chrono::steady_clock::now();
  }
}

IoTask<bool> ServerConnection::write_piece(std::string_view piece, bool chunked) {
  if (!chunked) co_return co_await write(piece);
  if (piece.size() < kFramedInPlace) {
    const std::string framed = as_chunk(piece);
    co_return co_await write(framed);
  }
  const std::string head = chunk_head(piece.size());
  bool sent = co_await write(head);
  if (sent) sent = co_await write(piece);
  if (sent) sent = co_await write(kChunkEnd);
  co_return sent;
}

IoTask<void> ServerConnection::watch_client() {
  while (streaming_ && input_.size() < kReadAheadBytes) {
    const auto [error, got] = co_await stream_->read_some(input_.prepare(1024));
    if (!error) {
      input_.commit(got);
      continue;
    }
    client_left_ = client_left_ || streaming_;
    break;
  }
  watching_ = false;
  wakeup_.notify();
}

}  // namespace assay
