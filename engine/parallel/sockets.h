#pragma once

#include <chrono>
#include <string>
#include <utility>

namespace assay::engine {

/// A file descriptor that is closed with its owner.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int number) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Fd() { close(); }

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }
  void close();

 private:
  int number_ = -1;
};

/// Listens on 127.0.0.1 if `address` is this machine's loopback, else on all interfaces. Port 0: a free one.
/// Non-blocking. Throws Failure `busy` (port in use) or `io`.
Fd listen_on(const std::string& address, int port);

/// Tries until `deadline`, since the other side may not be listening yet; non-blocking once connected.
/// Invalid if that failed, and `problem` says why.
Fd connect_to(const std::string& address, int port, std::chrono::steady_clock::time_point deadline,
              std::string& problem);

/// Invalid if nobody waits.
Fd accept_from(const Fd& listening);

/// Two ends of a connection within this process, non-blocking. Throws Failure `io`.
std::pair<Fd, Fd> local_pair();

int port_of(int listening);
/// The numeric address of this end; empty where there is none.
std::string local_address_of(const Fd& connection);
bool is_loopback(const std::string& address);
std::string this_host();

}  // namespace assay::engine
