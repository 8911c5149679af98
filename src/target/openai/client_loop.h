#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "base/files.h"
#include "requests/request_set.h"
#include "target/openai/answer_scan.h"
#include "target/openai/balancer.h"
#include "target/openai/link.h"
#include "target/openai/openai_options.h"
#include "target/openai/request_queue.h"
#include "target/openai/request_writer.h"
#include "target/target.h"

namespace assay {

/// An endpoint as loops see it.
struct ServerPlace {
  ServerAddress address;
  std::string host;
  std::shared_ptr<TlsClient> tls;  ///< null: plain
};

/// What all loops of a target share. Outlives them.
struct LoopContext {
  OpenAiOptions options;
  std::shared_ptr<const RequestSet> requests;
  std::vector<ServerPlace> places;  ///< one for each of the options' endpoints
  Outstanding outstanding;
  CompletionSink* sink = nullptr;
  TargetWishes wishes;
  std::uint32_t connections_per_loop = 1;
};

/// What a loop has seen. Read after the loop has ended.
struct LoopCounts {
  struct Endpoint {
    std::uint64_t requests = 0;
    std::uint64_t ok = 0;
    std::uint64_t failed = 0;
    std::uint64_t connections = 0;
  };
  std::vector<Endpoint> endpoints;
  std::uint64_t resent = 0;              ///< on a new connection, since a kept one had been closed by the server
  std::uint64_t retried = 0;             ///< by `retries`
  std::uint64_t waited = 0;              ///< for a connection: more were wanted than may be open
  std::uint64_t unasked = 0;             ///< connections on which bytes came that nobody had asked for
  std::uint64_t counted = 0;             ///< answers whose tokens the server counted
  std::uint64_t estimated = 0;           ///< answers whose tokens are the number of chunks
  std::uint64_t cut_short = 0;           ///< answers that ended without a word that they have
  std::uint64_t cache_input_tokens = 0;  ///< of the answers that say what the prefix cache had
  std::uint64_t cached_tokens = 0;       ///< and what it had of them
  std::array<std::uint64_t, kFinishReasons> finish_reasons{};  ///< of answers
  std::map<std::string, std::uint64_t> problems;               ///< what went wrong, in words, for the first few kinds
};

/// One thread that sends requests and reads answers: epoll, connections that never block, nothing shared but the queue
/// in and the sink out. A first token has the time at which the system said that bytes had come, before anything of
/// that round was read or parsed.
class ClientLoop {
 public:
  /// Starts the thread. `context` outlives this.
  static Result<std::unique_ptr<ClientLoop>> start(LoopContext& context);
  /// Stops, too.
  ~ClientLoop();

  /// Hands a request over; never blocks. False where too many are waiting. One thread at a time.
  bool push(const Request& request) { return queue_.push(request); }
  /// After one or several pushes.
  void wake();
  /// Cancels what is under way, reports it, ends the thread. Takes no longer than that: nothing in the loop blocks.
  void stop();

  int thread_id() const { return thread_id_.load(); }
  const LoopCounts& counts() const { return counts_; }

 private:
  struct Connection;
  struct Pending {
    Request request;
    unsigned attempts = 0;
    SteadyTime acted{};  ///< when a connection was opened for it, or it was first written to one
    bool fresh = false;  ///< only on a new connection
    std::uint16_t endpoint = 0;
  };
  struct Delayed {
    SteadyTime until;
    Pending pending;
    bool operator<(const Delayed& other) const { return until > other.until; }
  };

  ClientLoop(LoopContext& context, FileDescriptor poll, FileDescriptor alarm);
  void run();
  void sleep_and_serve();
  void take_requests();
  void serve_waiting();
  void sweep(SteadyTime now);
  void cancel_all();

  void place_request(Pending pending);
  bool try_send(const Pending& pending);
  Connection* free_connection(std::size_t endpoint, bool fresh);
  Connection* open_connection(std::size_t endpoint);
  void begin(Connection& connection, const Pending& pending);

  void serve(Connection& connection, std::uint32_t events);
  void go_on_connecting(Connection& connection);
  void write_out(Connection& connection);
  void read_in(Connection& connection);
  void answered(Connection& connection, bool extra_bytes);
  void refused(Connection& connection, bool extra_bytes);
  void failed(Connection& connection, RequestError error, const std::string& problem);
  void release(Connection& connection, bool reusable);
  void close(Connection& connection);
  void watch(Connection& connection, bool for_writing);

  void report(const Connection& connection, RequestOutcome outcome, RequestError error);
  void report_unsent(const Pending& pending, RequestOutcome outcome);
  void send_report(const Completion& completion);
  void flush();
  void note_problem(const std::string& problem);
  SteadyTime deadline_of(const Request& request) const;

  LoopContext& context_;
  FileDescriptor poll_;
  FileDescriptor alarm_;
  RequestQueue queue_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int> thread_id_{0};

  Balancer balancer_;
  std::vector<RequestWriter> writers_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> unused_;  ///< closed, to be opened again
  std::vector<Connection*> closed_;  ///< in this round: events of it may still name them
  std::vector<std::vector<Connection*>> idle_;
  std::vector<std::deque<Pending>> waiting_;
  std::size_t waiting_count_ = 0;
  std::priority_queue<Delayed> delayed_;
  std::uint32_t open_ = 0;
  std::uint32_t busy_ = 0;
  SteadyTime woke_{};
  SteadyTime next_sweep_{};
  Nanos sweep_period_;
  std::vector<char> buffer_;
  PromptRequest scratch_;
  std::vector<Completion> reports_;
  LoopCounts counts_;
  std::thread thread_;
};

}  // namespace assay
