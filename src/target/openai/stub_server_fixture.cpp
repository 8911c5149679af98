#include "target/openai/stub_server_fixture.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/json.h"

namespace assay {

const std::string kStubStreamHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

bool StubPeer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void StubPeer::stay_silent() {
  std::array<char, 4096> ignored{};
  while (!stopping_) {
    pollfd waiting{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 20) > 0 && ::recv(fd_.get(), ignored.data(), ignored.size(), 0) <= 0) return;
  }
}

void StubPeer::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

StubServer::StubServer(Handler handler, int backlog)
    : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), generic, length) != 0 || ::listen(listener_.get(), backlog) != 0 ||
      ::getsockname(listener_.get(), generic, &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

StubServer::~StubServer() {
  stopping_ = true;
  stop_listening();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
}

std::string StubServer::url() const { return fmt::format("http://127.0.0.1:{}/v1", port_); }

void StubServer::stop_listening() {
  listening_ = false;
  if (acceptor_.joinable()) acceptor_.join();
  listener_.reset();
}

void StubServer::accept_all() {
  while (listening_) {
    pollfd waiting{.fd = listener_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 10) <= 0) continue;
    FileDescriptor fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!fd) continue;
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ++connections_;
    const std::lock_guard lock(mutex_);
    open_.push_back(fd.get());
    threads_.emplace_back([this, peer = std::make_unique<StubPeer>(std::move(fd), stopping_)] {
      serve(*peer);
      const std::lock_guard gone(mutex_);
      std::erase(open_, peer->fd());
      // Its descriptor goes with the thread's own state, while nobody can take its number for another one's.
    });
  }
}

void StubServer::serve(StubPeer& peer) {
  std::string got;
  std::array<char, 16384> buffer{};
  for (;;) {
    const std::size_t end = got.find("\r\n\r\n");
    if (end != std::string::npos) {
      Request request{.head = got.substr(0, end), .body = {}};
      const std::size_t at = request.head.find("Content-Length: ");
      const std::size_t length =
          at == std::string::npos ? 0 : std::strtoul(request.head.c_str() + at + 16, nullptr, 10);
      if (got.size() >= end + 4 + length) {
        request.body = got.substr(end + 4, length);
        got.erase(0, end + 4 + length);
        ++requests_;
        if (!handler_(peer, request)) return static_cast<void>(::shutdown(peer.fd(), SHUT_WR));
        continue;
      }
    }
    const ssize_t size = ::recv(peer.fd(), buffer.data(), buffer.size(), 0);
    if (size <= 0) return;
    got.append(buffer.data(), static_cast<std::size_t>(size));
  }
}

std::string stub_event(std::string_view data) { return fmt::format("{:x}\r\ndata: {}\n\n\r\n", data.size() + 8, data); }

std::string stub_token(std::string_view text) {
  return stub_event(fmt::format(R"({{"choices":[{{"index":0,"delta":{{"content":"{}"}}}}]}})", text));
}

std::string stub_answer(int status, std::string_view body) {
  return fmt::format("HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
                     body.size(), body);
}

bool answer_well(StubPeer& peer, const StubServer::Request& request) {
  if (request.head.starts_with("GET /v1/models ")) {
    return peer.send(stub_answer(200, R"({"object":"list","data":[{"id":"m"},{"id":"other"}]})"));
  }
  const auto body = parse_json(request.body);
  if (!body || !request.head.starts_with("POST /v1/") || !body->is_object()) {
    return peer.send(stub_answer(404, R"({"error":{"message":"no such path"}})"));
  }
  const json::object& asked = body->get_object();
  const auto tokens = asked.contains("max_tokens") ? asked.at("max_tokens").to_number<int>() : 4;
  const std::string usage = fmt::format(R"("usage":{{"prompt_tokens":3,"completion_tokens":{}}})", tokens);
  if (!asked.at("stream").as_bool()) {
    return peer.send(stub_answer(200, fmt::format(R"({{"choices":[{{"message":{{"content":"word"}}}}],{}}})", usage)));
  }
  std::string stream = kStubStreamHead;
  for (int i = 0; i < tokens; ++i) stream += stub_token("word ");
  stream += stub_event("{\"choices\":[]," + usage + "}") + stub_event("[DONE]") + "0\r\n\r\n";
  return peer.send(stream);
}

}  // namespace assay
