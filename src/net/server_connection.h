#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "net/body_pipe.h"
#include "net/fair_budget.h"
#include "net/http_server.h"
#include "net/input_buffer.h"
#include "net/io.h"
#include "net/pace.h"
#include "net/piece_budget.h"
#include "net/request_parser.h"
#include "net/response_head.h"
#include "net/response_stream.h"
#include "net/router.h"
#include "net/server_options.h"
#include "net/stream.h"
#include "net/worker_pool.h"

namespace assay {

// How much of a body is read from the socket at once.
inline constexpr std::size_t kBodyReadBytes = std::size_t{64} << 10;
// What of a streamed body waits for its handler: enough to keep a connection busy while a disk takes the last piece.
inline constexpr std::size_t kStreamWindow = std::size_t{256} << 10;
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

inline bool has_no_body(int status) { return status == 204 || status == 304 || status < 200; }

/// The threads that handlers run on.
struct WorkerPools {
  explicit WorkerPools(const ServerOptions& options);
  /// Not for the I/O thread.
  WorkerPool& of(const RouteOptions& options);
  /// Where the body of such a route's answer is pulled: each piece by itself, so never behind what takes minutes.
  WorkerPool& for_pieces(const RouteOptions& options);

  WorkerPool usual;
  WorkerPool urgent;
  WorkerPool slow;
  WorkerPool streams;
};

/// A part of something that all connections have together, given back when this object goes. I/O thread only.
class Share {
 public:
  Share() = default;
  /// Not granted where the parts would be more than the limit.
  Share(std::size_t& taken, std::size_t part, std::size_t limit);
  Share(Share&& other) noexcept : taken_(std::exchange(other.taken_, nullptr)), part_(other.part_) {}
  Share& operator=(Share&& other) noexcept;
  ~Share() { give_back(); }

  bool granted() const { return taken_ != nullptr; }
  void give_back();

 private:
  std::size_t* taken_ = nullptr;
  std::size_t part_ = 0;
};

/// What all connections of a server look at. Outlives them.
struct ServerShared {
  explicit ServerShared(const HttpLimits& its_limits) : limits(its_limits), bodies(its_limits.all_body_bytes) {}

  const HttpLimits limits;
  Router router;
  WorkerPools* workers = nullptr;      ///< none: every handler runs on the I/O thread
  bool stopping = false;               ///< I/O thread only
  std::atomic<bool> aborting = false;  ///< grace is over: handlers that have not begun are left out

  // Taken by requests that are under way; I/O thread only.
  FairBudget bodies;
  std::size_t unsent_bytes = 0;
  PieceBudget pieces;
  std::unordered_map<std::size_t, std::size_t> requests_of;  ///< by caller, as a hash

  /// The Date header, made once a second.
  std::string_view date();

 private:
  std::int64_t date_second_ = -1;
  std::string date_;
};

/// One client, from its first byte to its last. Everything but the handlers happens on the I/O thread.
class ServerConnection : public std::enable_shared_from_this<ServerConnection> {
 public:
  ServerConnection(ServerShared& shared, std::unique_ptr<Stream> stream, PeerAddress peer, bool tls);

  /// Serves until the client leaves, misbehaves or is too slow.
  IoTask<void> run();

  // Called between the steps of `run`:
  /// Breaks off what has taken too long. The server asks regularly: a timer for every operation would cost more.
  void check_deadline(SteadyTime now);
  /// An idle connection ends now, a stream is finished, a request in flight goes on.
  void begin_stop();
  void abort();
  const PeerAddress& peer() const { return peer_; }

 private:
  /// What a request holds of what all have together.
  struct Shares {
    Share turn;     ///< until the answer was sent
    Share stream;   ///< until it was handled
    FairPart body;  ///< until it was handled
  };
  /// What came of a request.
  struct Outcome {
    HttpResponse response;
    bool whole = false;  ///< nothing of its body is still to come: another request can follow
    bool over = false;   ///< nobody is there any more to be answered, or was told already
  };

