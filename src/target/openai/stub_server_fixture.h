#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/files.h"

namespace assay {

/// For tests: one connection of the stub.
class StubPeer {
 public:
  StubPeer(FileDescriptor fd, const std::atomic<bool>& stopping) : fd_(std::move(fd)), stopping_(stopping) {}

  /// False where the client is gone.
  bool send(std::string_view bytes);
  /// Until the server stops or the client hangs up.
  void stay_silent();
  /// Ends the connection with RST.
  void reset();
  bool stopping() const { return stopping_; }
  int fd() const { return fd_.get(); }

 private:
  FileDescriptor fd_;
  const std::atomic<bool>& stopping_;
};

/// For tests: a server on loopback with a thread for each connection, that does what its handler says, good or bad.
class StubServer {
 public:
  struct Request {
    std::string head;
    std::string body;
  };
  /// False: the connection ends.
  using Handler = std::function<bool(StubPeer&, const Request&)>;

  /// `backlog`: connections that the system takes before the server does.
  explicit StubServer(Handler handler, int backlog = 512);
  ~StubServer();

  std::string url() const;  ///< `http://127.0.0.1:1234/v1`
  int connections() const { return connections_; }
  int requests() const { return requests_; }
  /// No further connection is accepted.
  void stop_listening();

 private:
  void accept_all();
  void serve(StubPeer& peer);

  Handler handler_;
  FileDescriptor listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> listening_{true};
  std::atomic<int> connections_{0};
  std::atomic<int> requests_{0};
  std::mutex mutex_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// A good server: models `m` and `other`, completions of `max_tokens` tokens, streamed if asked for.
bool answer_well(StubPeer& peer, const StubServer::Request& request);
/// One event of a stream, as a chunk of the body.
std::string stub_event(std::string_view data);
/// A chunk of a chat or of a completion with that text.
std::string stub_token(std::string_view text);
/// An answer with a length.
std::string stub_answer(int status, std::string_view body);
extern const std::string kStubStreamHead;

}  // namespace assay
