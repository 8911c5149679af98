#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "base/files.h"

namespace assay {

/// A client for tests that sends exactly the bytes it is told to. Reads give up after ten seconds: a test that would
/// hang fails instead.
class RawConnection {
 public:
  explicit RawConnection(std::uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (receive_buffer > 0) {
      ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
      // The other end has room for so many segments, which on loopback are 64 KiB each.
      const int segment = 536;
      ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  void end_sending() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }

  /// Everything until the server closes. `closed` tells whether it did.
  std::string read_all() {
    return read_while([](const std::string&) { return true; });
  }
  /// Until `text` has come (or the server closes).
  std::string read_until(std::string_view text) {
    return read_while([&](const std::string& got) { return got.find(text) == std::string::npos; });
  }
  /// At most so many bytes, once; waits for the first.
  void read_some(std::size_t most) {
    std::string ignored(most, '\0');
    (void)::recv(fd_.get(), ignored.data(), ignored.size(), 0);
  }
  bool closed() const { return closed_; }

 private:
  std::string read_while(const std::function<bool(const std::string&)>& more) {
    std::string got;
    std::array<char, 4096> buffer;
    while (more(got)) {
      const ssize_t size = ::recv(fd_.get(), buffer.data(), buffer.size(), 0);
      if (size <= 0) {
        closed_ = size == 0 || errno == ECONNRESET;
        break;
      }
      got.append(buffer.data(), static_cast<std::size_t>(size));
    }
    return got;
  }

  FileDescriptor fd_;
  bool connected_ = false;
  bool closed_ = false;
};

/// Waits until `condition` holds; false if it does not within a minute, which a busy machine may need.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

}  // namespace assay
