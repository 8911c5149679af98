#include "cluster_wire.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

namespace assay {
namespace {

constexpr std::size_t kPiece = std::size_t{64} << 10;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

FileDescriptor new_socket() { return FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

/// Closing tells the other side at once, whatever it was about to send.
void reset_on_close(const FileDescriptor& socket) {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

}  // namespace

Wire::Wire(const std::string& url) {
  target_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
  listener_ = new_socket();
  auto address = loopback(0);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  EXPECT_EQ(::bind(listener_.get(), generic, length), 0);
  EXPECT_EQ(::listen(listener_.get(), 64), 0);
  EXPECT_EQ(::getsockname(listener_.get(), generic, &length), 0);
  port_ = ntohs(address.sin_port);
  auto pipe = make_pipe();
  EXPECT_TRUE(pipe.ok());
  wake_ = std::move(*pipe);
  thread_ = std::thread([this] { carry(); });
}

Wire::~Wire() {
  ended_ = true;
  restore();
  thread_.join();
}

std::string Wire::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

void Wire::cut(Cut how) {
  state_ = how == Cut::loud ? State::loud : State::silent;
  EXPECT_EQ(::write(wake_.write_end.get(), "c", 1), 1);
}

void Wire::restore() {
  state_ = State::whole;
  EXPECT_EQ(::write(wake_.write_end.get(), "r", 1), 1);
}

void Wire::carry() {
  while (!ended_) {
    const State state = state_;
    if (state == State::loud) links_.clear();
    std::vector<pollfd> watched = {{wake_.read_end.get(), POLLIN, 0}};
    if (state != State::silent) watched.push_back({listener_.get(), POLLIN, 0});
    if (state == State::whole) {
      for (const auto& link : links_) {
        watched.push_back({link.near.get(), POLLIN, 0});
        watched.push_back({link.far.get(), POLLIN, 0});
      }
    }
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[0].revents != 0) {
      char byte = 0;
      [[maybe_unused]] const ssize_t count = ::read(wake_.read_end.get(), &byte, 1);
      continue;
    }
    std::vector<Link> going_on;
    for (std::size_t i = 0; state == State::whole && i < links_.size(); ++i) {
      auto& link = links_[i];
      const bool alive = (watched[2 + 2 * i].revents == 0 || pass(link.near.get(), link.far.get())) &&
                         (watched[3 + 2 * i].revents == 0 || pass(link.far.get(), link.near.get()));
      if (alive) going_on.push_back(std::move(link));
    }
    links_ = std::move(going_on);
    if (watched.size() > 1 && watched[1].revents != 0) take_in();
  }
}

void Wire::take_in() {
  Link link{.near = FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)), .far = new_socket()};
  reset_on_close(link.near);
  reset_on_close(link.far);
  auto address = loopback(target_);
  if (state_ == State::loud) return;
  if (::connect(link.far.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return;
  links_.push_back(std::move(link));
}

bool Wire::pass(int from, int to) {
  std::array<char, kPiece> piece{};
  const ssize_t count = ::read(from, piece.data(), piece.size());
  if (count <= 0) return false;
  for (ssize_t done = 0; done < count;) {
    const ssize_t sent = ::send(to, piece.data() + done, static_cast<std::size_t>(count - done), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += sent;
  }
  return true;
}

}  // namespace assay