  IoTask<bool> serve_one();
  IoTask<bool> read_head(RequestParser& parser);
  IoTask<bool> read_body(RequestParser& parser, std::size_t limit);
  IoTask<bool> read_more(std::size_t count);
  IoTask<bool> answer(RequestParser& parser, HttpRequest request, Router::Match match);
  IoTask<Outcome> handle(RequestParser& parser, HttpRequest& request, const Router::Match& match, Shares& shares);
  std::optional<HttpResponse> take_turn(const RouteOptions& options, Shares& shares);
  std::optional<HttpResponse> make_room(const RequestParser& parser, const RouteOptions& options, Shares& shares);
  HttpResponse refusal(int status, std::string_view message) const {
    return shared_.router.refusal(status, message, path_);
  }
  HttpResponse refusal_for_now(int status, std::string_view message) const;
  HttpResponse no_room(std::string_view message) const;
  std::size_t body_limit(const RouteOptions& options) const {
    const HttpLimits& limits = shared_.limits;
    return options.body_bytes.value_or(options.stream_body ? limits.streamed_body_bytes : limits.body_bytes);
  }
  IoTask<HttpResponse> run_handler(const Handler& handler, const RouteOptions& options, const HttpRequest& request);
  IoTask<Outcome> handle_streamed(RequestParser& parser, HttpRequest& request, const Router::Match& match);
  IoTask<bool> feed(RequestParser& parser, BodyPipe& pipe, const bool& answered);
  IoTask<bool> read_piece(Pace& pace, SteadyTime end = SteadyTime::max());
  HttpResponse call(const Handler& handler, const HttpRequest& request) const;
  IoTask<bool> send(const HttpResponse& response, bool keep_alive, bool head_only);
  IoTask<bool> send_pulled(HttpResponse& response, const HttpRequest& request, const RouteOptions& options,
                           ResponseFraming framing);
  void let_go(HttpResponse& response, const RouteOptions& options);
  /// The pieces are made by `workers`; none: on the I/O thread.
  IoTask<Result<void>> send_pieces(ByteSource& source, WorkerPool* workers, const ResponseFraming& framing);
  IoTask<Result<std::optional<std::string>>> pull(ByteSource& source, WorkerPool* workers);
  IoTask<bool> write_at_pace(std::string_view bytes, Pace& pace);
  IoTask<bool> send_stream(const HttpResponse& response, bool head_only, bool chunked);
  IoTask<bool> pump(ResponseStream& source, bool chunked);
  IoTask<bool> write_piece(std::string_view piece, bool chunked);
  IoTask<void> watch_client();
  /// False if the client does not take some of it for `write_time`, or all of it by `end`.
  IoTask<bool> write(std::string_view bytes, SteadyTime end = SteadyTime::max());
  IoTask<void> refuse(const Refusal& why);
  IoTask<void> say_goodbye();
  void allow(Nanos time) { deadline_ = std::chrono::steady_clock::now() + time; }
  void allow_forever() { deadline_ = SteadyTime::max(); }

  ServerShared& shared_;
  std::unique_ptr<Stream> stream_;
  PeerAddress peer_;
  bool tls_;
  InputBuffer input_;
  // Of the request under way:
  std::string path_;        ///< "/" as long as it is not known
  Admission admission_;     ///< what its route says of it
  std::size_t caller_ = 0;  ///< whose it is, as a hash
  Wakeup wakeup_;
  SteadyTime deadline_ = SteadyTime::max();
  bool expired_ = false;       ///< the deadline has broken off an operation
  bool waiting_idle_ = false;  ///< for the first byte of a request
  bool aborted_ = false;
  bool client_left_ = false;
  bool watching_ = false;
  bool reading_piece_ = false;  ///< of a streamed body: to be broken off when its handler answers
  std::shared_ptr<ResponseStream> streaming_;
};

}  // namespace assay
