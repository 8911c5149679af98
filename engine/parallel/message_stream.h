#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "parallel/sockets.h"

namespace assay::engine {

/// Largest message of the control channel.
constexpr std::size_t kLargestMessage = std::size_t{1} << 20;

/// JSON objects over a connection, each with its length in front (four bytes, big end first). Never blocks; one
/// thread at a time. What comes in may come from anybody: it is bounded, and nonsense ends the connection.
class MessageStream {
 public:
  explicit MessageStream(Fd fd) : fd_(std::move(fd)) {}

  const Fd& fd() const { return fd_; }

  /// Sends as much as the socket takes now and keeps the rest for `flush`. Throws std::length_error if the message is
  /// larger than kLargestMessage.
  void send(const boost::json::object& message);
  /// Sends what is left. False: nothing more can be sent, since the other side is gone or does not read.
  bool flush();
  bool has_unsent() const { return !unsent_.empty(); }

  /// Appends what has arrived. False: the connection has ended, or what came is no message of at most `largest`
  /// bytes; what arrived before is appended nevertheless.
  bool receive(std::vector<boost::json::object>& messages, std::size_t largest = kLargestMessage);

 private:
  bool take_messages(std::vector<boost::json::object>& messages, std::size_t largest);

  Fd fd_;
  std::string unsent_;
  std::string received_;
  bool broken_ = false;
};

/// Bytes as hexadecimal digits, since JSON has text only. `bytes_from` throws std::invalid_argument.
std::string hex_of(const void* bytes, std::size_t count);
std::vector<char> bytes_from(std::string_view hex);

}  // namespace assay::engine
